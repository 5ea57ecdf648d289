import type { SettingsInput } from "../../src/settings/config/mod.ts";

/** A request as an upstream received it. */
export interface Received {
  readonly path: string;
  readonly headers: Headers;
  // deno-lint-ignore no-explicit-any -- tests look into whatever was sent
  readonly body: any;
  readonly raw: string;
}

/** An upstream of the test's own. */
export interface FakeUpstream extends AsyncDisposable {
  /** Base address, `/v1` included. */
  readonly url: string;
  readonly received: Received[];
}

/** What the upstream answers. */
export type Answers = (request: Received, signal: AbortSignal) => Response | Promise<Response>;

/** A real server whose answers the test writes; with TLS if there is a certificate. */
export function fakeUpstream(
  answers: Answers,
  tls?: { readonly cert: string; readonly key: string },
): FakeUpstream {
  const received: Received[] = [];
  const server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen() {}, ...tls },
    async (request) => {
      const raw = await request.text().catch(() => undefined);
      if (raw === undefined) return new Response(); // the sender is gone
      const one: Received = {
        path: new URL(request.url).pathname,
        headers: request.headers,
        body: raw === "" ? undefined : JSON.parse(raw),
        raw,
      };
      received.push(one);
      return await answers(one, request.signal);
    },
  );
  return {
    url: `http${tls === undefined ? "" : "s"}://127.0.0.1:${server.addr.port}/v1`,
    received,
    async [Symbol.asyncDispose]() {
      await server.shutdown();
    },
  };
}

/** A plain chat completion. */
export function completion(content: string, more: Record<string, unknown> = {}): Response {
  return Response.json({
    id: "upstream-id",
    object: "chat.completion",
    created: 1,
    model: "upstream-model",
    choices: [{
      index: 0,
      message: { role: "assistant", content },
      finish_reason: "stop",
    }],
    usage: USAGE,
    ...more,
  });
}

/** An upstream that replies to nothing before it is released, and settings with `held-model`, which it serves. */
export interface HeldUpstream extends AsyncDisposable {
  readonly settings: SettingsInput;
  release(): void;
}

/** Starts one. A request to it is in flight for as long as the test wants. */
export function heldUpstream(): HeldUpstream {
  const { promise, resolve: release } = Promise.withResolvers<void>();
  const upstream = fakeUpstream(async ({ body }) => {
    await promise;
    return body?.stream === true
      ? eventStream(sse(chunk({ content: "well" }), chunk({}, "stop", { usage: USAGE }), "[DONE]"))
      : completion("well");
  });
  return {
    settings: {
      upstreams: { held: { url: upstream.url } },
      routes: {
        "held-model": {
          targets: [{ upstream: "held", model: "m" }],
          prices: { input: 1, cached: 1, output: 1 },
        },
      },
    },
    release,
    async [Symbol.asyncDispose]() {
      release();
      await upstream[Symbol.asyncDispose]();
    },
  };
}

const USAGE = { prompt_tokens: 7, completion_tokens: 3, total_tokens: 10 };

/** A chunk of a chat stream, as data of one event. */
export function chunk(delta: unknown, finish: string | null = null, more = {}): string {
  return JSON.stringify({
    id: "upstream-id",
    object: "chat.completion.chunk",
    created: 1,
    model: "upstream-model",
    choices: [{ index: 0, delta, finish_reason: finish }],
    ...more,
  });
}

/** Events as the bytes of a stream. */
export function sse(...datas: string[]): string {
  return datas.map((data) => `data: ${data}\n\n`).join("");
}

/** An event stream of these bytes, in these pieces. */
export function eventStream(...pieces: (string | Uint8Array)[]): Response {
  return pacedStream(0, pieces);
}

/** The same, with a pause before each piece. */
export function pacedStream(pauseMs: number, pieces: readonly (string | Uint8Array)[]): Response {
  return heldStream(pieces, () => new Promise((resolve) => setTimeout(resolve, pauseMs)));
}

/** The same, where each piece is sent when `due` of its place resolves. */
export function heldStream(
  pieces: readonly (string | Uint8Array)[],
  due: (at: number) => Promise<unknown>,
): Response {
  const encoder = new TextEncoder();
  let at = 0;
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      const piece = pieces[at];
      if (piece === undefined) return controller.close();
      await due(at++);
      controller.enqueue(typeof piece === "string" ? encoder.encode(piece) : piece);
    },
  }, { highWaterMark: 0 });
  return new Response(body, { headers: { "content-type": "text/event-stream" } });
}

/** A server below HTTP: `converse` gets each connection. */
export function rawServer(
  converse: (connection: Deno.TcpConn) => Promise<void>,
): { url: string; connections: number } & AsyncDisposable {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const open = new Set<Deno.TcpConn>();
  const running: Promise<void>[] = [];
  const server = {
    url: `http://127.0.0.1:${(listener.addr as Deno.NetAddr).port}/v1`,
    connections: 0,
    async [Symbol.asyncDispose]() {
      listener.close();
      for (const connection of open) close(connection);
      await Promise.all(running);
    },
  };
  const accept = async () => {
    for await (const connection of listener) {
      server.connections++;
      open.add(connection);
      running.push(
        converse(connection).catch(() => {}).finally(() => {
          open.delete(connection);
          close(connection);
        }),
      );
    }
  };
  running.push(accept());
  return server;
}

function close(connection: Deno.TcpConn): void {
  try {
    connection.close();
  } catch {
    // closed already
  }
}

/** Reads one HTTP request with a `Content-Length` off a connection; undefined at its end. */
export async function readRequest(connection: Deno.Conn): Promise<string | undefined> {
  const buffer = new Uint8Array(65_536);
  let text = "";
  while (true) {
    const size = await connection.read(buffer);
    if (size === null) return text === "" ? undefined : text;
    text += new TextDecoder("latin1").decode(buffer.subarray(0, size));
    const end = text.indexOf("\r\n\r\n");
    if (end < 0) continue;
    const length = Number(/content-length: *(\d+)/i.exec(text)?.[1] ?? "0");
    if (text.length >= end + 4 + length) return text;
  }
}
