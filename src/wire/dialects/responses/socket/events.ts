import { isObject, items, type JsonObject, text } from "../../json.ts";
import { keptItem } from "../items.ts";

/** Events that hold the whole response. */
const WHOLE = /^event: response\.(created|in_progress|completed|incomplete|failed)$/m;
const DATA = "data: ";

/** How a turn ended. */
export interface EndedTurn {
  /** The response's ID. */
  readonly id: string;
  /** Whether it can be continued. */
  readonly isComplete: boolean;
  /** Its output items as comma-separated JSON, in UTF-8. */
  readonly items: Uint8Array;
}

/** Turns the event stream of a response into frames: one event each, as JSON. */
export class TurnEvents {
  readonly #decoder = new TextDecoder();
  readonly #previousId: string | undefined;
  readonly #streamId: string | undefined;
  #rest = "";
  /** How the response ended, once it has. */
  ended: EndedTurn | undefined;

  /**
   * @param previousId The response that this one continues.
   * @param streamId What the client calls its line of turns: each frame says it.
   */
  constructor(previousId: string | undefined, streamId?: string) {
    this.#previousId = previousId;
    this.#streamId = streamId;
  }

  /** Takes the next bytes of the stream. Its lines are the writer's own. @returns Frames. */
  push(bytes: Uint8Array): string[] {
    const events = (this.#rest + this.#decoder.decode(bytes, { stream: true })).split("\n\n");
    this.#rest = events.pop()!;
    return events.flatMap((event) => {
      const at = event.startsWith(DATA) ? 0 : event.indexOf(`\n${DATA}`) + 1;
      const data = event.startsWith(DATA, at) ? event.slice(at + DATA.length) : "";
      if (data === "" || data === "[DONE]") return [];
      const frame = WHOLE.test(event.slice(0, at)) ? this.#whole(data) : data;
      return [withStreamId(frame, this.#streamId)];
    });
  }

  #whole(data: string): string {
    const event: unknown = JSON.parse(data);
    if (!isObject(event) || !isObject(event.response)) return data;
    const { response } = event;
    const status = text(response.status);
    if (status !== "in_progress" && status !== "queued") this.ended = endOf(response, status);
    if (this.#previousId === undefined) return data;
    return JSON.stringify({
      ...event,
      response: { ...response, previous_response_id: this.#previousId },
    });
  }
}

/** A frame, which is a JSON object, with the client's name of its line of turns. */
function withStreamId(frame: string, streamId: string | undefined): string {
  return streamId === undefined
    ? frame
    : `${frame.slice(0, -1)},"stream_id":${JSON.stringify(streamId)}}`;
}

function endOf(response: JsonObject, status: string | undefined): EndedTurn {
  const output = items(response.output).map((item) =>
    JSON.stringify(isObject(item) ? keptItem(item) : item)
  )
    .join(",");
  return {
    id: text(response.id) ?? "",
    isComplete: status === "completed" || status === "incomplete",
    items: new TextEncoder().encode(output),
  };
}

/** Error codes that only a connection has. */
export type ConnectionFault = "previous_response_not_found" | "websocket_connection_limit_reached";

/** What an error frame tells. */
export interface TurnFault {
  readonly status: number;
  readonly error: JsonObject;
  /** Headers that the error would have as a response. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

/** A frame that tells of an error: no response, or none any more. @param streamId Of the turn that it is about. */
export function errorFrame({ status, error, headers }: TurnFault, streamId?: string): string {
  const frame = { type: "error", status, error, ...(headers && { headers }) };
  return withStreamId(JSON.stringify(frame), streamId);
}

/** The error of a connection. */
export function connectionFault(
  code: ConnectionFault,
  message: string,
  param: string | null = null,
): TurnFault {
  return { status: 400, error: { type: "invalid_request_error", code, message, param } };
}
