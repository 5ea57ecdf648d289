import {
  countedUsage,
  DIALECTS,
  type Front,
  type ReplyEvent,
  type Sealer,
} from "../../../wire/dialects/mod.ts";

/** Examples for `/openapi.json`, written by the dialect's own writer. */

const REQUEST_ID = "req_01a206c4a0b3APh4UYD8GrqynX5t";
const MODEL = "svc-k2";
const USAGE = countedUsage(6, 8);

const EVENTS: readonly ReplyEvent[] = [
  { type: "text", text: "Hello! How can I help?" },
  { type: "finish", finish: "stop", stopped: undefined },
];

const SEALER: Sealer = {
  seal: () => "sl1.DCVcd6_agcpCNLRTcdKmm1yZ06qMx8BaRdyX8YIId",
  open: () => undefined,
};

const { front } = DIALECTS.responses;

/** A request to an endpoint of the responses dialect, and its reply, whole and as a stream. */
function exampleOf({ path, parse }: Pick<Front, "path" | "parse">, body: object) {
  const written = () =>
    front.writer({
      request: parse(body, () => null, SEALER),
      written: {},
      id: front.replyId(REQUEST_ID),
      model: MODEL,
      source: { route: MODEL, upstream: "", model: MODEL },
      sealer: SEALER,
      inputTokens: USAGE.inputTokens,
      createdAtS: 1_795_409_879,
      fingerprint: "",
    });
  const stream = written();
  return {
    path,
    request: body,
    whole: written().whole(EVENTS)(USAGE),
    stream: EVENTS.map((event) => stream.write(event)).join("") + stream.close(USAGE),
  };
}

export const RESPONSE = exampleOf(front, { model: MODEL, input: "Hello" });

export const COMPACTION = exampleOf(front.further![0]!, {
  model: MODEL,
  input: [{ role: "user", content: "Hello" }],
});
