/** A key may be bounded in requests at once: exactly, on all gateways together. */

import { assert, assertEquals, assertMatch } from "../assert.ts";
import { ownersClient } from "../fake/admin_client.ts";
import { startGateway, statusOf } from "../fake/gateway.ts";
import { Random, testSeed } from "../fake/random.ts";
import { sluice } from "../fake/shell.ts";
import { until } from "../fake/temp.ts";
import { completion, fakeUpstream } from "../fake/upstream.ts";
import { NEW_KEY, signedIn } from "../fake/visitor.ts";
import { sized } from "../tier.ts";

Deno.test("a key has no more requests in flight than it may, and others are not bounded by it (random)", async () => {
  const seed = testSeed();
  const random = new Random(seed);
  const waiting: (() => void)[] = [];
  let isOver = false;
  const running = new Map<string, number>();
  const most = new Map<string, number>();
  const count = (key: string, by: number) => {
    const now = (running.get(key) ?? 0) + by;
    running.set(key, now);
    most.set(key, Math.max(most.get(key) ?? 0, now));
  };
  await using upstream = fakeUpstream(async ({ body }) => {
    count(body.user, 1);
    if (!isOver) await new Promise<void>((resolve) => waiting.push(resolve));
    count(body.user, -1);
    return random.next() < 0.2 ? new Response(null, { status: 400 }) : completion("well");
  });
  await using gateway = await startGateway({ settings: { upstream: { url: upstream.url } } });
  using _released = {
    [Symbol.dispose]() {
      isOver = true;
      for (const end of waiting) end();
    },
  };
  const admin = await ownersClient(gateway);
  const account = gateway.gateway.owner.email;
  const keys: { name: string; key: string; id: string; atOnce: number | null }[] = [];
  for (const atOnce of [1, 2, 3, null]) {
    const { json } = await admin("POST", "/keys", { body: { account, at_once: atOnce } });
    assertEquals(json.at_once, atOnce);
    keys.push({ name: `key ${atOnce}`, key: json.key, id: json.id, atOnce });
  }
  const ask = (one: typeof keys[number]) =>
    gateway.chat("Hi", { user: one.name }, { key: one.key });
  for (let round = 0; round < sized(3, 40); round++) {
    let answered = 0;
    const asked = keys.map((one) => {
      const replies = Array.from({ length: 5 }, () => ask(one));
      return {
        one,
        replies: replies.map((reply) =>
          reply.then(async (done) => {
            answered++;
            return [done, await done.text()] as const;
          })
        ),
      };
    });
    // as many as may run arrive, the others are rejected while those wait
    const expected = keys.reduce((sum, { atOnce }) => sum + Math.min(5, atOnce ?? 5), 0);
    await until(() => waiting.length + answered >= 5 * keys.length, { what: "all requests" });
    assertEquals(waiting.length, expected, `seed ${seed}`);
    for (const end of waiting.splice(0)) end();
    for (const { one, replies } of asked) {
      const done = await Promise.all(replies);
      const rejected = done.filter(([{ status }]) => status === 429);
      assertEquals(rejected.length, 5 - Math.min(5, one.atOnce ?? 5), `seed ${seed}`);
      for (const [reply, text] of rejected) {
        assertMatch(
          text,
          new RegExp(`Too many requests at once: the limit is ${one.atOnce} for this key`),
        );
        assertMatch(text, /rate_limit_exceeded/);
        assertEquals(reply.headers.get("retry-after"), "1");
      }
    }
  }
  for (const { name, atOnce } of keys) {
    assert((most.get(name) ?? 0) <= (atOnce ?? 5), `${name}: ${most.get(name)}, seed ${seed}`);
  }
  // requests in turn are never too many; a command lifts the bound
  const [first] = keys;
  for (let at = 0; at < 5; at++) {
    const reply = ask(first!);
    await until(() => waiting.length === 1, { what: "the request" });
    waiting.pop()!();
    assert([200, 400].includes(await statusOf(reply)), `request ${at}, seed ${seed}`);
  }
  const options = { directory: gateway.directory };
  const { out } = await sluice(["key", "update", first!.id, "--at-once", "any", "--json"], options);
  assertEquals(JSON.parse(out).at_once, null);
  await until(async () => (await admin("GET", `/keys/${first!.id}`)).json.at_once === null);
  const wrong = await sluice(["key", "update", first!.id, "--at-once", "0"], options);
  assertEquals(wrong.code, 2, wrong.err);
});

Deno.test("the console's forms bound a key in requests at once, and show and lift the bound", async () => {
  await using gateway = await startGateway();
  const { keys, owner } = gateway.gateway;
  const browser = await signedIn(gateway, owner.email);
  const from = "/console/keys";
  const send = async (path: string, fields: Record<string, string>) => {
    const reply = await browser.post(path, fields, { from });
    return { status: reply.status, text: reply.bodyUsed ? "" : await reply.text() };
  };
  const bounds = async () =>
    (await keys.list(owner)).filter(({ name }) => name === "few").map(({ atOnce }) => atOnce);
  const page = async () => await (await browser.get(from)).text();
  assert(!(await page()).includes(">at once</th>"), "a column although no key is bounded");

  const { at_once: _, ...without } = NEW_KEY;
  assertEquals((await send(from, { ...without, name: "few" })).status, 400);
  for (const wrong of ["0", "-1", "1e2", "1000001", "any"]) {
    const { status, text } = await send(from, { ...NEW_KEY, name: "few", at_once: wrong });
    assertEquals(status, 400, wrong);
    assertMatch(text, /Requests at once must be a whole number of requests from 1 to 1,?000,?000/);
  }
  assertEquals(await bounds(), []);
  assertEquals((await send(from, { ...NEW_KEY, name: "few", at_once: "2" })).status, 200);
  assertEquals(await bounds(), [2]);
  assertMatch(await page(), />at once<\/th>.*name="at_once"[^>]* value="2"/s);

  const { id } = (await keys.list(owner)).find(({ name }) => name === "few")!;
  const change = (fields: Record<string, string>) => send(`${from}/${id}/update`, fields);
  for (
    const [fields, bound] of [
      [{ at_once: "7" }, 7],
      [{ name: "few" }, 7],
      [{ at_once: "" }, null],
    ] as const
  ) {
    assertEquals((await change(fields)).status, 303);
    assertEquals(await bounds(), [bound], JSON.stringify(fields));
  }
});
