/** Items of replies that a later request names by their IDs: over HTTP, through another gateway, after a crash. */

import { Buffer } from "node:buffer";
import type { SettingsInput } from "../../src/settings/config/mod.ts";
import { assert, assertEquals, assertStringIncludes } from "../assert.ts";
import { startCommand } from "../fake/command.ts";
import { assertLedgerClean } from "../fake/customer.ts";
import { startGateway, type TestGateway, usageRecords } from "../fake/gateway.ts";
import { canShareServer, sharedServer } from "../fake/shared_server.ts";
import { RawWebSocket } from "../fake/raw_websocket.ts";
import { tempDir } from "../fake/temp.ts";
import {
  chunk,
  completion,
  eventStream,
  type FakeUpstream,
  fakeUpstream,
  sse,
} from "../fake/upstream.ts";
import { sized } from "../tier.ts";
import { eventsFor, linesOf, responseOf } from "../wire/dialects/responses_streams.ts";

// deno-lint-ignore no-explicit-any -- bodies as they came
type Json = any;

function replying(): FakeUpstream {
  return fakeUpstream(({ body }) =>
    body.stream
      ? eventStream(sse(chunk({ content: "Streamed" }), chunk({}, "stop"), "[DONE]"))
      : completion("Hello, Ada")
  );
}

const start = (upstream: { url: string }, settings: SettingsInput = {}) =>
  startGateway({ settings: { upstream: { url: upstream.url }, ...settings } });

const create = async (gateway: Pick<TestGateway, "post">, body: Json, key?: string) => {
  const reply = await gateway.post(
    "/v1/responses",
    { model: "svc-k2", ...body },
    key ? { key } : {},
  );
  return { status: reply.status, body: await reply.json() as Json };
};

/** A second turn that names the first one's reply, as the AI SDK sends it. */
const referring = (id: string, more = {}) => ({
  input: [
    { role: "user", content: "Hi, I am Ada" },
    { type: "item_reference", id },
    { role: "user", content: "Who am I?" },
  ],
  ...more,
});

const sentTo = ({ received }: FakeUpstream): [string, string][] =>
  received.at(-1)!.body.messages.map(({ role, content }: Json) => [
    role,
    typeof content === "string" ? content : content.map(({ text }: Json) => text).join(),
  ]);

Deno.test("a reply's item can be named by its ID in the next request, whole or streamed", async () => {
  await using upstream = replying();
  await using gateway = await start(upstream);
  const first = await create(gateway, { input: "Hi, I am Ada" });
  const [{ id }] = first.body.output;
  const second = await create(gateway, referring(id));
  assertEquals(second.status, 200, JSON.stringify(second.body));
  assertEquals(sentTo(upstream), [
    ["user", "Hi, I am Ada"],
    ["assistant", "Hello, Ada"],
    ["user", "Who am I?"],
  ]);
  const stream = await gateway.post("/v1/responses", {
    model: "svc-k2",
    input: "Hi",
    stream: true,
  });
  const [, streamed] = /"item":\{"id":"(msg_[^"]+)"/.exec(await stream.text())!;
  assertEquals(
    (await create(gateway, { input: [{ id: streamed }, { role: "user", content: "?" }] })).status,
    200,
  );
  assertEquals(sentTo(upstream)[0], ["assistant", "Streamed"]);
  await assertLedgerClean(gateway);
});

Deno.test("a reply's item is its own, also if the upstream numbers the items of each reply alike", async () => {
  await using upstream = fakeUpstream(({ body }) => {
    const response = responseOf([{ text: [`Hello, ${body.input}`] }]);
    const numbered = structuredClone(response) as Json;
    numbered.output[0].id = "msg_1";
    if (!body.stream) return Response.json(numbered);
    return eventStream(linesOf([{ type: "response.completed", response: numbered }]));
  });
  await using gateway = await startGateway({
    settings: { upstream: { url: upstream.url, dialect: "responses" } },
  });
  const ids: string[] = [];
  for (const input of ["Ada", "Bob"]) {
    const { body } = await create(gateway, { input });
    const stream = await gateway.post("/v1/responses", { model: "svc-k2", input, stream: true });
    const [, streamed] = /"id":"(msg_[^"]+)"/.exec(await stream.text())!;
    ids.push(body.output[0].id, streamed!);
  }
  assertEquals(new Set(ids).size, 4);
  for (const [at, id] of ids.entries()) {
    assertEquals((await create(gateway, referring(id))).status, 200);
    const [, { content }]: Json = upstream.received.at(-1)!.body.input;
    assertEquals(content[0].text, `Hello, ${at < 2 ? "Ada" : "Bob"}`);
  }
});

Deno.test("a model that reasons goes on with its reasoning, which a client refers to without ever getting it encrypted", async () => {
  const wanted = "reasoning.encrypted_content";
  await using upstream = fakeUpstream(({ body }) => {
    const sealed = (body.include ?? []).includes(wanted) ? { sealed: "gAAAA-enc_1" } : {};
    const said = [{ reasoning: ["Let me think."], ...sealed }, { text: ["Hello"] }];
    return body.stream ? eventStream(linesOf(eventsFor(said))) : Response.json(responseOf(said));
  });
  await using gateway = await startGateway({
    settings: {
      upstream: { url: upstream.url, dialect: "responses", quirks: "openai" },
      routes: Object.fromEntries((["effort", "none"] as const).map((reasoning) => [reasoning, {
        targets: [{ upstream: "default", model: "m" }],
        context: 100_000,
        maxOutput: 4_000,
        reasoning,
      }])),
    },
  });
  const ask = async (more: Json) => {
    const reply = await gateway.post("/v1/responses", { model: "effort", input: "Hi", ...more });
    const text = await reply.text();
    assertEquals(reply.status, 200, text);
    const [, id] = /"id":"(rs_[^"]+)"/.exec(text)!;
    const { include = [] } = upstream.received.at(-1)!.body;
    return { id: id!, include, gets: text.includes("encrypted_content") };
  };
  for (const stream of [false, true]) {
    const first = await ask({ stream });
    assertEquals([first.include, first.gets], [[wanted], false]);
    await ask({ stream, ...referring(first.id) });
    assertEquals(upstream.received.at(-1)!.body.input[1].encrypted_content, "gAAAA-enc_1");
    const asking = await ask({ stream, include: [wanted] });
    assertEquals([asking.include, asking.gets], [[wanted], true]);
    assertEquals((await ask({ stream, store: false })).include, []);
    assertEquals((await ask({ stream, model: "none" })).include, []);
  }
});

Deno.test("items are unknown with store: false, to other accounts, and where keeping is off: the error says what to do", async () => {
  await using upstream = replying();
  await using gateway = await start(upstream);
  const unknown = async (id: string, key?: string) => {
    const { status, body } = await create(gateway, referring(id), key);
    assertEquals([status, body.error.param], [400, "input[1].id"], JSON.stringify(body));
    assertStringIncludes(body.error.message, "store");
  };
  const kept = (await create(gateway, { input: "Hi" })).body.output[0].id;
  await unknown((await create(gateway, { input: "Hi", store: false })).body.output[0].id);
  await unknown("msg_1");
  const { accounts, keys, registration } = gateway.gateway;
  const other = await registration.register({ email: "other@example.com" });
  await gateway.gateway.sales.grant(other, { credits: 1_000, note: "test" });
  await unknown(kept, (await keys.issue(await accounts.get(other.email))).secret);
  await gateway.reload({
    port: 0,
    workers: 1,
    upstream: { url: upstream.url },
    responses: { keepItemsMs: 0 },
  });
  await unknown(kept);
  const before = upstream.received.length;
  const many = Array.from({ length: 1_001 }, () => ({ id: kept }));
  const { status, body } = await create(gateway, { input: many });
  assertEquals([status, body.error.param, upstream.received.length], [400, "input", before]);
  assertStringIncludes(body.error.message, "1001, the limit is 1,000");
});

Deno.test("chat and messages keep nothing", async () => {
  await using upstream = replying();
  await using gateway = await start(upstream);
  await (await gateway.chat("Hi")).text();
  await (await gateway.post("/v1/messages", {
    model: "svc-k2",
    max_tokens: 10,
    messages: [{ role: "user", content: "Hi" }],
  })).text();
  const { database } = gateway.gateway;
  assertEquals(await database.one("select count(*) as n from kept_items"), { n: 0 });
});

Deno.test("a table that cannot be written costs no reply", async () => {
  await using upstream = replying();
  await using gateway = await start(upstream);
  await gateway.gateway.database.batch([{ sql: "drop table kept_items" }]);
  const { status, body } = await create(gateway, { input: "Hi" });
  assertEquals([status, body.output[0].content[0].text], [200, "Hello, Ada"]);
  const streamed = await gateway.post("/v1/responses", {
    model: "svc-k2",
    input: "Hi",
    stream: true,
  });
  assertStringIncludes(await streamed.text(), "response.completed");
  assertStringIncludes(gateway.log(), "items of a reply were not kept");
  assertEquals((await usageRecords(gateway)).map(({ ending }) => ending), ["complete", "complete"]);
});

Deno.test({
  name:
    "gateways that share a server find each other's items at once, with the key that the first one made",
  ignore: !await canShareServer(),
  async fn() {
    await using dir = await tempDir();
    await using server = await sharedServer(dir.path);
    await using upstream = replying();
    const key = `sk-${"k".repeat(40)}`;
    const settings = { database: { url: server.url }, owner: { key } };
    await using one = await start(upstream, settings);
    await using other = await start(upstream, settings);
    for (let turn = 0; turn < sized(4, 10); turn++) {
      const [from, to] = turn % 2 === 0 ? [one, other] : [other, one];
      const reply = await from.post("/v1/responses", {
        model: "svc-k2",
        input: "Hi",
        stream: turn % 4 > 1,
      });
      const [, id] = /"id":"(msg_[^"]+)"/.exec(await reply.text())!;
      const { status, body } = await create(to, referring(id!));
      assertEquals(status, 200, JSON.stringify(body));
    }
    const secrets = await one.gateway.database.all("select name from secrets");
    assertEquals(secrets, [{ name: "seal key" }]);
  },
});

Deno.test("items outlive the gateway's process, unless its key is gone", async () => {
  await using upstream = replying();
  await using dir = await tempDir();
  const key = `sk-${"c".repeat(40)}`;
  const settings = {
    port: 0,
    data: `${dir.path}/data`,
    owner: { key },
    upstream: { url: upstream.url, discover: false },
  };
  await Deno.writeTextFile(`${dir.path}/sluice.jsonc`, JSON.stringify(settings));
  const running = async () => {
    const command = startCommand([], { directory: dir.path });
    const [, url] = await command.waitFor(/listening on (http:\S+)/);
    await command.waitFor(/curl/);
    const post: TestGateway["post"] = (path, body) =>
      fetch(`${url}${path}`, {
        method: "POST",
        headers: { authorization: `Bearer ${key}` },
        body: JSON.stringify(body),
      });
    return { command, post };
  };
  let id = "";
  {
    const { command, post } = await running();
    await using _ = command;
    id = (await create({ post }, { input: "Hi" })).body.output[0].id;
    command.signal("SIGKILL");
    await command.status;
  }
  // those after it are in this process
  {
    await using gateway = await startGateway({ settings });
    assertEquals((await create(gateway, referring(id))).status, 200);
  }
  await Deno.remove(`${dir.path}/data/seal.key`);
  await using gateway = await startGateway({ settings });
  const { status, body } = await create(gateway, referring(id));
  assertEquals([status, body.error.param], [400, "input[1].id"]);
  assert((await Deno.stat(`${dir.path}/data/seal.key`)).size === 32);
});

Deno.test("no word of a prompt, a reply or a summary is in the database or the log", async () => {
  await using gateway = await startGateway();
  const canary = "Quokkahaven";
  const tools = [{ type: "function", name: "look_up", description: canary, parameters: {} }];
  const image = { type: "input_text", text: `${canary} [[say ${canary} too]]` };
  const input = [{ role: "user", content: [image] }];
  const first = await (await gateway.post("/v1/responses", {
    model: "svc-k3",
    instructions: canary,
    input,
    tools,
    metadata: { canary },
    user: "customer-7", // a tag of the request: docs/usage.md
    include: ["reasoning.encrypted_content"],
  })).json();
  const [{ id }] = first.output;
  const named = [{ type: "item_reference", id }, ...input];
  const streamed = await gateway.post("/v1/responses", {
    model: "svc-k2",
    input: named,
    stream: true,
  });
  assertStringIncludes(await streamed.text(), `${canary} too`);
  await (await gateway.post("/v1/responses/compact", { model: "svc-k2", input })).text();
  await (await gateway.post("/v1/responses", { model: canary, input })).text();
  await (await gateway.post("/v1/responses", { model: "svc-k2", input, conversation: canary }))
    .text();
  {
    await using socket = await RawWebSocket.connect(`${gateway.url}/v1/responses`, {
      authorization: `Bearer ${gateway.key}`,
    });
    for (const more of [{ generate: false }, {}]) {
      await socket.send({ type: "response.create", model: "svc-k2", input, ...more });
      while ((await socket.next())!.type !== "response.completed");
    }
  }
  const { database } = gateway.gateway;
  const kept = await database.one("select count(*) as items from kept_items");
  assert(Number(kept!.items) >= 4, "items are kept");
  const files = await Array.fromAsync(Deno.readDir(`${gateway.directory}/data`));
  for (const { name } of files.filter(({ isFile }) => isFile)) {
    const bytes = await Deno.readFile(`${gateway.directory}/data/${name}`);
    assert(!Buffer.from(bytes).includes(canary), `it is in ${name}`);
  }
  assert(files.some(({ name }) => name.startsWith("sluice.db")));
  assert(!gateway.log().includes(canary), "it is in the log");
});

Deno.test("what a reply says beside its text, such as probabilities, is no input of later requests", async () => {
  await using upstream = fakeUpstream(({ body }) => {
    const { choices: [choice], ...more } = JSON.parse(chunk({ content: "Hi" }));
    const [token, logprob] = ["Hi", -0.5];
    const top_logprobs = Array.from({ length: 20 }, () => ({ token, logprob, bytes: [72, 105] }));
    const content = [{ token, logprob, bytes: [72, 105], top_logprobs }];
    const logprobs = body.logprobs === true ? { content } : null;
    const text = JSON.stringify({ ...more, choices: [{ ...choice, logprobs }] });
    return eventStream(sse(text, chunk({}, "stop"), "[DONE]"));
  });
  await using gateway = await start(upstream);
  const inputs: number[] = [];
  for (const isRef of [false, true]) {
    for (const include of [[], ["message.output_text.logprobs"]]) {
      await using socket = await RawWebSocket.connect(`${gateway.url}/v1/responses`, {
        authorization: `Bearer ${gateway.key}`,
      });
      const asked = { model: "svc-k2", input: "Hi", include, top_logprobs: include.length * 20 };
      const { response: first }: Json = (await socket.turn(asked)).at(-1);
      assertEquals(first.output[0].content[0].logprobs.length, include.length);
      const { response: second }: Json = (await socket.turn({
        model: "svc-k2",
        ...(isRef
          ? { input: referring(first.output[0].id).input }
          : { input: "Go on", previous_response_id: first.id }),
      })).at(-1);
      inputs.push(second.usage.input_tokens);
    }
  }
  const [own, ownMore, named, namedMore] = inputs;
  assertEquals([ownMore, namedMore], [own, named]);
});

for (const generates of [true, false]) {
  const how = generates ? "rejected requests" : "turns without a reply";
  Deno.test(`what ${how} refer to counts like bytes that were sent`, async () => {
    await using upstream = fakeUpstream(() => completion("word ".repeat(60_000)));
    await using gateway = await start(upstream, {
      limits: { drainMs: 5_000, unbilledBytesPerMinute: 1_000_000 },
      routes: { big: { context: 1e6, maxOutput: 5e5 } },
    });
    const first = await create(gateway, { model: "big", input: "Hi", max_output_tokens: 128_000 });
    const { input } = referring(first.body.output[0].id);
    const model = generates ? "nothing" : "big";
    await using socket = await RawWebSocket.connect(`${gateway.url}/v1/responses`, {
      authorization: `Bearer ${gateway.key}`,
    });
    const statusOfOne = async () => {
      if (generates) return (await create(gateway, { model, input })).status;
      const frames: Json[] = await socket.turn({ model, input, generate: false });
      return frames.at(-1).status ?? 200;
    };
    // what is billed does not count
    for (let at = 0; at < 4; at++) {
      const billed = await create(gateway, { model: "big", input, max_output_tokens: 10 });
      assertEquals(billed.status, 200, JSON.stringify(billed.body));
    }
    const statuses = [];
    for (let at = 0; at < 5; at++) statuses.push(await statusOfOne());
    const usual = generates ? 404 : 200;
    assertEquals(statuses, [usual, usual, usual, 429, 429]);
  });
}
