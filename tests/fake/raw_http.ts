import { DEADLINE_MS } from "./temp.ts";

/** An answer as it came over a connection of the test's own. */
export interface RawReply {
  readonly status: number;
  readonly headers: Headers;
  readonly body: string;
}

/** Opens a connection to a server. */
export async function connectTo(url: string): Promise<Deno.TcpConn> {
  const { hostname, port } = new URL(url);
  const connection = await Deno.connect({ hostname, port: Number(port) });
  connection.setNoDelay(true);
  return connection;
}

/** Writes all of it; answers whether the other end took it. */
export async function writeAll(connection: Deno.Conn, text: string | Uint8Array): Promise<boolean> {
  let bytes = typeof text === "string" ? new TextEncoder().encode(text) : text;
  try {
    while (bytes.length > 0) bytes = bytes.subarray(await connection.write(bytes));
    return true;
  } catch {
    return false; // it has answered and closed
  }
}

/**
 * Sends exactly these pieces, one write each, and reads the answer. Status 0: the connection ended, or
 * `withinMs` went by, without one.
 */
export async function exchange(
  url: string,
  pieces: readonly (string | Uint8Array)[],
  { pauseMs = 0, withinMs = DEADLINE_MS }: { pauseMs?: number; withinMs?: number } = {},
): Promise<RawReply> {
  const connection = await connectTo(url);
  let open = true;
  const close = () => {
    if (open) connection.close();
    open = false;
  };
  const timer = setTimeout(close, withinMs);
  const send = async () => {
    for (const piece of pieces) {
      if (!open || !await writeAll(connection, piece)) return;
      if (pauseMs > 0) await new Promise((resolve) => setTimeout(resolve, pauseMs));
    }
  };
  const sending = send();
  try {
    return await readReply(connection);
  } finally {
    clearTimeout(timer);
    close();
    await sending;
  }
}

/** Reads one answer off a connection: its head, and a body of declared length or in chunks. */
export async function readReply(connection: Deno.Conn): Promise<RawReply> {
  const buffer = new Uint8Array(65_536);
  let text = "";
  while (true) {
    const reply = parseReply(text);
    if (reply !== undefined) return reply;
    const size = await connection.read(buffer).catch(() => null);
    if (size === null) return { status: 0, headers: new Headers(), body: text };
    text += new TextDecoder("latin1").decode(buffer.subarray(0, size));
  }
}

function parseReply(text: string): RawReply | undefined {
  const end = text.indexOf("\r\n\r\n");
  if (end < 0) return undefined;
  const [first = "", ...lines] = text.slice(0, end).split("\r\n");
  const headers = new Headers(lines.map((line): [string, string] => {
    const colon = line.indexOf(":");
    return [line.slice(0, colon), line.slice(colon + 1).trim()];
  }));
  const rest = text.slice(end + 4);
  const status = Number(first.split(" ")[1]);
  const length = Number(headers.get("content-length") ?? 0);
  if (headers.get("transfer-encoding") !== "chunked") {
    return rest.length < length ? undefined : { status, headers, body: rest.slice(0, length) };
  }
  return rest.endsWith("0\r\n\r\n") ? { status, headers, body: rest } : undefined;
}

/** The head of a POST of JSON, to be followed by its body. */
export function postHead(
  path: string,
  { key, headers }: { key: string; headers: readonly string[] },
): string {
  return [
    `POST ${path} HTTP/1.1`,
    "host: localhost",
    `authorization: Bearer ${key}`,
    "content-type: application/json",
    ...headers,
    "\r\n",
  ].join("\r\n");
}
