import { DatabaseError } from "../../src/ground/database/mod.ts";
import { assert, assertEquals, assertMatch, assertStringIncludes } from "../assert.ts";
import { startCommand } from "../fake/command.ts";
import { guardedDatabase } from "../fake/guarded_database.ts";
import { startGateway, unreadChat, usageRecords } from "../fake/gateway.ts";
import { fakeUpstream } from "../fake/upstream.ts";
import { DEADLINE_MS, inTime, sleep, tempDir, until } from "../fake/temp.ts";

function ask(url: string, key: string, prompt: string): Promise<Response> {
  return fetch(`${url}/v1/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}` },
    body: JSON.stringify({
      model: "svc-k2",
      stream: true,
      max_tokens: 4_000,
      messages: [{ role: "user", content: prompt }],
    }),
  });
}

Deno.test("SIGTERM during 20 running streams loses none of them", async () => {
  await using dir = await tempDir();
  await using gateway = startCommand(["--port", "0"], { directory: dir.path });
  const [, url, key] = await gateway.waitFor(
    /listening on (\S+)[\s\S]*?(sk-[A-Za-z0-9]+)[\s\S]*curl/,
  );
  const replies = await Promise.all(
    Array.from({ length: 20 }, () => ask(url!, key!, "[[tokens 150]] [[pace 10ms]]")),
  );
  const texts = replies.map((reply) => reply.text());
  await sleep(300);
  gateway.signal("SIGTERM");
  await sleep(100);
  const refused = await ask(url!, key!, "too late").then(async (reply) => {
    await reply.body?.cancel();
    return reply.status;
  }, () => 503);
  assertEquals(refused, 503);
  for (const text of await Promise.all(texts)) {
    assert(text.endsWith("data: [DONE]\n\n"), text.slice(-200));
    assertEquals(text.split("\n\n").length, 154);
  }
  assertEquals((await gateway.status).code, 0);
  const log = await Deno.stat(`${dir.path}/data/sluice.db-wal`).catch(() => ({ size: 0 }));
  assertEquals(log.size, 0, "what was written is in the one file");
  assertMatch(gateway.err(), /"message":"stopped","cut_off":0/);
});

Deno.test("a start that waits for its database hears signals: it reads its settings later, and ends when told", async () => {
  await using dir = await tempDir();
  const env = { SLUICE_DATABASE_URL: "http://127.0.0.1:1" };
  await using gateway = startCommand(["--port", "0"], { directory: dir.path, env });
  const waiting = /waiting for the database.*"port":(\d+)/;
  await until(() => waiting.test(gateway.err()), { what: "a start that waits" });
  gateway.signal("SIGHUP");
  gateway.signal("SIGHUP");
  const health = await fetch(`http://127.0.0.1:${waiting.exec(gateway.err())![1]}/healthz`);
  await health.body?.cancel();
  assertEquals(health.status, 200);
  gateway.signal("SIGTERM");
  const { code, signal } = await gateway.status;
  assertEquals([code, signal], [0, null], gateway.err());
  assertMatch(gateway.err(), /"message":"stopped before it served","signal":"SIGTERM"/);
});

Deno.test("a start that waits for the models of its upstreams does not blame the database", async () => {
  await using dir = await tempDir();
  const listed = Promise.withResolvers<Response>();
  await using upstream = fakeUpstream(() => listed.promise);
  const env = { SLUICE_UPSTREAM_URL: upstream.url };
  await using gateway = startCommand(["--port", "0"], { directory: dir.path, env });
  await until(() => gateway.err().includes("requests get 503"), { what: "a start that waits" });
  listed.resolve(Response.json({ object: "list", data: [] }));
  await gateway.waitFor(/listening on/);
  assertMatch(gateway.err(), /waiting for upstreams to list their models/);
  assert(!gateway.err().includes("waiting for the database"), gateway.err());
});

Deno.test("stopping is not held up by a database that stays away", async () => {
  let away = false;
  let refused = 0;
  const gateway = await startGateway({
    settings: { limits: { drainMs: 1_000 } },
    wrapDatabase: (database) =>
      guardedDatabase(database, (use) => {
        if (!away || use !== "settlement") return;
        refused++;
        throw new DatabaseError("SQLITE_BUSY", "in use", { kind: "busy" });
      }),
  });
  const reply = await gateway.chat("[[tokens 20]] [[pace 20ms]]", { stream: true, max_tokens: 50 });
  away = true;
  const text = reply.text();
  await until(() => refused > 0, { what: "a settlement that fails" });
  const stopped = Promise.resolve(gateway[Symbol.asyncDispose]()).then(() => "stopped");
  assertEquals(await inTime(stopped, DEADLINE_MS, "held up"), "stopped");
  assertStringIncludes(await text, '"code":"service_unavailable"');
});

Deno.test("what runs longer than the patience is cut off with an error event, and recorded", async () => {
  await using gateway = await startGateway({ settings: { limits: { drainMs: 300 } } });
  const reply = await gateway.chat("[[tokens 4000]] [[pace 50ms]]", {
    stream: true,
    max_tokens: 4_000,
  });
  const text = reply.text();
  await until(() => gateway.gateway.inFlight.count === 1);
  const database = gateway.gateway.database;
  const close = database.close.bind(database);
  let records: Awaited<ReturnType<typeof usageRecords>> = [];
  database.close = async () => {
    records = await usageRecords(gateway);
    await close();
  };
  assertEquals(await gateway.gateway.stop(), { cutOff: 1 });
  assertMatch(await text, /"code":"service_unavailable"[^\n]*\n\n$/);
  assertEquals([records[0]!.ending, records[0]!.status], ["refused", 503]);
  assert(Number(records[0]!.output_tokens) < 4_000, "it was cut off");
});

Deno.test("a caller who has stopped reading does not keep the gateway from stopping", async () => {
  await using gateway = await startGateway({
    settings: { limits: { drainMs: 300 } },
    looksInside: true,
  });
  using connection = await unreadChat(gateway, {
    model: "svc-k2-0905",
    stream: true,
    max_tokens: 100_000,
    messages: [{ role: "user", content: "[[tokens 100000]] [[pace 0ms]]" }],
  });
  await connection.read(new Uint8Array(1_000));
  const { inFlight: running } = gateway.gateway;
  await sleep(500); // until the sockets are full, and nobody pulls any more
  assertEquals(running.count, 1);
  assertEquals(await running.finish(300), { cutOff: 1 });
  assertEquals(running.count, 0);
});

for (const stream of [false, true]) {
  Deno.test(`a request that is cut off while its upstream works is not the upstream's failure (stream: ${stream})`, async () => {
    const hanging = Promise.withResolvers<void>();
    await using upstream = fakeUpstream(async () => {
      if (!stream) await hanging.promise;
      const body = new ReadableStream<Uint8Array>({
        start: (controller) => controller.enqueue(new TextEncoder().encode(": nothing yet\n\n")),
        pull: async (controller) => {
          await hanging.promise;
          controller.close();
        },
      });
      return new Response(body, { headers: { "content-type": "text/event-stream" } });
    });
    await using gateway = await startGateway({
      looksInside: true,
      settings: {
        limits: { drainMs: 300 },
        upstreams: { a: { url: upstream.url }, b: { url: upstream.url } },
        routes: {
          "svc-k2": { targets: [{ upstream: "a", model: "m" }, { upstream: "b", model: "m" }] },
        },
      },
    });
    const replies = Array.from({ length: 6 }, () => gateway.chat("Hi", { stream }));
    await until(() => upstream.received.length === 6);
    const { database, upstreams, inFlight } = gateway.gateway;
    assertEquals(await inFlight.finish(300), { cutOff: 6 });
    hanging.resolve();
    for (const reply of await Promise.all(replies)) {
      assertEquals(reply.status, 503);
      assertStringIncludes(await reply.text(), "The gateway is stopping");
    }
    const records = await database.all("select ending, status, charged_credits from usage_records");
    for (const record of records) {
      assertEquals([record.ending, record.status, record.charged_credits], ["refused", 503, 0]);
    }
    assertEquals(records.length, 6);
    const [a] = upstreams.all;
    assertEquals([a!.health.state, a!.health.lastFailure, a!.health.resting], [
      "unknown",
      undefined,
      false,
    ]);
    const metrics = await (await fetch(`${gateway.url}/metrics`)).text();
    assertStringIncludes(
      metrics,
      'sluice_upstream_attempts_total{upstream="a",outcome="cancelled"} 6',
    );
    assertStringIncludes(gateway.log(), "left: the gateway is stopping");
  });
}

Deno.test("a simulated reply that is cut off is not the simulator's failure", async () => {
  await using gateway = await startGateway({ settings: { limits: { drainMs: 300 } } });
  const reply = gateway.chat("[[stall 60s]]");
  const { upstreams, inFlight } = gateway.gateway;
  await until(() => inFlight.count === 1);
  await sleep(200);
  assertEquals(await inFlight.finish(300), { cutOff: 1 });
  await (await reply).body?.cancel();
  assertEquals(upstreams.all.map(({ health }) => health.lastFailure), [undefined]);
});
