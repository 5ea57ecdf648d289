import { Refusal } from "../../refusal.ts";
import { Meter } from "../meter.ts";
import type {
  Answer,
  AnswerNames,
  Asked,
  Bridge,
  BridgedRequest,
  RequestOptions,
} from "../bridge.ts";
import { ChatEvents } from "../chat/events.ts";
import { chatFromNeutral } from "../chat/from_neutral.ts";
import { CHAT_DEFAULTS } from "../chat/schema.ts";
import { longNames } from "../chat/tool_names.ts";
import { upstreamFault } from "../chat/upstream_error.ts";
import { readChatUsage } from "../chat/usage.ts";
import { isObject, type JsonObject, objects, withoutFields } from "../json.ts";
import { type AnswerEvent, countEvent, parseArgs } from "../neutral.ts";
import { TranslatedStream } from "../translated_stream.ts";
import type { Usage } from "../usage.ts";
import { MessagesEncoder, SIGNATURE, stopReason } from "./encoder.ts";
import { CallIds } from "./call_ids.ts";
import { MESSAGES_DEFAULTS } from "./schema.ts";
import { toNeutral } from "./to_neutral.ts";
import { writeMessagesUsage } from "./usage.ts";

/** Messages in front, chat behind: translated through the neutral form. */
export const messagesOverChat: Bridge = {
  path: "/chat/completions",
  singleAnswer: true,
  request: translateRequest,
  answer: translateAnswer,
  stream: (asked, names) =>
    new TranslatedStream(
      new ChatEvents(longNames(asked.body.tools)),
      new MessagesEncoder(names, names.inputTokens, new CallIds(asked.body)),
    ),
};

function translateRequest(
  asked: Asked,
  { model, permittedOutput, shaping }: RequestOptions,
): BridgedRequest {
  const { body, ignored } = chatFromNeutral(toNeutral(asked), shaping);
  const limit = shaping.outputLimit ?? "max_tokens";
  const sent: JsonObject = { model, ...body, [limit]: permittedOutput };
  let dropped: string[] = [];
  if (shaping.fixedSampling) dropped = withoutFields(sent, ["temperature", "top_p", "top_k"]);
  else if (!shaping.ownSampling) {
    sent.temperature ??= MESSAGES_DEFAULTS.temperature;
    sent.top_p ??= CHAT_DEFAULTS.top_p;
  }
  dropped.push(...lostReasoning(asked));
  const { thinking, effort } = asked.reasoning ?? {};
  if (thinking !== undefined) sent.thinking = { type: thinking ? "enabled" : "disabled" };
  if (effort !== undefined) sent.reasoning_effort = effort;
  if (asked.stream) {
    sent.stream = true;
    sent.stream_options = { include_usage: true };
  }
  return { body: sent, ignored: [...ignored, ...dropped] };
}

/** What a body says of reasoning and answers beyond what the route and the other dialect know. */
function lostReasoning({ body, reasoning }: Asked): string[] {
  const config = isObject(body.output_config) ? body.output_config : {};
  const lost = Object.keys(config).filter((name) =>
    name !== "format" && !(name === "effort" && reasoning?.effort !== undefined)
  ).map((name) => `output_config.${name}`);
  const budget = isObject(body.thinking) && body.thinking.budget_tokens !== undefined;
  return budget ? [...lost, "thinking.budget_tokens"] : lost;
}

function translateAnswer(reply: unknown, asked: Asked, names: AnswerNames): Answer {
  const choice = isObject(reply) ? objects(reply.choices)[0] : undefined;
  if (!isObject(reply) || choice === undefined || !isObject(choice.message)) {
    if (isObject(reply) && isObject(reply.error)) throw upstreamFault(reply.error);
    throw new Refusal("upstream_unavailable", "The upstream's answer is not a chat completion.");
  }
  // A whole reply is a stream of one chunk: the same reading serves both.
  const events = new ChatEvents(longNames(asked.body.tools)).read(
    JSON.stringify({ choices: [{ ...choice, index: 0 }] }),
  );
  const content = contentOf(events, names, new CallIds(asked.body));
  const finish = events.find((event) => event.type === "finish");
  const called = content.some(({ type }) => type === "tool_use");
  const stopped = finish?.stopped !== undefined && !called;
  const withUsage = (usage: Usage): JsonObject => ({
    id: names.id,
    type: "message",
    role: "assistant",
    model: names.model,
    content,
    stop_reason: stopReason(finish?.finish ?? "stop", { called, stopped }),
    stop_sequence: stopped ? finish!.stopped! : null,
    usage: writeMessagesUsage(usage),
  });
  const usage = readChatUsage(reply.usage) ?? readChatUsage(choice.usage);
  return {
    choices: 1,
    usage,
    body: usage === undefined ? {} : withUsage(usage),
    withUsage,
    countOutput() {
      const meter = new Meter();
      for (const event of events) countEvent(meter, event);
      return meter.tokens;
    },
  };
}

function contentOf(
  events: readonly AnswerEvent[],
  names: AnswerNames,
  ids: CallIds,
): JsonObject[] {
  const content: JsonObject[] = [];
  for (const event of events) {
    if (event.type === "reasoning") {
      content.push({ type: "thinking", thinking: event.text, signature: SIGNATURE });
    } else if (event.type === "text") {
      content.push({ type: "text", text: event.text });
    } else if (event.type === "call" && event.name !== undefined) {
      const input = parseArgs(event.args);
      if (input === undefined) {
        const message =
          "The upstream called a tool with arguments that are not JSON. Please try again.";
        throw new Refusal("upstream_unavailable", message);
      }
      const id = event.id ?? `toolu_${names.id.replace(/^msg_/, "")}_${content.length}`;
      content.push({ type: "tool_use", id: ids.own(id), name: event.name, input });
    }
  }
  return content;
}
