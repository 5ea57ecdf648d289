/** What an upstream sends unasked: interim responses, trailers, and second replies. */

import { assert, assertEquals } from "../../assert.ts";
import { startGateway } from "../../fake/gateway.ts";
import { Random, testSeed } from "../../fake/random.ts";
import { writeAll } from "../../fake/raw_http.ts";
import { DEADLINE_MS, inTime, sleep, until } from "../../fake/temp.ts";
import { rawServer, readRequest } from "../../fake/upstream.ts";
import { sized } from "../../tier.ts";

const reply = (content: string) => {
  const body = JSON.stringify({
    id: "x",
    object: "chat.completion",
    choices: [{ index: 0, message: { role: "assistant", content }, finish_reason: "stop" }],
    usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
  });
  return { body, framed: `content-type: application/json\r\ncontent-length: ${body.length}\r\n` };
};

const FREE = { input: 0, cached: 0, output: 0 };

Deno.test("interim responses that nobody asked for, and trailers, are no failure, however they are cut", async () => {
  const seed = testSeed();
  const random = new Random(seed);
  await using upstream = rawServer(async (connection) => {
    while (await readRequest(connection) !== undefined) {
      const { body, framed } = reply("well");
      const interim = Array.from(
        { length: random.integer(0, 3) },
        () => random.pick(["HTTP/1.1 100 Continue\r\n\r\n", "HTTP/1.1 100 C\r\nx: y\r\n\r\n"]),
      ).join("");
      const final = random.pick([
        `HTTP/1.1 200 OK\r\n${framed}\r\n${body}`,
        `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n${
          body.length.toString(16)
        }\r\n${body}\r\n0\r\nx-checksum: 1\r\n\r\n`,
      ]);
      const all = interim + final;
      for (let at = 0; at < all.length;) {
        const size = random.pick([1, 5, 20, 1_000]);
        if (!await writeAll(connection, all.slice(at, at + size))) return;
        at += size;
        if (random.next() < 0.1) await sleep(1);
      }
    }
  });
  await using gateway = await startGateway({ settings: { upstream: { url: upstream.url } } });
  for (let round = 0; round < sized(20, 500); round++) {
    const response = await gateway.chat("Hi");
    const text = await response.text();
    assertEquals(response.status, 200, `seed ${seed}, round ${round}: ${text}`);
    assertEquals(JSON.parse(text).choices[0].message.content, "well");
  }
});

Deno.test("more interim responses than there may be are a failure, and end", async () => {
  await using upstream = rawServer(async (connection) => {
    await readRequest(connection);
    while (await writeAll(connection, "HTTP/1.1 100 Continue\r\n\r\n".repeat(100)));
  });
  await using gateway = await startGateway({ settings: { upstream: { url: upstream.url } } });
  const response = await inTime(gateway.chat("Hi"), DEADLINE_MS, "late" as const);
  assert(response !== "late");
  assertEquals(response.status, 503);
  await response.body?.cancel();
});

/** Who asks first, while nothing unasked comes that would end connections. */
const QUIET: readonly string[] = ["one", "other", "one"];

for (const pool of ["shared", "account", "none"] as const) {
  const whose = pool === "account" ? "another account" : "anybody";
  Deno.test(`a second, unasked reply does not reach ${whose}: pool ${pool}`, async () => {
    const seed = testSeed();
    const random = new Random(seed);
    let ended = 0;
    let replies = 0;
    /** Whom each connection was used for. */
    const used: string[][] = [];
    const converse = async (connection: Deno.TcpConn) => {
      const prompts: string[] = [];
      used.push(prompts);
      for (let sent = ""; (sent = await readRequest(connection) ?? "") !== "";) {
        const prompt = /for (one|other)/.exec(sent)![0];
        prompts.push(prompt);
        const { body, framed } = reply(`asked ${prompt}`);
        const second = reply(`unasked ${prompt}`);
        const unasked = `HTTP/1.1 200 OK\r\n${second.framed}\r\n${second.body}`;
        const isAtOnce = random.next() < 0.5;
        const asked = `HTTP/1.1 200 OK\r\n${framed}\r\n${body}`;
        if (++replies <= QUIET.length) {
          await writeAll(connection, asked);
          continue;
        }
        await writeAll(connection, isAtOnce ? asked + unasked : asked);
        if (isAtOnce) continue;
        await sleep(random.integer(0, 10));
        await writeAll(connection, unasked);
      }
    };
    await using upstream = rawServer((connection) => converse(connection).finally(() => ended++));
    await using gateway = await startGateway({
      settings: {
        upstreams: { up: { url: upstream.url, pool } },
        routes: { "svc-k2": { targets: [{ upstream: "up", model: "m" }] } },
      },
    });
    const { accounts, keys, sales } = gateway.gateway;
    const account = await accounts.create({ email: "other@example.com" });
    await sales.grant(account, { credits: 1_000 });
    const other = (await keys.issue(account, {})).secret;
    for (let round = 0; round < sized(14, 300); round++) {
      const before = ended;
      const name = QUIET[round] ?? random.pick(["one", "other"]);
      const key = name === "one" ? gateway.key : other;
      const response = await gateway.chat(`for ${name}`, {}, { key });
      const text = await response.text();
      assertEquals(response.status, 200, text);
      const why = `seed ${seed}, round ${round}, for ${name}: ${text}`;
      assert(text.includes(`asked for ${name}"`), why);
      if (pool !== "account") assert(!text.includes("unasked"), why);
      // over a shared connection, what comes while a request is on its way cannot be told from its reply
      if (pool === "shared" && round >= QUIET.length) {
        await until(() => ended > before, {
          what: "the end of a connection that says something unasked",
        });
      }
    }
    const isRight = {
      shared: used[0]!.length >= QUIET.length,
      account: used.every((prompts) => new Set(prompts).size <= 1) && used[0]!.length > 1,
      none: used.every((prompts) => prompts.length <= 1),
    };
    assert(isRight[pool], `seed ${seed}: ${JSON.stringify(used)}`);
  });
}

Deno.test("a connection whose reply ended before its request did is not used again", async () => {
  await using upstream = rawServer(async (connection) => {
    const bytes = new Uint8Array(65_536);
    await connection.read(bytes); // the rest of a long body waits
    const { body, framed } = reply("well");
    await writeAll(connection, `HTTP/1.1 200 OK\r\n${framed}\r\n${body}`);
    while (await connection.read(bytes) !== null);
  });
  await using gateway = await startGateway({
    settings: {
      upstreams: { up: { url: upstream.url } },
      routes: {
        long: { targets: [{ upstream: "up", model: "m" }], prices: FREE, context: 50_000_000 },
      },
    },
  });
  for (const text of ["word ".repeat(1_000_000), "Hi"]) { // more than the system takes at once
    const response = await gateway.chat(text, { model: "long" });
    assertEquals(response.status, 200, await response.text());
  }
  assertEquals(upstream.connections, 2);
});
