import type { Reply, ReplyContext, WholeOfStream } from "../../dialect.ts";
import { isObject, type JsonObject, objects } from "../../json.ts";
import type { SseEvent } from "../../sse/mod.ts";
import { brokenOff } from "../../upstream_error.ts";
import { CarriedCustom } from "./carried_custom.ts";
import { responseEnd, withStatuses } from "./carried_item.ts";
import { CarriedOutput } from "./carried_output.ts";
import { isEnd, parseResponsesEvent } from "../upstream/read_reply.ts";
import { sentBody } from "../reply/response_object.ts";

/** The events of a responses stream as the response that they say, also where its end leaves out its items. */
export class EventsAsWhole implements WholeOfStream {
  readonly #carry: (body: JsonObject) => Reply;
  readonly #output: CarriedOutput;
  readonly #custom: CarriedCustom;
  #response: JsonObject | undefined;

  /** @param carry Makes a reply of a response. */
  constructor(
    { id, request }: Pick<ReplyContext, "id" | "request">,
    carry: (body: JsonObject) => Reply,
  ) {
    this.#carry = carry;
    this.#custom = new CarriedCustom(sentBody(request));
    this.#output = new CarriedOutput({
      idPart: id.replace(/^resp_/, ""),
      write: () => "",
      seal: (item) => item,
      show: (item) => item,
    });
  }

  get done(): boolean {
    return this.#response !== undefined;
  }

  push({ data }: SseEvent): void {
    const event = parseResponsesEvent(data);
    if (!isEnd(event.type)) {
      const step = this.#output.walk.step(this.#custom.event(event));
      if (step?.kind.isCarried) this.#output.event(step);
      return;
    }
    const response = isObject(event.response) ? event.response : {};
    const status = responseEnd(event);
    const output = withStatuses(this.#custom.output(objects(response.output)));
    this.#output.finish(this.#output.walk.match(output), status);
    this.#response = { ...response, status };
  }

  reply(): Reply {
    if (this.#response === undefined) throw brokenOff();
    return this.#carry({ ...this.#response, output: this.#output.items });
  }
}
