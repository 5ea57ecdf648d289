/** An upgrade: a second process takes over from the first one, on the same port and data directory. */

import { assertEquals, assertMatch, assertStringIncludes } from "../assert.ts";
import { type RunningCommand, startCommand } from "../fake/command.ts";
import { sluice } from "../fake/shell.ts";
import { sleep, tempDir, until } from "../fake/temp.ts";
import { chunk, completion, fakeUpstream, pacedStream, sse } from "../fake/upstream.ts";
import { isProof, sized } from "../tier.ts";

const KEY = `sk-${"t".repeat(40)}`;
const STREAMS = sized(60, 200);
const REQUESTS_PER_SECOND = 100;
const MAX_IN_FLIGHT = 20;
/** Requests that each of two processes has answered at least. */
const ANSWERED = 20;

for (const [before, after] of [[1, 1], [2, 3]] as const) {
  Deno.test({
    name:
      `a handover under load refuses no request and cuts no stream (${before} → ${after} workers)`,
    ignore: Deno.build.os !== "linux" || before > 1 && !isProof,
    fn: () => handOverUnderLoad(String(before), String(after)),
  });
}

async function handOverUnderLoad(before: string, after: string): Promise<void> {
  await using upstream = fakeUpstream(({ path, body }) => {
    if (path === "/v1/models") return new Response(null, { status: 404 });
    if (!body.stream) return completion("Hello");
    const pieces = Array.from({ length: 20 }, (_, at) => sse(chunk({ content: `${at} ` })));
    return pacedStream(250, [...pieces, sse(chunk({}, "stop"), "[DONE]")]);
  });
  await using dir = await tempDir();
  await Deno.writeTextFile(
    `${dir.path}/sluice.jsonc`,
    JSON.stringify({
      port: 0,
      log: "json",
      data: `${dir.path}/data`,
      owner: { key: KEY },
      upstream: { url: upstream.url },
      tiers: [{ above: 0, minute: 1e6, hour: 1e6, day: 1e6 }],
    }),
  );
  await using first = startCommand(["--workers", before], { directory: dir.path });
  const [, url] = await first.waitFor(/listening on (http:\S+)/);
  await first.waitFor(/curl/);

  const load = new Load(url!);
  const streams = Array.from({ length: STREAMS }, (_, at) => load.stream(at * 10));
  const over = Promise.withResolvers<void>();
  const requests = load.requests(over.promise);
  await until(() => answered(first) > ANSWERED, { what: "the first process's answers" });
  await using second = startCommand(["--takeover", "--workers", after], { directory: dir.path });
  const [, same] = await second.waitFor(/listening on (http:\S+)/);
  assertEquals(same, url);
  assertEquals((await first.status).code, 0);
  await until(() => answered(second) > ANSWERED, { what: "the second process's answers" });
  over.resolve();
  await Promise.all([...streams, requests]);
  assertEquals(load.faults, []);

  // every charge is in the one database
  const run = (...args: string[]) => sluice(args, { directory: dir.path });
  const audit = await run("credits", "audit");
  assertEquals(audit.code, 0, audit.out);
  const [total] = JSON.parse((await run("usage", "--json", "--by", "model")).out);
  assertEquals(total.requests, load.done + STREAMS);

  // the second one is alone now: another start is refused, its own commands find it
  assertMatch((await run("doctor", "--running")).out, /running at/);
  assertEquals((await run("reload")).code, 0);
  await using third = startCommand([], { directory: dir.path });
  assertEquals((await third.status).code, 1);
  assertMatch(third.err(), /A gateway is already running/);
  second.signal("SIGTERM");
  assertEquals((await second.status).code, 0);
}

Deno.test({
  name: "a process that is asked to stop while it hands over refuses no request",
  ignore: Deno.build.os !== "linux",
  async fn() {
    await using upstream = fakeUpstream(({ path }) =>
      path === "/v1/models" ? new Response(null, { status: 404 }) : completion("Hello")
    );
    await using dir = await tempDir();
    const env = {
      SLUICE_UPSTREAM_URL: upstream.url,
      SLUICE_OWNER_KEY: KEY,
      SLUICE_PORT: "0",
      SLUICE_LOG: "json",
    };
    await Deno.writeTextFile(
      `${dir.path}/sluice.jsonc`,
      JSON.stringify({ tiers: [{ above: 0, minute: 1e6, hour: 1e6, day: 1e6 }] }),
    );
    await using first = startCommand([], { directory: dir.path, env });
    const [, url = ""] = await first.waitFor(/listening on (http:\S+)/);
    await first.waitFor(/curl/);
    const load = new Load(url);
    const over = Promise.withResolvers<void>();
    const requests = Promise.all(Array.from({ length: 4 }, () => load.requests(over.promise)));
    await until(() => load.done > ANSWERED, { what: "the first process's answers" });
    await using second = startCommand(["--takeover"], { directory: dir.path, env });
    await until(() => first.err().includes("handing over"), { what: "the handover" });
    first.signal("SIGTERM");
    assertEquals((await first.status).code, 0);
    const before = load.done;
    await until(() => load.done > before + ANSWERED, { what: "the second process's answers" });
    over.resolve();
    await requests;
    assertEquals(load.faults, []);
    second.signal("SIGTERM");
    assertEquals((await second.status).code, 0);
  },
});

Deno.test({
  name: "--takeover without a gateway starts one; a handover that is not over refuses the next",
  ignore: Deno.build.os !== "linux",
  async fn() {
    await using upstream = fakeUpstream(({ path }) =>
      path === "/v1/models"
        ? new Response(null, { status: 404 })
        : pacedStream(500, Array.from({ length: 40 }, () => sse(chunk({ content: "x" }))))
    );
    await using dir = await tempDir();
    const env = { SLUICE_UPSTREAM_URL: upstream.url, SLUICE_OWNER_KEY: KEY, SLUICE_PORT: "0" };
    const start = () => startCommand(["--takeover"], { directory: dir.path, env });
    await using first = start();
    const [, url] = await first.waitFor(/listening on (http:\S+)/);
    await first.waitFor(/curl/);
    const leaving = new AbortController();
    const stream = await fetch(`${url}/v1/chat/completions`, {
      method: "POST",
      headers: { authorization: `Bearer ${KEY}` },
      body: JSON.stringify({
        model: "svc-k2",
        stream: true,
        messages: [{ role: "user", content: "x" }],
      }),
      signal: leaving.signal,
    });
    await using second = start();
    await second.waitFor(/curl/);
    await using third = start();
    assertEquals((await third.status).code, 1);
    assertStringIncludes(third.err(), "still finishes its requests");
    assertEquals(await (await fetch(`${url}/healthz`)).json(), { status: "ok" });
    leaving.abort();
    await stream.text().catch(() => {});
    assertEquals((await first.status).code, 0);
    await using fourth = start();
    await fourth.waitFor(/curl/);
    assertEquals((await second.status).code, 0);
  },
});

Deno.test({
  name:
    "a successor that dies before it has taken over: the earlier gateway goes on; another port is refused",
  ignore: Deno.build.os !== "linux",
  async fn() {
    await using dir = await tempDir();
    const env = { SLUICE_OWNER_KEY: KEY };
    const start = (...args: string[]) => startCommand(args, { directory: dir.path, env });
    await using first = start("--port", "0");
    const [, url = ""] = await first.waitFor(/listening on (http:\S+)/);
    await first.waitFor(/curl/);
    await using elsewhere = start("--takeover", "--port", "1");
    assertEquals((await elsewhere.status).code, 1);
    assertStringIncludes(elsewhere.err(), "Cannot take over: the gateway listens on port");

    await using second = start("--takeover", "--port", "0");
    await second.waitFor(/listening on/);
    second.signal("SIGKILL");
    await second.status;
    const load = new Load(url);
    const over = Promise.withResolvers<void>();
    const requests = load.requests(over.promise);
    await until(() => first.err().includes("the process that took over has ended"), {
      what: "the first process noticing it",
    });
    const before = load.done;
    await until(() => load.done > before + ANSWERED, { what: "answers after that" });
    over.resolve();
    await requests;
    assertEquals(load.faults, []);
    assertMatch((await sluice(["doctor", "--running"], { directory: dir.path })).out, /running at/);

    await using third = start("--takeover", "--port", "0");
    await third.waitFor(/curl/);
    assertEquals((await first.status).code, 0);
    // the earlier one did not take its word back
    assertEquals((await sluice(["reload"], { directory: dir.path })).code, 0);
  },
});

/** Requests over kept connections and over new ones, and what went wrong with them. */
class Load {
  readonly faults: string[] = [];
  done = 0;
  readonly #url: string;

  constructor(url: string) {
    this.#url = url;
  }

  async stream(afterMs: number): Promise<void> {
    await sleep(afterMs);
    const text = await this.#ask({ stream: true });
    if (text !== undefined && !text.includes("[DONE]")) this.faults.push(`cut: ${text.slice(-80)}`);
  }

  /** Sends requests until something has happened; a machine that is busy gets no more than it answers. */
  async requests(end: Promise<void>): Promise<void> {
    using fresh = Deno.createHttpClient({ poolMaxIdlePerHost: 0 });
    const inFlight = new Set<Promise<void>>();
    let isOver = false;
    void end.then(() => isOver = true);
    for (let at = 0; !isOver; at++) {
      if (inFlight.size >= MAX_IN_FLIGHT) await Promise.race(inFlight);
      const request = this.#ask({}, at % 2 === 0 ? fresh : undefined).then(() => {
        this.done++;
        inFlight.delete(request);
      });
      inFlight.add(request);
      await sleep(1_000 / REQUESTS_PER_SECOND);
    }
    await Promise.all(inFlight);
  }

  async #ask(body: object, client?: Deno.HttpClient): Promise<string | undefined> {
    try {
      const reply = await fetch(`${this.#url}/v1/chat/completions`, {
        method: "POST",
        headers: { authorization: `Bearer ${KEY}` },
        body: JSON.stringify({
          model: "svc-k2",
          messages: [{ role: "user", content: "Hi" }],
          ...body,
        }),
        ...(client === undefined ? {} : { client }),
      });
      const text = await reply.text();
      if (reply.status !== 200) this.faults.push(`${reply.status}: ${text}`);
      return text;
    } catch (error) {
      this.faults.push(String(error));
      return undefined;
    }
  }
}

/** How many requests a process has logged as answered. */
function answered(process: RunningCommand): number {
  return process.err().split("\n").filter((line) => line.includes('"status":200')).length;
}
