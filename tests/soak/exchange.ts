import { sleep } from "../fake/temp.ts";
import type { Dialect } from "./upstreams.ts";

/** A request, how it is sent, and what may come of it. */
export interface Asked {
  readonly dialect: Dialect;
  readonly path: string;
  readonly key: string;
  readonly body: string;
  /** Statuses that this request may be answered with. */
  readonly statuses: readonly number[];
  /** Whether a stream of it may end with an error. */
  readonly mayBreak?: boolean;
  /** The whole text of the answer. */
  readonly text?: string;
  /** After so long the request is sent. */
  readonly waitMs?: number;
  /** The caller leaves after so long, or when so much of the answer has come. */
  readonly leave?: { readonly afterMs: number } | { readonly afterBytes: number };
  /** The caller takes a rest before each piece of the answer. */
  readonly readPauseMs?: number;
  /** Sent by hand, where a client library would not send it. */
  readonly upload?: Upload;
}

/** A body as it goes over the wire. */
export interface Upload {
  /** The headers that say how long the body is. */
  readonly framing: readonly string[];
  readonly pieces: readonly (string | Uint8Array)[];
  /** Before each piece; without a pause everything is in one write, the headers too. */
  readonly pauseMs: number;
  /** What the caller does behind its last piece. */
  readonly then: "waits" | "closes its side" | "leaves";
  /** The server below the gateway may answer it in its own words, or just close. */
  readonly belowHttp: boolean;
}

/** What came back. */
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

/** Sends a request; undefined when its caller left, or was not answered and need not be. */
export async function exchange(
  base: string,
  asked: Asked,
  bound: AbortSignal,
): Promise<Answer | undefined> {
  if (asked.waitMs !== undefined) await sleep(asked.waitMs);
  return asked.upload === undefined
    ? await byClient(base, asked, bound)
    : await byHand(base, asked, asked.upload, bound);
}

async function byClient(
  base: string,
  { path, key, body, leave, readPauseMs }: Asked,
  bound: AbortSignal,
): Promise<Answer | undefined> {
  const leaving = new AbortController();
  const timer = leave !== undefined && "afterMs" in leave
    ? setTimeout(() => leaving.abort(), leave.afterMs)
    : undefined;
  const mostBytes = leave !== undefined && "afterBytes" in leave ? leave.afterBytes : Infinity;
  try {
    const reply = await fetch(`${base}${path}`, {
      method: "POST",
      headers: { "content-type": "application/json", "authorization": `Bearer ${key}` },
      body,
      signal: AbortSignal.any([bound, leaving.signal]),
    });
    let [text, bytes] = ["", 0];
    const decoder = new TextDecoder("utf-8", { fatal: true });
    for await (const piece of reply.body ?? []) {
      text += decoder.decode(piece, { stream: true });
      bytes += piece.length;
      if (bytes >= mostBytes) leaving.abort();
      if (readPauseMs !== undefined) await sleep(readPauseMs);
    }
    return { status: reply.status, headers: reply.headers, text: text + decoder.decode() };
  } catch (error) {
    if (leaving.signal.aborted) return undefined;
    throw error;
  } finally {
    clearTimeout(timer);
  }
}

async function byHand(
  base: string,
  { path, key }: Asked,
  { framing, pieces, pauseMs, then, belowHttp }: Upload,
  bound: AbortSignal,
): Promise<Answer | undefined> {
  const { hostname, port, host } = new URL(base);
  using connection = await Deno.connect({ hostname, port: Number(port) });
  const close = () => connection.closeWrite().catch(() => {});
  bound.addEventListener("abort", close, { once: true });
  const encoder = new TextEncoder();
  const write = async (bytes: Uint8Array) => {
    for (let at = 0; at < bytes.length;) at += await connection.write(bytes.subarray(at));
  };
  const send = async () => {
    const head = [
      `POST ${path} HTTP/1.1`,
      `host: ${host}`,
      `authorization: Bearer ${key}`,
      "content-type: application/json",
      "connection: close",
      ...framing,
    ].join("\r\n");
    const parts = [`${head}\r\n\r\n`, ...pieces].map((part) =>
      typeof part === "string" ? encoder.encode(part) : part
    );
    if (pauseMs === 0) await write(joined(parts));
    else {
      for (const part of parts) {
        await write(part);
        await sleep(pauseMs);
      }
    }
    if (then === "closes its side") await connection.closeWrite();
  };
  // a server may answer, and close, before it has read everything
  const sent = send().catch(() => {});
  if (then === "leaves") {
    await sent;
    return undefined;
  }
  let text = "";
  try {
    const decoder = new TextDecoder("latin1");
    const buffer = new Uint8Array(65_536);
    while (!isWhole(text)) {
      const size = await withinBound(connection.read(buffer), bound);
      if (size === null) break;
      text += decoder.decode(buffer.subarray(0, size), { stream: true });
    }
  } catch (error) {
    if (bound.aborted || text === "" && !belowHttp) throw error;
  }
  const parts = partsOf(text);
  if (parts === undefined || belowHttp && parts.headers.get("content-length") === "0") {
    if (belowHttp) return undefined;
    throw new Error(`the connection was closed without an answer: ${JSON.stringify(text)}`);
  }
  const { status, headers, rest } = parts;
  return {
    status,
    headers,
    text: headers.get("transfer-encoding") === "chunked" ? unchunked(rest) : rest,
  };
}

/** A reply's status, headers and what stands behind them. */
function partsOf(text: string) {
  const [, status, head = "", rest = ""] =
    /^HTTP\/1\.1 (\d+)[^\r]*\r\n([\s\S]*?)\r\n\r\n([\s\S]*)$/.exec(text) ?? [];
  if (status === undefined) return undefined;
  const lines = head.split("\r\n").map((line) => line.split(/:\s*(.*)/, 2) as [string, string]);
  return { status: Number(status), headers: new Headers(lines), rest };
}

/** Whether the reply is whole; the server may leave its connection open behind it. */
function isWhole(text: string): boolean {
  const parts = partsOf(text);
  if (parts === undefined) return false;
  const length = parts.headers.get("content-length");
  return length === null ? parts.rest.endsWith("0\r\n\r\n") : parts.rest.length >= Number(length);
}

function joined(parts: readonly Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

async function withinBound<T>(work: Promise<T>, bound: AbortSignal): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  const late = () => reject(bound.reason);
  bound.addEventListener("abort", late, { once: true });
  try {
    return await Promise.race([work, promise]);
  } finally {
    bound.removeEventListener("abort", late);
    work.catch(() => {});
  }
}

function unchunked(text: string): string {
  let [whole, at] = ["", 0];
  while (true) {
    const end = text.indexOf("\r\n", at);
    const size = end < 0 ? NaN : parseInt(text.slice(at, end), 16);
    if (Number.isNaN(size)) throw new Error("the answer broke off");
    if (size === 0) return whole;
    whole += text.slice(end + 2, end + 2 + size);
    at = end + 2 + size + 2;
  }
}
