import type { JsonObject } from "../../../src/wire/dialects/mod.ts";
import type { Random } from "../../fake/random.ts";
import { sleep } from "../../fake/temp.ts";
import { chunk, type Received, sse } from "../../fake/upstream.ts";
import { eventsFor, linesOf, responseOf } from "../../wire/dialects/responses_streams.ts";
import type { DialectName, Exchange, Plan, ReportedUsage } from "./plan.ts";
import { countTokens, randomWords } from "./words.ts";

/** What an upstream replies to a request of a plan; what it received and reported is added to the plan. */
export async function lyingReply(
  plan: Plan,
  { received: { body, raw }, to, random, context }: {
    received: Received;
    to: DialectName;
    random: Random;
    /** Context window of the route, in tokens. */
    context: number;
  },
): Promise<Response> {
  const limit = Number(body.max_tokens ?? body.max_completion_tokens ?? body.max_output_tokens);
  const exchange: Exchange = {
    input: countTokens(raw) + plan.documentTokens,
    limit: limit * Number(body.n ?? 1),
    reported: undefined,
  };
  plan.exchanges.push(exchange);
  if (plan.delayMs > 0) await sleep(plan.delayMs);
  if (plan.lie === "failing") return new Response("{}", { status: 503 });
  // a whole reply is not bounded by the limit yet: overlong_reply_test.ts
  const overshoots = plan.lie === "overshooting" && plan.stream;
  const words = overshoots ? 3 * limit + 100 : Math.min(limit, plan.replyWords);
  const text = randomWords(random, words);
  const usage = reportedUsage(plan, { exchange, output: countTokens(text), context });
  const reply = { text, usage: usage && inDialect[to](usage) };
  return body.stream === true ? streamed(plan, to, reply) : whole[to](reply);
}

/** A reply's text, and its usage in the words of its dialect. */
interface Reply {
  readonly text: string;
  readonly usage: JsonObject | undefined;
}

/** What an upstream reports; the report that is to be believed is noted in the exchange. */
function reportedUsage(
  { lie }: Plan,
  { exchange, output, context }: { exchange: Exchange; output: number; context: number },
): ReportedUsage | undefined {
  const { input } = exchange;
  switch (lie) {
    case "silent":
    case "overshooting":
      return undefined;
    case "zero":
      return exchange.reported = { input: 0, output: 0 };
    case "low":
      return exchange.reported = { input: Math.ceil(input / 10), output: 1 };
    case "absurd":
      return { input: 3 * context, output: 1e9 };
    default:
      return exchange.reported = { input, output };
  }
}

const inDialect = {
  chat: ({ input, output }: ReportedUsage) => ({
    prompt_tokens: input,
    completion_tokens: output,
    total_tokens: 1,
  }),
  messages: ({ input, output }: ReportedUsage) => ({ input_tokens: input, output_tokens: output }),
  responses: ({ input, output }: ReportedUsage) => ({
    input_tokens: input,
    output_tokens: output,
    total_tokens: input + output,
  }),
};

const whole = {
  responses: ({ text, usage }: Reply) =>
    Response.json(responseOf([{ text: [text] }], { usage: usage ?? null })),
  chat: ({ text, usage }: Reply) =>
    Response.json({
      choices: [{
        index: 0,
        message: { role: "assistant", content: text },
        finish_reason: "stop",
      }],
      ...(usage && { usage }),
    }),
  messages: ({ text, usage }: Reply) =>
    Response.json({
      type: "message",
      role: "assistant",
      content: [{ type: "text", text }],
      stop_reason: "end_turn",
      ...(usage && { usage }),
    }),
};

function streamed(plan: Plan, to: DialectName, reply: Reply): Response {
  const { opening, deltas, finish, end } = events[to](plan, reply);
  let pieces = [...opening, ...deltas, ...finish];
  if (plan.lie === "breaking") pieces = [...opening, ...deltas.slice(0, deltas.length / 2)];
  else if (plan.lie === "garbled tail") pieces.push("data: nonsense\n\n");
  else if (plan.lie !== "broken tail") pieces.push(end);
  const pauses = plan.lie === "stalling" || plan.manner.startsWith("disconnects");
  return eventStream(pieces, pauses);
}

/** An event stream that may pause on the way; without pauses as fast as it is read. */
function eventStream(pieces: readonly string[], pauses: boolean): Response {
  const encoder = new TextEncoder();
  let at = 0;
  const stream = new ReadableStream<Uint8Array>({
    async pull(controller) {
      if (pauses && at % 5 === 4) await sleep(5);
      const piece = pieces[at++];
      if (piece === undefined) controller.close();
      else controller.enqueue(encoder.encode(piece));
    },
  }, { highWaterMark: 0 });
  return new Response(stream, { headers: { "content-type": "text/event-stream" } });
}

/** The text in pieces of seven words. */
const piecesOf = (text: string) => text.match(/(\S+\s*){1,7}/g) ?? [];

const event = (type: string, more: JsonObject) =>
  `event: ${type}\ndata: ${JSON.stringify({ type, ...more })}\n\n`;

const events = {
  responses: ({ delta, place }: Plan, { text, usage }: Reply) => {
    const all = eventsFor([{ text: [] }, { reasoning: ["x"] }], { usage: usage ?? null });
    const added = all.filter(({ type }) => type === "response.output_item.added");
    const isReasoning = place === "reasoning";
    const begun = [all[0]!, ...added.slice(0, isReasoning ? 2 : 1)].map((one) => linesOf([one]));
    return {
      opening: begun,
      deltas: piecesOf(text).map((piece) => {
        const { type, ...more } = delta(piece);
        return event(String(type), { item_id: "msg_0", output_index: 0, ...more });
      }),
      // the last event says why it ended, too
      finish: [linesOf([{
        type: "response.completed",
        response: responseOf([], { usage: usage ?? null }),
      }])],
      end: sse("[DONE]"),
    };
  },
  chat: ({ delta }: Plan, { text, usage }: Reply) => ({
    opening: [],
    deltas: piecesOf(text).map((piece) => sse(chunk(delta(piece)))),
    finish: [sse(chunk({}, "stop", usage && { usage }))],
    end: sse("[DONE]"),
  }),
  messages: ({ delta, place }: Plan, { text, usage }: Reply) => ({
    opening: [
      event("message_start", { message: { id: "m", role: "assistant", content: [] } }),
      event("content_block_start", {
        index: 0,
        content_block: place === "thinking"
          ? { type: "thinking", thinking: "" }
          : { type: "text", text: "" },
      }),
    ],
    deltas: piecesOf(text).map((piece) =>
      event("content_block_delta", { index: 0, delta: delta(piece) })
    ),
    finish: [
      event("content_block_stop", { index: 0 }),
      event("message_delta", {
        delta: { stop_reason: "end_turn" },
        ...(usage && { usage }),
      }),
    ],
    end: event("message_stop", {}),
  }),
};
