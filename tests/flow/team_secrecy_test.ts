/** What the gateway keeps or seals for a member of a team is of no use to the others, though one pool pays for all. */

import { assert, assertEquals } from "../assert.ts";
import { startGateway } from "../fake/gateway.ts";
import { Random, testSeed } from "../fake/random.ts";
import { teamOf } from "../fake/team.ts";
import { fakeUpstream } from "../fake/upstream.ts";
import { sized } from "../tier.ts";

// deno-lint-ignore no-explicit-any -- bodies as they came
type Json = any;

Deno.test("team: kept items and sealed texts of a member are valid for that person's keys only", async () => {
  // an upstream whose replies have one ID for their items, in a form that is taken for an own one
  const id = "msg_000000000000000000000001";
  await using upstream = fakeUpstream(({ body }) =>
    Response.json({
      id: "resp_1",
      object: "response",
      created_at: 1,
      status: "completed",
      model: "m",
      output: [{
        type: "message",
        id,
        status: "completed",
        role: "assistant",
        content: [{ type: "output_text", text: JSON.stringify(body.input), annotations: [] }],
      }],
      usage: { input_tokens: 1, output_tokens: 1, total_tokens: 2 },
    })
  );
  await using gateway = await startGateway({
    settings: { upstream: { url: upstream.url, dialect: "responses" } },
  });
  const { keys, sales, registration, accounts } = gateway.gateway;
  const team = await teamOf(gateway, { size: 3 });
  const other = await registration.register({ email: "other@example.com" });
  await sales.grant(other, { credits: 1_000 });
  const everyone: { readonly who: string; readonly secret: string }[] = [];
  const add = (who: string, secret: string) => everyone.push({ who, secret });
  for (const { account, key } of team.members) {
    await sales.grant((await accounts.byId(account.id))!, { credits: 1_000 });
    add(account.id, key.secret);
    add(account.id, (await team.key(account)).secret);
    add(account.id, (await keys.issue(account)).secret); // a key of their own
  }
  add("team", (await team.key(null)).secret);
  add("team", (await team.key(null)).secret);
  add("other", (await keys.issue((await accounts.byId(other.id))!)).secret);

  const send = async (key: string, path: string, body: Json): Promise<Json> => {
    const reply = await gateway.post(path, { model: "svc-k2", ...body }, { key });
    return { ...await reply.json(), status: reply.status };
  };
  // everybody's item has the same ID; nobody gets the words of others
  const said = new Map<string, string>();
  const seed = testSeed();
  const random = new Random(seed);
  for (let round = 0; round < sized(60, 1_000); round++) {
    const one = random.pick(everyone);
    if (random.next() < 0.5) {
      const words = `words ${random.integer(1, 1e9)} of ${one.who}`;
      const { status } = await send(one.secret, "/v1/responses", { input: words });
      assertEquals(status, 200);
      said.set(one.who, words);
      continue;
    }
    const { status } = await send(one.secret, "/v1/responses", {
      input: [{ type: "item_reference", id }, { role: "user", content: "What was it?" }],
      store: false,
    });
    const own = said.get(one.who);
    assertEquals(status, own === undefined ? 400 : 200, `${one.who}, seed ${seed}`);
    if (own === undefined) continue;
    const sent = JSON.stringify(upstream.received.at(-1)!.body);
    assert(sent.includes(own), `${one.who} did not get ${own}`);
    for (const [who, words] of said) {
      assert(who === one.who || !sent.includes(words), `${one.who}, seed ${seed}`);
    }
  }

  const [ada] = team.members;
  const { output } = await send(ada!.key.secret, "/v1/responses/compact", {
    input: [{ role: "user", content: "A secret of Ada" }],
  });
  for (const { who, secret } of everyone) {
    const { status } = await send(secret, "/v1/responses", {
      input: [...output, { role: "user", content: "What was it?" }],
    });
    assertEquals(status, who === ada!.account.id ? 200 : 400, who);
  }
});
