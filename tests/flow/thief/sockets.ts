import type { JsonObject } from "../../../src/wire/dialects/mod.ts";
import type { TestGateway } from "../../fake/gateway.ts";
import type { Random } from "../../fake/random.ts";
import { RawWebSocket } from "../../fake/raw_websocket.ts";

/** A connection without a turn, and the response that its next turn may continue. */
interface Idle {
  readonly socket: RawWebSocket;
  readonly previousId: string | undefined;
}

/** How a request is sent over a WebSocket. */
export interface SocketRequest {
  readonly key: string;
  readonly signal: AbortSignal;
  /** Whether later turns may continue it. */
  readonly canContinue: boolean;
}

/** Part of the turns that continue the one before them. */
const CONTINUED = 0.5;

/** Sends streamed requests as turns of WebSockets, which are used again; their frames are the events of the responses. */
export class Sockets implements AsyncDisposable {
  readonly #random: Random;
  /** By gateway and key. */
  readonly #idle = new Map<string, Idle>();

  constructor(random: Random) {
    this.#random = random;
  }

  /** @returns The response, as if it had been asked for without a WebSocket. Rejects if the connection is closed before it. */
  async post(
    { url }: TestGateway,
    body: JsonObject,
    { key, signal, canContinue }: SocketRequest,
  ): Promise<Response> {
    const place = `${url} ${key}`;
    const idle = this.#idle.get(place);
    this.#idle.delete(place);
    const socket = idle?.socket ?? await RawWebSocket.connect(`${url}/v1/responses`, {
      authorization: `Bearer ${key}`,
    });
    const { status, body: refused } = socket.handshake;
    if (status !== 101) {
      socket.drop();
      return new Response(refused, { status });
    }
    const leave = () => socket.drop();
    signal.addEventListener("abort", leave, { once: true });
    if (signal.aborted) leave();
    const isContinued = idle?.previousId !== undefined && this.#random.next() < CONTINUED;
    await socket.send({
      type: "response.create",
      ...body,
      ...(isContinued ? { previous_response_id: idle.previousId } : {}),
    });
    const first = await socket.next();
    if (first === undefined) throw new Error("the connection was closed before the response");
    const keep = (previousId: string | undefined) => {
      signal.removeEventListener("abort", leave);
      if (this.#idle.has(place)) socket.drop();
      else this.#idle.set(place, { socket, previousId: canContinue ? previousId : undefined });
    };
    if (first.type === "error") {
      keep(undefined);
      return Response.json(first, { status: Number(first.status) });
    }
    const id = String((first.response as JsonObject).id);
    return new Response(eventsOf(socket, first, { leave, ended: () => keep(id) }), {
      headers: { "request-id": id.replace(/^resp_/, "req_") },
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const { socket } of this.#idle.values()) await socket[Symbol.asyncDispose]();
  }
}

type Frame = Record<string, unknown>;

/** The frames of a turn as an event stream. */
function eventsOf(
  socket: RawWebSocket,
  first: Frame,
  { leave, ended }: { leave: () => void; ended: () => void },
): ReadableStream<Uint8Array> {
  let next: Frame | undefined = first;
  return new ReadableStream<string>({
    async pull(controller) {
      const frame = next ?? await socket.next();
      next = undefined;
      if (frame === undefined) throw new Error("the connection was closed in a response");
      controller.enqueue(`event: ${frame.type}\ndata: ${JSON.stringify(frame)}\n\n`);
      if (!/^(error|response\.(completed|incomplete|failed))$/.test(String(frame.type))) return;
      controller.close();
      ended();
    },
    cancel: leave,
  }, { highWaterMark: 0 }).pipeThrough(new TextEncoderStream());
}
