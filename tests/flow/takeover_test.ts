/** An upgrade: a second process takes over from the first one, on the same port and data directory. */

import { assertEquals, assertMatch, assertStringIncludes } from "../assert.ts";
import { type RunningCommand, startCommand } from "../fake/command.ts";
import { serveHere, sluice } from "../fake/shell.ts";
import { sleep, tempDir, until } from "../fake/temp.ts";
import { chunk, completion, fakeUpstream, sse } from "../fake/upstream.ts";
import { isProof, sized } from "../tier.ts";

const KEY = `sk-${"t".repeat(40)}`;
const STREAMS = sized(12, 200);
const REQUESTS_PER_SECOND = sized(10, 100);
const MAX_IN_FLIGHT = 20;
/** Requests that each of two processes has answered at least. */
const ANSWERED = sized(10, 20);
/** Connections that clients keep while the gateway is handed over. */
const KEPT = 8;

/** Time between the pieces of a stream. */
const PIECE_MS = 250;

const ignore = Deno.build.os !== "linux";

/** They run at the same time, as each waits some seconds for the earlier process to be quiet. */
const SCENES: Readonly<Record<string, () => Promise<void>>> = {
  "without a gateway --takeover starts one; a handover under load refuses no request and cuts no stream; the next is refused until it is over":
    () => handOverUnderLoad("1", "1"),
  "a successor that dies before it has taken over: the earlier gateway goes on; another port is refused; one that is asked to stop while it hands over refuses no request":
    dyingSuccessor,
};

Deno.test({
  name: "a second process takes over from the first one",
  ignore,
  async fn(t) {
    const unwatched = { sanitizeOps: false, sanitizeResources: false, sanitizeExit: false };
    await Promise.all(
      Object.entries(SCENES).map(([name, fn]) => t.step({ name, fn, ...unwatched })),
    );
  },
});

Deno.test({
  name: "a handover under load from 2 workers to 3 refuses no request and cuts no stream",
  ignore: ignore || !isProof,
  fn: () => handOverUnderLoad("2", "3"),
});

async function handOverUnderLoad(before: string, after: string): Promise<void> {
  const handedOver = Promise.withResolvers<void>();
  await using upstream = fakeUpstream(({ path, body }) => {
    if (path === "/v1/models") return new Response(null, { status: 404 });
    if (!body.stream) return completion("Hello");
    return streamUntil(handedOver.promise);
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
  // there is none that it could take over from
  await using first = startCommand(["--takeover", "--workers", before], { directory: dir.path });
  const [, url] = await first.waitFor(/listening on (http:\S+)/);
  await first.waitFor(/curl/);

  const load = new Load(url!);
  const streams = Array.from({ length: STREAMS }, (_, at) => load.stream(at * 20));
  const over = Promise.withResolvers<void>();
  const requests = load.requests(over.promise);
  await until(() => answered(first) > ANSWERED, { what: "the first process's answers" });
  await using second = await startBeside(() =>
    startCommand(["--takeover", "--workers", after], { directory: dir.path })
  );
  const [, same] = await second.waitFor(/listening on (http:\S+)/);
  assertEquals(same, url);
  await until(() => answered(second) > ANSWERED, { what: "the second process's answers" });
  {
    await using third = await startBeside(() => serveHere(["--takeover"], { directory: dir.path }));
    assertEquals((await third.status).code, 1);
    assertStringIncludes(third.err(), "still finishes its requests");
  }
  assertEquals(await (await fetch(`${url}/healthz`)).json(), { status: "ok" });
  handedOver.resolve();
  assertEquals((await first.status).code, 0);
  over.resolve();
  await Promise.all([...streams, requests]);
  assertEquals(load.faults, []);

  // every charge is in the one database
  const run = (...args: string[]) => sluice(args, { directory: dir.path });
  const audit = await run("credits", "audit");
  assertEquals(audit.code, 0, audit.out);
  const [total] = JSON.parse((await run("usage", "--json", "--by", "model")).out).rows;
  assertEquals(total.requests, load.done + STREAMS);

  // the second one is alone now: another start is refused, its own commands find it
  assertMatch((await run("doctor", "--running")).out, /running at/);
  assertEquals((await run("reload")).code, 0);
  await using third = await startBeside(() => serveHere([], { directory: dir.path }));
  assertEquals((await third.status).code, 1);
  assertMatch(third.err(), /A gateway is already running/);
  if (after !== "1") {
    second.signal("SIGTERM");
    return assertEquals((await second.status).code, 0);
  }
  // what took over hands over like any other
  await using fourth = await startBeside(() => serveHere(["--takeover"], { directory: dir.path }));
  await fourth.waitFor(/curl/);
  assertEquals((await second.status).code, 0);
}

async function dyingSuccessor(): Promise<void> {
  const ending = Promise.withResolvers<void>();
  await using upstream = fakeUpstream(({ path, body }) => {
    if (path === "/v1/models") return new Response(null, { status: 404 });
    return body.stream ? streamUntil(ending.promise) : completion("Hello");
  });
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
  const options = { directory: dir.path, env };
  await using first = startCommand([], options);
  const [, url = ""] = await first.waitFor(/listening on (http:\S+)/);
  await first.waitFor(/curl/);
  {
    await using elsewhere = await startBeside(() =>
      serveHere(["--takeover", "--port", "1"], options)
    );
    assertEquals((await elsewhere.status).code, 1);
    assertStringIncludes(elsewhere.err(), "Cannot take over: the gateway listens on port");
    await using dying = await startBeside(() => startCommand(["--takeover"], options));
    await dying.waitFor(/listening on/);
    dying.signal("SIGKILL");
    await dying.status;
  }
  const load = new Load(url);
  const over = Promise.withResolvers<void>();
  const requests = load.requests(over.promise);
  await until(() => first.err().includes("the process that took over has ended"), {
    what: "the first process noticing it",
  });
  const noticed = load.done;
  await until(() => load.done > noticed + ANSWERED, { what: "the first process's answers" });
  assertEquals(load.faults, []);
  assertMatch((await sluice(["doctor", "--running"], options)).out, /running at/);

  using kept = Deno.createHttpClient({ poolMaxIdlePerHost: KEPT });
  await load.atOnce(KEPT, kept);
  const stream = load.stream(0); // as long as it lasts, the first process does not close the connections
  const handovers = () => first.err().split("handing over").length;
  const earlier = handovers();
  await using second = await startBeside(() => serveHere(["--takeover"], options));
  await until(() => handovers() > earlier, { what: "the handover" });
  // it is asked to stop meanwhile
  first.signal("SIGTERM");
  await until(() => first.err().includes("shutting down"), { what: "the signal" });
  await load.atOnce(KEPT, kept); // over connections to the first process
  ending.resolve();
  await stream;
  assertEquals((await first.status).code, 0);
  const before = load.done;
  await until(() => load.done > before + ANSWERED, { what: "the second process's answers" });
  over.resolve();
  await requests;
  assertEquals(load.faults, []);
  // the earlier one did not take its word back
  assertEquals((await sluice(["reload"], options)).code, 0);
  second.signal("SIGTERM");
  assertEquals((await second.status).code, 0);
}

/**
 * Starts a gateway beside another one, and waits until it serves or has ended. Starts it again if the other one did not answer
 * in the two seconds that it has: this machine is busy.
 */
async function startBeside(start: () => RunningCommand): Promise<RunningCommand> {
  for (let left = 20;; left--) {
    const command = start();
    await Promise.race([command.status, command.waitFor(/curl/).catch(() => {})]);
    if (left === 0 || !command.err().includes("does not answer at")) return command;
    await command[Symbol.asyncDispose]();
  }
}

/** A stream that sends a piece now and then until something has happened. */
function streamUntil(end: Promise<void>): Response {
  let timer: ReturnType<typeof setInterval>;
  const encoder = new TextEncoder();
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      const send = (text: string) => controller.enqueue(encoder.encode(text));
      const piece = sse(chunk({ content: "x" }));
      send(piece);
      timer = setInterval(() => send(piece), PIECE_MS);
      void end.then(() => {
        clearInterval(timer);
        send(sse(chunk({}, "stop"), "[DONE]"));
        controller.close();
      });
    },
    cancel: () => clearInterval(timer),
  });
  return new Response(body, { headers: { "content-type": "text/event-stream" } });
}

/** Requests over kept connections and over new ones, and what went wrong with them. */
class Load {
  readonly faults: string[] = [];
  done = 0;
  readonly #url: string;

  constructor(url: string) {
    this.#url = url;
  }

  /** Sends requests at the same time, each over a connection that the client keeps. */
  async atOnce(count: number, client: Deno.HttpClient): Promise<void> {
    await Promise.all(Array.from({ length: count }, () => this.#ask({}, client)));
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
