import { RawWebSocket } from "../fake/raw_websocket.ts";
import { DEADLINE_MS, inTime } from "../fake/temp.ts";
import type { Json, Target } from "./target.ts";

const ENDS = /^(error|response\.(completed|incomplete|failed))$/;

/** A WebSocket over which responses are created. */
export interface Socket extends AsyncDisposable {
  /** Sends a request, and reads the frames up to the end of its turn. */
  turn(request: Record<string, unknown>): Promise<Json[]>;
}

/** A platform whose WebSockets can be given headers: Deno 2.5 and later. */
const WithHeaders = WebSocket as unknown as new (
  url: string,
  options: { headers: Record<string, string> },
) => WebSocket;

/** Connects to `GET /v1/responses`. */
export async function connect({ base, key, headers: always = {} }: Target): Promise<Socket> {
  const url = `${base.replace(/^http/, "ws")}/v1/responses`;
  const headers = { authorization: `Bearer ${key}`, ...always };
  let socket: WebSocket;
  try {
    socket = new WithHeaders(url, { headers });
  } catch {
    const raw = await RawWebSocket.connect(url, headers);
    const { status } = raw.handshake;
    if (status === 101) return raw;
    raw.drop();
    throw new Error(`no WebSocket: status ${status}`);
  }
  const frames: Json[] = [];
  let wake = () => {};
  let ended: string | undefined;
  socket.onmessage = ({ data }) => {
    frames.push(typeof data === "string" ? parsed(data) : "a binary frame");
    wake();
  };
  socket.onerror = (event) => {
    ended ??= event instanceof ErrorEvent ? event.message : "it failed";
    wake();
  };
  const closed = new Promise<void>((resolve) => {
    socket.onclose = ({ reason }) => {
      ended ??= `it was closed ${reason}`;
      wake();
      resolve();
    };
  });
  await new Promise<void>((resolve) => {
    socket.onopen = () => resolve();
    wake = resolve;
  });
  if (ended !== undefined) throw new Error(`no WebSocket: ${ended}`);
  return {
    async turn(request) {
      frames.length = 0;
      socket.send(JSON.stringify({ type: "response.create", ...request }));
      const isOver = () => ended !== undefined || ENDS.test(String(frames.at(-1)?.type));
      const over = new Promise<true>((resolve) => wake = () => void (isOver() && resolve(true)));
      wake();
      if (!await inTime(over, DEADLINE_MS, false)) throw new Error("a turn did not end in time");
      return [...frames];
    },
    async [Symbol.asyncDispose]() {
      socket.close();
      await inTime(closed, DEADLINE_MS, undefined);
    },
  };
}

/** A frame is JSON and nothing else: no `data:` before it. */
function parsed(text: string): Json {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
