/**
 * What does an open stream cost in memory?
 *
 * Opens streams of an event a second through the thin proxy and through Sluice, and reads from each process, after a
 * forced collection of garbage, what every stream adds: resident memory, V8's objects, and the rest, which is native
 * (sockets, the platform's buffers and tables). Requests of another size show whether anything keeps them.
 *
 * `deno run -A bench/open_streams.ts [STREAMS] [BODY_KB] [VARIANT…]`, a variant being `thin`, `chat`, `messages` (over
 * an upstream of chat), `unmetered`, or the path of another proxy's script. `SNAPSHOT=FILE` has a heap snapshot written.
 */

import { freePort, listening, pause, residentMb, say } from "./harness.ts";

const [streams = "1000", bodyKb = "0", ...named] = Deno.args;
const variants = named.length > 0 ? named : ["thin", "chat", "messages"];
const snapshotFile = Deno.env.get("SNAPSHOT");
const PACE_MS = 1_000;
const TICKS = 20;
/** Streams that end at once, so that what a process keeps once it has worked counts as idle. */
const WARM_UP = 2_000;
const SHORT = '"max_tokens":1,';
/** Connections that are opened at a time. */
const BATCH = 50;

const root = new URL("../", import.meta.url).pathname;
const encoder = new TextEncoder();
const decoder = new TextDecoder();

function chunk(text: string): string {
  return `${text.length.toString(16)}\r\n${text}\r\n`;
}

function event(delta: unknown, finish: string | null = null): string {
  const one = { index: 0, delta, finish_reason: finish };
  const data = { id: "1", created: 1, model: "m", object: "chat.completion.chunk", choices: [one] };
  return chunk(`data: ${JSON.stringify(data)}\n\n`);
}

const EVENT = encoder.encode(event({ content: "word " }));
const BEGIN = encoder.encode(
  "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n" +
    event({ role: "assistant", content: "" }) + event({ content: "hello " }),
);
const END = encoder.encode(event({}, "stop") + chunk("data: [DONE]\n\n") + "0\r\n\r\n");

/** Bare sockets in this process, so that the machine has time for the proxy. */
class Upstream implements Disposable {
  readonly #listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  readonly #open = new Set<Deno.Conn>();
  readonly #interval: ReturnType<typeof setInterval>;

  constructor() {
    void this.#accept();
    let due: Deno.Conn[] = [];
    this.#interval = setInterval(() => {
      if (due.length === 0) due = [...this.#open];
      for (const connection of due.splice(0, Math.ceil(this.#open.size / TICKS))) {
        connection.write(EVENT).catch(() => this.#open.delete(connection));
      }
    }, PACE_MS / TICKS);
  }

  get port(): number {
    return (this.#listener.addr as Deno.NetAddr).port;
  }

  async #accept(): Promise<void> {
    for await (const connection of this.#listener) {
      void this.#serve(connection).catch(() => {}).finally(() => {
        this.#open.delete(connection);
        connection.close();
      });
    }
  }

  async #serve(connection: Deno.Conn): Promise<void> {
    const buffer = new Uint8Array(16_384);
    let got = 0;
    let head = "";
    let isShort = false;
    for (let size = await connection.read(buffer); size !== null;) {
      const text = decoder.decode(buffer.subarray(0, size));
      if (got === 0) head = text;
      got += size;
      isShort ||= text.includes(SHORT);
      const length = /content-length: (\d+)/i.exec(head)?.[1];
      const isWhole = length === undefined
        ? text.endsWith("0\r\n\r\n")
        : got >= head.indexOf("\r\n\r\n") + 4 + Number(length);
      if (isWhole) {
        await connection.write(BEGIN);
        if (isShort) await connection.write(END);
        else this.#open.add(connection);
        [got, isShort] = [0, false];
      }
      size = await connection.read(buffer);
    }
  }

  [Symbol.dispose](): void {
    clearInterval(this.#interval);
    this.#listener.close();
  }
}

/** What the inspector of a process is asked. */
class Inspector implements Disposable {
  readonly #socket: WebSocket;
  readonly #waiting = new Map<number, (result: Record<string, unknown>) => void>();
  #last = 0;
  #snapshot: string[] = [];

  private constructor(socket: WebSocket) {
    this.#socket = socket;
    socket.onmessage = ({ data }) => {
      const { id, method, params, result } = JSON.parse(data);
      if (method === "HeapProfiler.addHeapSnapshotChunk") this.#snapshot.push(params.chunk);
      this.#waiting.get(id)?.(result);
      this.#waiting.delete(id);
    };
  }

  static async connect(port: number): Promise<Inspector> {
    const [{ webSocketDebuggerUrl }] = await (await fetch(`http://127.0.0.1:${port}/json`)).json();
    const socket = new WebSocket(webSocketDebuggerUrl);
    await new Promise((resolve) => socket.onopen = resolve);
    return new Inspector(socket);
  }

  send(method: string, params = {}): Promise<Record<string, unknown>> {
    const id = ++this.#last;
    this.#socket.send(JSON.stringify({ id, method, params }));
    return new Promise((resolve) => this.#waiting.set(id, resolve));
  }

  /** Bytes of V8's heap in use, what it has reserved, and array buffers. */
  async heap(): Promise<readonly number[]> {
    await this.send("HeapProfiler.collectGarbage");
    const expression =
      "JSON.stringify([Deno.memoryUsage().heapUsed, Deno.memoryUsage().heapTotal, Deno.memoryUsage().external])";
    const { result } = await this.send("Runtime.evaluate", { expression });
    return JSON.parse((result as { value: string }).value);
  }

  async snapshot(file: string): Promise<void> {
    this.#snapshot = [];
    await this.send("HeapProfiler.takeHeapSnapshot");
    await Deno.writeTextFile(file, this.#snapshot.join(""));
  }

  [Symbol.dispose](): void {
    this.#socket.close();
  }
}

/** Opens a stream and reads it for as long as it goes. */
async function open(port: number, request: Uint8Array): Promise<Deno.Conn> {
  const connection = await Deno.connect({ hostname: "127.0.0.1", port });
  for (let at = 0; at < request.length;) at += await connection.write(request.subarray(at));
  const buffer = new Uint8Array(2_048);
  const size = await connection.read(buffer);
  const head = decoder.decode(buffer.subarray(0, size ?? 0));
  if (!head.startsWith("HTTP/1.1 200")) throw new Error(head);
  void (async () => {
    while (await connection.read(buffer) !== null);
  })().catch(() => {});
  return connection;
}

async function openMany(count: number, port: number, request: Uint8Array): Promise<Deno.Conn[]> {
  const all: Deno.Conn[] = [];
  while (all.length < count) {
    const some = Array.from(
      { length: Math.min(BATCH, count - all.length) },
      () => open(port, request),
    );
    all.push(...await Promise.all(some));
  }
  return all;
}

async function measure(variant: string, upstream: string): Promise<void> {
  const isSluice = ["chat", "messages", "unmetered"].includes(variant);
  const script = isSluice
    ? `${root}bench/sluice.ts`
    : variant === "thin"
    ? `${root}bench/thin_proxy.ts`
    : variant;
  const [port, inspectorPort] = [freePort(), freePort()];
  const data = await Deno.makeTempDir();
  const settings = { limits: { openRequests: 16_000, accountShare: 1 } };
  const rest = isSluice
    ? [data, variant === "unmetered" ? "no" : "yes", "chat", JSON.stringify(settings)]
    : [];
  const options = [`--inspect=127.0.0.1:${inspectorPort}`, `--config=${root}deno.json`];
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--quiet", ...options, script, String(port), upstream, ...rest],
    stderr: "null",
  }).spawn();
  try {
    await listening(port);
    let key = "";
    while (isSluice && key === "") {
      await pause(50);
      key = await Deno.readTextFile(`${data}/key`).catch(() => "");
    }
    const content = "hello there, how are you? ".repeat(1 + Number(bodyKb) * 1_024 / 26);
    const path = variant === "messages" ? "/v1/messages" : "/v1/chat/completions";
    const requestFor = (maxTokens: number) => {
      const messages = [{ role: "user", content }];
      const body = { model: "svc-k2", max_tokens: maxTokens, messages, stream: true };
      const text = JSON.stringify(body);
      return encoder.encode(
        `POST ${path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n` +
          `authorization: Bearer ${key}\r\ncontent-length: ${text.length}\r\n\r\n${text}`,
      );
    };
    using inspector = await Inspector.connect(inspectorPort);
    for (let count = 0; count < WARM_UP; count += BATCH) {
      const short = await openMany(BATCH, port, requestFor(1));
      await pause(10);
      for (const connection of short) connection.close();
    }
    await pause(2_000);
    const heapBefore = await inspector.heap();
    await pause(1_000);
    const residentBefore = await residentMb(child.pid);
    const opened = await openMany(Number(streams), port, requestFor(2_000));
    await pause(5_000);
    const grown = await residentMb(child.pid);
    const heap = await inspector.heap();
    await pause(2_000);
    const resident = await residentMb(child.pid);
    const kb = (bytes: number) => (bytes / 1_024 / Number(streams)).toFixed(1);
    const [used, total, external] = heap.map((bytes, at) => bytes - heapBefore[at]!);
    say(
      `  ${variant.replace(/.*\//, "").padEnd(20)} ` +
        `resident ${kb((resident - residentBefore) * 1_048_576)} KB a stream ` +
        `(before collecting ${kb((grown - residentBefore) * 1_048_576)}), ` +
        `objects ${kb(used!)}, heap ${kb(total!)}, array buffers ${kb(external!)}, ` +
        `native ${kb((resident - residentBefore) * 1_048_576 - total!)}; ` +
        `idle ${residentBefore.toFixed(0)} MB`,
    );
    if (snapshotFile !== undefined) await inspector.snapshot(snapshotFile);
    for (const connection of opened) connection.close();
  } finally {
    child.kill("SIGTERM");
    await child.status;
    await Deno.remove(data, { recursive: true });
  }
}

using upstream = new Upstream();
say(`Deno ${Deno.version.deno}, ${streams} streams, an event every ${PACE_MS} ms`);
for (const variant of variants) await measure(variant, `http://127.0.0.1:${upstream.port}/v1`);
Deno.exit();
