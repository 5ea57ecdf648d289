/** Several serving threads on one port: what holds for all of them together. */

import type { ServingWorker } from "../../src/assemble/mod.ts";
import type { SettingsInput } from "../../src/settings/config/mod.ts";
import { assert, assertEquals, assertMatch, assertStringIncludes } from "../assert.ts";
import { startCommand } from "../fake/command.ts";
import { assertLedgerClean, customer } from "../fake/customer.ts";
import { type GatewayOptions, startGateway, type TestGateway } from "../fake/gateway.ts";
import { connectTo, postHead, readReply, writeAll } from "../fake/raw_http.ts";
import { sluice } from "../fake/shell.ts";
import { canShareServer, sharedServer } from "../fake/shared_server.ts";
import { sleep, tempDir, until } from "../fake/temp.ts";
import { chunk, completion, fakeUpstream, sse } from "../fake/upstream.ts";
import { signedIn } from "../fake/visitor.ts";
import { isProof, sized } from "../tier.ts";

const ignore = Deno.build.os !== "linux";

/** A gateway with several serving threads. */
function startWorkers(
  settings: SettingsInput = {},
  { workers = 2, ...options }: GatewayOptions & { workers?: number } = {},
): Promise<TestGateway> {
  return startGateway({ ...options, settings: { workers, ...settings } });
}

/** A client that opens a connection for each request, so that every thread gets some. */
function newConnections(): Deno.HttpClient {
  return Deno.createHttpClient({ poolMaxIdlePerHost: 0 });
}

function askOn(client: Deno.HttpClient, gateway: { url: string; key: string }) {
  return (body: Record<string, unknown> = {}, key = gateway.key, path = "/v1/chat/completions") =>
    fetch(`${gateway.url}${path}`, {
      method: "POST",
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
      body: JSON.stringify({
        model: "svc-k2",
        messages: [{ role: "user", content: "Hi" }],
        ...body,
      }),
      client,
    });
}

async function statusAndText(reply: Promise<Response>): Promise<[number, string]> {
  const one = await reply;
  return [one.status, await one.text()];
}

function metricOf(text: string, name: string): number {
  return text.split("\n").filter((line) =>
    line.startsWith(`${name}{`) || line.startsWith(`${name} `)
  )
    .reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(" "))), 0);
}

/** Resolves once every thread has heard what any of them has told: messages keep their order, and a scrape asks all of them. */
async function haveHeard({ url }: { readonly url: string }): Promise<void> {
  // the first one comes after what a thread has told, the second one after what it was told; one more for timers
  for (let at = 0; at < 3; at++) await (await fetch(`${url}/metrics`)).text();
}

/** An upstream whose streams begin, and end when they are let go. */
function heldUpstream() {
  const gate = Promise.withResolvers<void>();
  const upstream = fakeUpstream(({ body }) => {
    if (!body?.stream) return completion("well");
    const stream = new ReadableStream<string>({
      start: (controller) => controller.enqueue(sse(chunk({ content: "well " }))),
      async pull(controller) {
        await gate.promise;
        controller.enqueue(sse(chunk({}, "stop"), "[DONE]"));
        controller.close();
      },
    }, { highWaterMark: 0 });
    return new Response(stream.pipeThrough(new TextEncoderStream()), {
      headers: { "content-type": "text/event-stream" },
    });
  });
  return {
    url: upstream.url,
    received: upstream.received,
    letGo: () => gate.resolve(),
    async [Symbol.asyncDispose]() {
      gate.resolve();
      await upstream[Symbol.asyncDispose]();
    },
  };
}

/** Reads a stream up to its end. */
async function ended(reader: ReadableStreamDefaultReader<Uint8Array>): Promise<boolean> {
  while (!(await reader.read()).done);
  return true;
}

/** Starts serving threads, and lets a test end them. */
function threadsToEnd() {
  const workers = new Map<number, Worker>();
  return {
    start(number: number): ServingWorker & Pick<Worker, "addEventListener"> {
      const url = new URL("../../src/assemble/serving_thread.ts", import.meta.url);
      const worker = new Worker(url, { type: "module" });
      workers.set(number, worker);
      return worker;
    },
    /** As the platform reports a thread that has died. */
    end(number: number): void {
      workers.get(number)!.dispatchEvent(
        new ErrorEvent("error", { message: "it was ended by a test", cancelable: true }),
      );
    },
  };
}

/** A part of a test whose gateway, with its connections, outlives it. */
async function step(t: Deno.TestContext, name: string, fn: () => Promise<void>): Promise<void> {
  await t.step({ name, fn, sanitizeOps: false, sanitizeResources: false });
}

Deno.test({
  name: "workers: what several threads share",
  ignore,
  async fn(t) {
    await using gateway = await startWorkers({}, { workers: 3 });
    using client = newConnections();
    const ask = askOn(client, gateway);
    // threads take a second to start: each part has the gateway read its own settings
    const use = async (settings: SettingsInput) => {
      const { fault, needRestart } = await gateway.reload({ workers: 3, ...settings });
      assertEquals([fault, needRestart], [null, []]);
    };

    await step(
      t,
      "each thread serves, with an ID of its own; metrics are sums, whichever is asked",
      async () => {
        await using upstream = heldUpstream();
        await use({ upstreams: { a: { url: upstream.url } } });
        const streams = Array.from({ length: 40 }, () => statusAndText(ask({ stream: true })));
        await until(() => upstream.received.length === 40, { what: "be sent" });
        const holders = await gateway.gateway.database.all(
          "select gateway_id, count(*) as holds from holds group by gateway_id order by gateway_id",
        );
        assertEquals(holders.length, 3, JSON.stringify(holders));
        const [first] = holders.map(({ gateway_id }) => String(gateway_id));
        assertEquals(holders.map(({ gateway_id }) => gateway_id), [
          first,
          `${first}.2`,
          `${first}.3`,
        ]);
        assertEquals(gateway.gateway.inFlight.count, 40);

        const scrape = async () => await (await fetch(`${gateway.url}/metrics`, { client })).text();
        for (let at = 0; at < 10; at++) {
          const text = await scrape();
          assertEquals(metricOf(text, "sluice_requests_in_flight"), 40);
          assertEquals(metricOf(text, "sluice_workers"), 3);
        }
        upstream.letGo();
        for (const [status, text] of await Promise.all(streams)) {
          assertEquals(status, 200);
          assertStringIncludes(text, "[DONE]");
        }
        for (let at = 0; at < 10; at++) {
          const text = await scrape();
          assertEquals(metricOf(text, "sluice_requests_total"), 40);
          assertEquals(metricOf(text, "sluice_request_duration_seconds_count"), 40);
          assertEquals(metricOf(text, "sluice_requests_in_flight"), 0);
          assertEquals(text.match(/^# HELP sluice_requests_total /gm)?.length, 1);
        }
        await assertLedgerClean(gateway);
      },
    );
    await step(t, "no credit is spent twice, however the requests are spread", async () => {
      await use({});
      const ada = await customer(gateway, 40);
      for (let round = 0; round < sized(1, 3); round++) {
        const replies = await Promise.all(
          Array.from({ length: 60 }, () => statusAndText(ask({ max_tokens: 10 }, ada.keys[0]))),
        );
        const statuses = Map.groupBy(replies, ([status]) => status);
        assertEquals([...statuses.keys()].filter((one) => one !== 200 && one !== 403), []);
      }
      // whatever was refused while others held the credits, each of them is spent once
      for (let at = 0; at < 60 && await ada.balance() > 0; at++) {
        await statusAndText(ask({ max_tokens: 10 }, ada.keys[0]));
      }
      assertEquals(await ada.balance(), 0);
      const [spent] = await gateway.gateway.database.all(
        "select sum(charged_credits) as credits, sum(charged_credits < price_credits) as short " +
          "from usage_records where account_id = ?",
        [ada.accountId],
      );
      assertEquals(spent, { credits: 40, short: 0 });
      await assertLedgerClean(gateway);
    });
    await step(t, "limits that are kept in memory hold for all threads together", async () => {
      await using upstream = heldUpstream();
      await use({
        upstreams: { b: { url: upstream.url } },
        limits: { countsPerMinute: 10, openRequestsPerKey: 5 },
      });
      const counts: number[] = [];
      for (let at = 0; at < sized(15, 30); at++) {
        counts.push((await statusAndText(ask({}, gateway.key, "/v1/messages/count_tokens")))[0]);
        await haveHeard(gateway); // a count is told to the other threads in a message
      }
      assertEquals(counts.filter((status) => status === 200).length, 10, counts.join());

      let refused = 0;
      const open = Array.from({ length: 15 }, async () => {
        const one = await statusAndText(ask({ stream: true }));
        if (one[0] !== 200) refused++;
        return one;
      });
      await until(() => refused === 10, { what: "the refusal of all but five" });
      upstream.letGo();
      assertEquals((await Promise.all(open)).filter(([status]) => status === 200).length, 5);
      const again = await Promise.all(Array.from({ length: 5 }, () => statusAndText(ask())));
      assertEquals(again.map(([status]) => status), [200, 200, 200, 200, 200]);
    });
    await step(
      t,
      "large bodies of all threads together take no more than their memory",
      async () => {
        const megabyte = 1_048_576;
        const LAST = 600;
        await use({
          limits: { largeBodiesBytes: 12 * megabyte, accountShare: 1, bodyIdleMs: 6_000 },
        });
        // eight clients send bodies of three megabytes, the end of them bit by bit until four have been rejected
        const connections = await Promise.all(
          Array.from({ length: 8 }, () => connectTo(gateway.url)),
        );
        const text = JSON.stringify({
          model: "svc-k2",
          messages: [{ role: "user", content: "x".repeat(3 * megabyte) }],
        });
        const head = postHead("/v1/chat/completions", {
          key: gateway.key,
          headers: [`content-length: ${text.length}`],
        });
        let rejected = 0;
        const replies = connections.map(async (connection) => {
          const reply = readReply(connection).then(({ status }) => {
            if (status === 503) rejected++;
            return status;
          });
          await writeAll(connection, head + text.slice(0, -LAST));
          let sent = -LAST;
          for (; sent < -1 && rejected < 4; sent++) {
            await sleep(200); // each byte keeps the body from counting as idle
            await writeAll(connection, text.slice(sent, sent + 1));
          }
          await writeAll(connection, text.slice(sent));
          return await reply;
        });
        const statuses = await Promise.all(replies);
        for (const connection of connections) connection.close();
        // what was read is longer than the context window; for the others there was no memory in time
        const read = statuses.filter((status) => status === 400).length;
        assert(read >= 2 && read <= 4, statuses.join());
        assertEquals(statuses.filter((status) => status === 503).length, 8 - read, statuses.join());
        // and nothing of it stays taken
        const [status] = await statusAndText(
          gateway.post("/v1/chat/completions", text),
        );
        assertEquals(status, 400); // longer than the context window, which takes reading it
      },
    );
    await step(
      t,
      "a conversation stays at its upstream, whichever thread gets its requests",
      async () => {
        await using one = fakeUpstream(() => completion("well"));
        await using other = fakeUpstream(() => completion("well"));
        await use({
          upstreams: { c: { url: one.url }, d: { url: other.url } },
          routes: {
            "svc-k2": {
              targets: [{ upstream: "c", model: "m", weight: 1 }, {
                upstream: "d",
                model: "m",
                weight: 1,
              }],
            },
          },
        });
        const conversations = Array.from({ length: sized(14, 20) }, (_, number) => ({
          messages: [{ role: "user", content: `Conversation ${number}` }],
          upstreams: new Set<string | null>(),
        }));
        for (let turn = 0; turn < sized(3, 6); turn++) {
          await Promise.all(conversations.map(async ({ messages, upstreams }) => {
            const { headers, body } = await ask({ messages });
            await body?.cancel();
            upstreams.add(headers.get("x-sluice-upstream"));
            messages.push({ role: "assistant", content: "well" }, {
              role: "user",
              content: "and?",
            });
          }));
          await haveHeard(gateway); // once for all of them
        }
        const used = conversations.map(({ upstreams }) => [...upstreams]);
        assertEquals(used.filter((upstreams) => upstreams.length !== 1), []);
        assertEquals(new Set(used.flat()).size, 2);
      },
    );
    await step(t, "idle connections are closed, those in use in any thread are not", async () => {
      await using upstream = heldUpstream();
      const upstreams = { e: { url: upstream.url } };
      await use({ upstreams });
      const body = JSON.stringify({
        model: "svc-k2",
        stream: true,
        messages: [{ role: "user", content: "Hi" }],
      });
      const head = postHead("/v1/chat/completions", {
        key: gateway.key,
        headers: [`content-length: ${body.length}`],
      });
      const busy = await Promise.all(Array.from({ length: 8 }, () => connectTo(gateway.url)));
      for (const connection of busy) await writeAll(connection, head + body);
      await until(() => upstream.received.length === 8, { what: "be sent" });
      // nothing has come on these for a shorter time
      const idle = await Promise.all(Array.from({ length: 4 }, () => connectTo(gateway.url)));
      const ends = idle.map((connection) => connection.read(new Uint8Array(1)));
      await use({ upstreams, limits: { idleConnectionMs: 500 } });
      assertEquals(await Promise.all(ends), [null, null, null, null]);
      await use({ upstreams });
      upstream.letGo();
      for (const connection of busy) {
        const { status, body } = await readReply(connection);
        assertEquals(status, 200);
        assertStringIncludes(body, "[DONE]");
      }
      for (const connection of [...busy, ...idle]) connection.close();
    });
    await step(t, "the console is one, whichever thread a browser reaches", async () => {
      await using upstream = heldUpstream();
      await use({ upstreams: { f: { url: upstream.url } } });
      const operator = await signedIn(gateway, "owner@localhost");
      const streams = Array.from({ length: 20 }, () => statusAndText(ask({ stream: true })));
      await until(() => upstream.received.length === 20, { what: "be sent" });
      const page = (path: string, headers = {}) =>
        fetch(`${gateway.url}/console${path}`, {
          headers: { cookie: operator.cookie, ...headers },
          redirect: "manual",
          client,
        });
      for (let at = 0; at < 10; at++) {
        assertStringIncludes(
          await (await page("/operator/live")).text(),
          "20 requests in flight at",
        );
      }
      upstream.letGo();
      await Promise.all(streams);
      for (let at = 0; at < 6; at++) {
        assertMatch(await (await page("/operator/upstreams")).text(), />ok</);
      }

      // failed sign-ins are counted in one place
      const bob = await customer(gateway, 10);
      const statuses: number[] = [];
      for (let at = 0; at < 8; at++) {
        const form = await page("/sign-in", { cookie: "" });
        const cookie = /^([^;]*)/.exec(form.headers.get("set-cookie") ?? "")?.[1] ?? "";
        const csrf = /name="csrf" value="([0-9a-f]{64})"/.exec(await form.text())?.[1] ?? "";
        const reply = await fetch(`${gateway.url}/console/sign-in`, {
          method: "POST",
          headers: { cookie, "sec-fetch-site": "same-origin" },
          body: new URLSearchParams({ csrf, email: bob.email, password: "wrong password" }),
          redirect: "manual",
          client,
        });
        await reply.body?.cancel();
        statuses.push(reply.status);
      }
      assertEquals(statuses.filter((status) => status !== 429).length, 5, statuses.join());

      // a page that stays open ends with the gateway, and with its reader
      const live = await Promise.all(
        Array.from({ length: 6 }, () => page("/operator/live", { accept: "text/event-stream" })),
      );
      const readers = live.map(({ body }) => body!.getReader());
      for (const reader of readers) assertEquals((await reader.read()).done, false);
      await readers.pop()!.cancel();
      await gateway.gateway.stop();
      assertEquals(await Promise.all(readers.map(ended)), readers.map(() => true));
      await Promise.all(readers.map((reader) => reader.cancel().catch(() => {})));
    });
  },
});

Deno.test({
  name: "workers: what becomes of one thread's failures",
  ignore,
  async fn(t) {
    const threads = threadsToEnd();
    let isFaulty = false;
    await using gateway = await startWorkers({}, {
      workers: 3,
      startThread(number) {
        const worker = threads.start(number);
        const post = worker.postMessage.bind(worker);
        worker.postMessage = (message, transfer) => {
          const { name, argument } = message as { name?: string; argument?: { config: unknown } };
          const isHit = isFaulty && number === 3 && name === "prepare";
          post(
            isHit ? { ...message as object, argument: { ...argument, config: null } } : message,
            transfer,
          );
        };
        return worker;
      },
    });
    using client = newConnections();
    const ask = askOn(client, gateway);

    await step(t, "settings that one thread cannot use are used by none", async () => {
      const statuses = async (model: string) => {
        const all = Array.from({ length: 30 }, () => statusAndText(ask({ model })));
        return [...new Set((await Promise.all(all)).map(([status]) => status))];
      };
      isFaulty = true;
      const reload = await gateway.reload({ workers: 3, aliases: { mine: "svc-k2" } });
      assert(reload.fault !== null);
      assertEquals(await statuses("mine"), [404]);
      isFaulty = false;
      assertEquals((await gateway.reload({ workers: 3, aliases: { mine: "svc-k2" } })).fault, null);
      assertEquals(await statuses("mine"), [200]);
      assertEquals((await gateway.reload({ workers: 2 })).needRestart, ["workers"]);
      assertEquals(await statuses("mine"), [404]);
    });
    await step(
      t,
      "a thread that dies is started again; the others' requests go on, holds are freed",
      async () => {
        await using upstream = heldUpstream();
        await gateway.reload({ workers: 3, upstreams: { a: { url: upstream.url } } });
        const total = async () =>
          metricOf(
            await (await fetch(`${gateway.url}/metrics`, { client })).text(),
            "sluice_requests_total",
          );
        const earlier = await total();
        await Promise.all(Array.from({ length: 20 }, () => statusAndText(ask())));
        assertEquals(await total(), earlier + 20);

        const streams = Array.from(
          { length: 30 },
          () => statusAndText(ask({ stream: true })).catch(() => [0, ""] as const),
        );
        await until(() => upstream.received.length === 50, { what: "be sent" });
        const { database } = gateway.gateway;
        const heldBy = async (table: string, end: string) =>
          (await database.all(`select 1 from ${table} where gateway_id like ?`, [end])).length;
        threads.end(2);
        await until(() => gateway.log().includes("a serving thread was started again"), {
          what: "be started again",
        });
        for (const table of ["holds", "loans"]) assertEquals(await heldBy(table, "%.2"), 0, table);
        upstream.letGo();
        const done = await Promise.all(streams);
        const whole = done.filter(([status, text]) => status === 200 && text.includes("[DONE]"));
        assert(whole.length > 0 && whole.length < 30, `${whole.length} of 30 were whole`);
        assertEquals(gateway.gateway.inFlight.count, 0);

        // all serve again, and no count has fallen
        const again = await Promise.all(Array.from({ length: 30 }, () => statusAndText(ask())));
        assert(again.every(([status]) => status === 200));
        const after = await (await fetch(`${gateway.url}/metrics`, { client })).text();
        assert(metricOf(after, "sluice_requests_total") >= earlier + 20 + whole.length + 30);
        assertEquals(metricOf(after, "sluice_worker_restarts_total"), 1);
        assertEquals(metricOf(after, "sluice_workers"), 3);
        await assertLedgerClean(gateway);

        // it uses the settings that were read meanwhile
        assertEquals(
          (await gateway.reload({
            workers: 3,
            upstreams: { a: { url: upstream.url } },
            aliases: { mine: "svc-k2" },
          })).fault,
          null,
        );
        const served = await Promise.all(
          Array.from({ length: 20 }, () => statusAndText(ask({ model: "mine" }))),
        );
        assert(served.every(([status]) => status === 200));
      },
    );
  },
});

Deno.test({
  name:
    "workers: a thread that hangs is ended and started again; its requests are named in the log",
  ignore,
  async fn() {
    await using upstream = heldUpstream();
    const threads = threadsToEnd();
    let hangs = false;
    const replies = new Map<number, number>();
    await using gateway = await startWorkers({ upstreams: { a: { url: upstream.url } } }, {
      watchdog: { lookMs: 100, maxLooks: 30 }, // a busy machine has threads wait for a second
      startThread(number) {
        const worker = threads.start(number);
        worker.addEventListener("message", () => replies.set(number, replies.get(number)! + 1));
        replies.set(number, 0);
        const post = worker.postMessage.bind(worker);
        let isHanging = false;
        worker.postMessage = (message, transfer) => {
          isHanging ||= hangs;
          if (!isHanging) post(message, transfer); // nothing that it is asked reaches it any more
        };
        return worker;
      },
    });
    using client = newConnections();
    const ask = askOn(client, gateway);
    await Promise.all(Array.from({ length: 20 }, () => statusAndText(ask())));
    const streams = Array.from(
      { length: 20 },
      () => statusAndText(ask({ stream: true })).catch(() => [0, ""] as const),
    );
    await until(() => upstream.received.length === 40, { what: "be sent" });
    for (const number of replies.keys()) replies.set(number, 0);
    // the second is to what was asked since
    await until(() => [...replies.values()].every((count) => count >= 2), {
      what: "be asked what they do",
    });
    hangs = true;
    await until(() => gateway.log().includes("a serving thread does not answer"), {
      what: "be noticed",
    });
    hangs = false;
    await until(() => gateway.log().includes("a serving thread was started again"), {
      what: "be started again",
    });
    upstream.letGo();
    await Promise.all(streams);
    const lines = gateway.log().split("\n").filter((one) => one.includes("does not answer"));
    let told = 0;
    for (const { in_flight: inFlight, newest } of lines.map((line) => JSON.parse(line))) {
      assertEquals(newest.split(", ").filter((id: string) => id !== "").length, inFlight);
      told += inFlight;
    }
    assert(told > 0, lines.join("\n"));
    const again = await Promise.all(Array.from({ length: 30 }, () => statusAndText(ask())));
    assert(again.every(([status]) => status === 200));
    await assertLedgerClean(gateway);
  },
});

Deno.test({
  name: "workers: SIGTERM drains all threads; a revoked key stops in all; --workers auto",
  ignore,
  async fn() {
    await using upstream = heldUpstream();
    await using dir = await tempDir();
    const key = `sk-${"w".repeat(40)}`;
    const env = { SLUICE_UPSTREAM_URL: upstream.url, SLUICE_OWNER_KEY: key, SLUICE_PORT: "0" };
    const workers = String(sized(2, 3));
    await using process = startCommand(["--workers", workers], { directory: dir.path, env });
    const [, url = ""] = await process.waitFor(/listening on (http:\S+)/);
    await process.waitFor(/curl/);
    using client = newConnections();
    const ask = askOn(client, { url, key });
    const run = (...args: string[]) => sluice(args, { directory: dir.path, env });
    const { id, key: other } = JSON.parse((await run("key", "create", "--json")).out);
    const statuses = async () => {
      const all = await Promise.all(
        Array.from({ length: 12 }, () => statusAndText(ask({}, other))),
      );
      return [...new Set(all.map(([status]) => status))];
    };
    assertEquals(await statuses(), [200]);
    assertEquals((await run("key", "revoke", id)).code, 0);
    await until(async () => (await statuses()).join() === "401", { what: "the key's end" });

    const streams = Array.from({ length: 30 }, () => statusAndText(ask({ stream: true })));
    await until(() => upstream.received.filter(({ body }) => body?.stream).length === 30, {
      what: "be sent",
    });
    process.signal("SIGTERM");
    await until(() => statusAndText(ask()).then(([status]) => status !== 200, () => true), {
      what: "the signal",
    });
    upstream.letGo();
    for (const [status, text] of await Promise.all(streams)) {
      assertEquals(status, 200);
      assertStringIncludes(text, "[DONE]");
    }
    assertEquals((await process.status).code, 0);
    assertEquals((await run("credits", "audit")).code, 0);
    // every line of the log is one, whichever thread wrote it
    for (const line of process.err().trim().split("\n")) assert(JSON.parse(line).message);

    if (!isProof) return; // another process with its threads
    // fewer threads the next time; what the third one held is free at once
    assertMatch(
      await Deno.readTextFile(`${dir.path}/data/gateway.id`),
      /^gw_\w{16} 3 inode \d+\n$/,
    );
    await using next = startCommand(["--workers", "auto"], { directory: dir.path, env });
    await next.waitFor(/curl/);
    const cores = navigator.hardwareConcurrency;
    const text = await (await fetch(/http:\S+/.exec(next.out())![0] + "/metrics")).text();
    assertEquals(metricOf(text, "sluice_workers"), cores);
    next.signal("SIGINT");
    assertEquals((await next.status).code, 0);
  },
});

Deno.test({
  name:
    "workers: with a libSQL server each thread has a connection of its own, and no credit is spent twice",
  ignore: ignore || !await canShareServer(),
  async fn() {
    await using dir = await tempDir();
    await using server = await sharedServer(`${dir.path}/server`);
    await using gateway = await startWorkers({ database: { url: server.url } });
    const ada = await customer(gateway, 15);
    using client = newConnections();
    const ask = askOn(client, gateway);
    const replies = await Promise.all(
      Array.from(
        { length: sized(24, 40) },
        () => statusAndText(ask({ max_tokens: 10 }, ada.keys[0])),
      ),
    );
    for (let at = 0; at < 20 && await ada.balance() > 0; at++) {
      replies.push(await statusAndText(ask({ max_tokens: 10 }, ada.keys[0])));
    }
    assertEquals(replies.filter(([status]) => status === 200).length, 15);
    assertEquals(replies.filter(([status]) => status !== 200 && status !== 403), []);
    assertEquals(await ada.balance(), 0);
    await assertLedgerClean(gateway);
  },
});
