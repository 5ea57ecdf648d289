import * as z from "zod";
import { Refusal } from "../../ground/refusal.ts";
import {
  DIALECT_NAMES,
  DIALECTS,
  EFFORTS,
  EMPTY_CONVERSATION,
  type JsonObject,
  type Part,
  type Tool,
  type Turn,
} from "../../wire/dialects/mod.ts";

/** The tool that can be offered. */
const TOOL: Tool = {
  name: "get_weather",
  description: "The weather at a place",
  schema: { type: "object", properties: { place: { type: "string" } }, required: ["place"] },
  strict: false,
};

const sent = {
  /** What the user wrote: the result of the calls before, if there are some. */
  text: z.string(),
  /** A data URL. */
  picture: z.string().optional(),
};

const played = z.object({
  dialect: z.enum(DIALECT_NAMES),
  model: z.string(),
  stream: z.boolean(),
  system: z.string(),
  /** Exchanges before this one. */
  turns: z.array(z.object({
    ...sent,
    reply: z.string(),
    calls: z.array(z.object({ id: z.string(), name: z.string(), args: z.string() })),
  })),
  last: z.object(sent),
  maxTokens: z.number(),
  temperature: z.number().optional(),
  effort: z.enum(EFFORTS).optional(),
  offersTool: z.boolean(),
});

/** What the playground asks of a model. */
export type Played = z.input<typeof played>;

/**
 * Writes a request of the playground in its dialect, as the gateway writes it for upstreams.
 *
 * @param text JSON of a {@linkcode Played}, as a browser sent it.
 * @returns The body; undefined if the text is none, or nothing is left to be sent.
 */
export function playgroundBody(text: string): JsonObject | undefined {
  try {
    return written(played.parse(JSON.parse(text)));
  } catch (error) {
    if ([SyntaxError, z.ZodError, Refusal].some((kind) => error instanceof kind)) return undefined;
    throw error;
  }
}

function written(data: z.output<typeof played>): JsonObject {
  const { dialect, model, stream, system, turns, last, maxTokens, temperature, effort } = data;
  const { front: { fields }, back } = DIALECTS[dialect];
  const conversation = {
    ...EMPTY_CONVERSATION,
    instructions: system,
    turns: [
      ...turns.flatMap((turn, at): Turn[] => [
        ...sentIn(turn, turns[at - 1]?.calls),
        { role: "assistant", reasoning: "", text: turn.reply, calls: turn.calls },
      ]),
      ...sentIn(last, turns.at(-1)?.calls),
    ],
    tools: data.offersTool ? [TOOL] : [],
    temperature,
    reasoning: effort === undefined ? {} : { effort },
  };
  return back.write(conversation, {
    model,
    upstream: "",
    permittedOutput: maxTokens,
    shaping: { ownSampling: true },
    stream,
    fields,
  }).body;
}

function sentIn(
  { text, picture }: Played["last"],
  calls: readonly { readonly id: string }[] = [],
): Turn[] {
  const parts: Part[] = [{ type: "text", text }];
  if (calls.length > 0) {
    return calls.map(({ id }) => ({ role: "tool", callId: id, parts, failed: false }));
  }
  if (picture !== undefined) parts.push({ type: "image", url: picture });
  return [{ role: "user", parts }];
}
