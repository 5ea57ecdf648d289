import { invalid, Refusal } from "../../refusal.ts";
import { Meter } from "../meter.ts";
import type {
  Answer,
  AnswerNames,
  Asked,
  Bridge,
  BridgedRequest,
  RequestOptions,
} from "../bridge.ts";
import { isObject, items, type JsonObject, objects, withoutFields } from "../json.ts";
import { finishOf, MessagesEvents } from "../messages/events.ts";
import { isSequence, messagesFromNeutral } from "../messages/from_neutral.ts";
import { LEAST_BUDGET } from "../messages/schema.ts";
import { MessagesUsage } from "../messages/usage.ts";
import { type AnswerEvent, countEvent } from "../neutral.ts";
import { TranslatedStream } from "../translated_stream.ts";
import type { Usage } from "../usage.ts";
import { ChatEncoder, finishReason } from "./encoder.ts";
import { CHAT_DEFAULTS } from "./schema.ts";
import { chatToNeutral } from "./to_neutral.ts";
import { upstreamFault } from "./upstream_error.ts";
import { writeChatUsage } from "./usage.ts";

/** Chat in front, messages behind: translated through the neutral form. */
export const chatOverMessages: Bridge = {
  path: "/messages",
  singleAnswer: true,
  request: translateRequest,
  answer: translateAnswer,
  stream: (asked, names) => new TranslatedStream(new MessagesEvents(), encoderFor(asked, names)),
};

const DISABLED: JsonObject = { type: "disabled" };

/** Tokens that thinking may take when it is switched on without saying how many. */
const THINKING_BUDGET = 16_000;

function translateRequest(
  asked: Asked,
  { model, permittedOutput, shaping }: RequestOptions,
): BridgedRequest {
  const conversation = chatToNeutral(asked);
  const written = messagesFromNeutral(conversation, { signed: shaping.signedReasoning ?? false });
  const sent: JsonObject = { model, ...written, max_tokens: permittedOutput };
  let thinking = thinkingOf(asked.body, permittedOutput);
  if (typeof asked.body.reasoning_effort === "string") {
    const config = isObject(sent.output_config) ? sent.output_config : {};
    sent.output_config = { ...config, effort: asked.body.reasoning_effort };
    // there an effort alone says how much is written, not that it reasons
    if (shaping.signedReasoning) thinking ??= { type: "adaptive" };
  }
  if (thinking !== undefined) sent.thinking = thinking;
  let dropped: string[] = [];
  if (shaping.fixedSampling || (thinking ?? DISABLED).type !== "disabled") {
    dropped = withoutFields(sent, ["temperature", "top_p", "top_k"]);
  } else if (!shaping.ownSampling) {
    sent.temperature ??= CHAT_DEFAULTS.temperature;
  }
  if (thinking === undefined && isObject(asked.body.thinking)) dropped.push("thinking");
  if (!conversation.stop.every(isSequence)) dropped.push("stop");
  if (items(sent.messages).length === 0) {
    throw invalid("messages", "messages must hold something that a user or an assistant says.");
  }
  if (asked.stream) sent.stream = true;
  return { body: sent, ignored: [...conversation.ignored, ...dropped] };
}

function thinkingOf({ thinking }: JsonObject, permittedOutput: number): JsonObject | undefined {
  if (!isObject(thinking)) return undefined;
  if (thinking.type !== "enabled") return DISABLED;
  const budget = Math.min(THINKING_BUDGET, permittedOutput - 1);
  return budget < LEAST_BUDGET ? undefined : { type: "enabled", budget_tokens: budget };
}

function translateAnswer(reply: unknown, _asked: Asked, names: AnswerNames): Answer {
  if (!isObject(reply) || !Array.isArray(reply.content)) {
    if (isObject(reply) && isObject(reply.error)) throw upstreamFault(reply.error);
    throw new Refusal("upstream_unavailable", "The upstream's answer is not a message.");
  }
  const reader = new MessagesEvents();
  const events = objects(reply.content).flatMap((
    block,
    at,
  ) => [...reader.begin(at, block), ...reader.end(at)]);
  const [finish] = finishOf(reply);
  const message = messageOf(events);
  const reason = finishReason(
    finish?.type === "finish" ? finish.finish : "stop",
    message.tool_calls !== undefined,
  );
  const reported = new MessagesUsage();
  reported.add(reply.usage);
  const withUsage = (usage: Usage): JsonObject => ({
    id: names.id,
    object: "chat.completion",
    created: Math.floor(Date.now() / 1_000),
    model: names.model,
    choices: [{ index: names.choice ?? 0, message, logprobs: null, finish_reason: reason }],
    usage: writeChatUsage(usage),
  });
  return {
    choices: 1,
    usage: reported.usage,
    body: reported.usage === undefined ? {} : withUsage(reported.usage),
    withUsage,
    countOutput() {
      const meter = new Meter();
      for (const event of events) countEvent(meter, event);
      return meter.tokens;
    },
  };
}

function messageOf(events: readonly AnswerEvent[]): JsonObject {
  const joined = (type: "text" | "reasoning") =>
    events.map((event) => (event.type === type ? event.text : "")).join("");
  const calls: JsonObject[] = [];
  for (const event of events) {
    if (event.type !== "call") continue;
    if (event.name !== undefined) {
      calls.push({ id: event.id, type: "function", function: { name: event.name, arguments: "" } });
    } else if (isObject(calls.at(-1)?.function)) {
      const own = calls.at(-1)!.function as JsonObject;
      own.arguments = `${own.arguments}${event.args}`;
    }
  }
  const [text, reasoning] = [joined("text"), joined("reasoning")];
  return {
    role: "assistant",
    content: text === "" && calls.length > 0 ? null : text,
    refusal: null,
    ...(reasoning === "" ? {} : { reasoning_content: reasoning }),
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
  };
}

function encoderFor({ body }: Asked, names: AnswerNames): ChatEncoder {
  const options = body.stream_options;
  return new ChatEncoder(names, {
    wantsUsage: isObject(options) && options.include_usage === true,
    created: Math.floor(Date.now() / 1_000),
  });
}
