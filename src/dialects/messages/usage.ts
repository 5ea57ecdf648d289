import { isObject, type JsonObject, type JsonValue } from "../json.ts";
import { firstCount, inner, type Usage } from "../usage.ts";

/** Usage as a messages client reads it: cached input stands beside the input, not in it. */
export function writeMessagesUsage(usage: Usage): JsonObject {
  return {
    input_tokens: usage.inputTokens - usage.cachedTokens - usage.cacheWrittenTokens,
    cache_creation_input_tokens: usage.cacheWrittenTokens,
    cache_read_input_tokens: usage.cachedTokens,
    output_tokens: usage.outputTokens,
    output_tokens_details: { thinking_tokens: usage.reasoningTokens },
  };
}

/**
 * What a messages upstream reports: input in the first event, in the last, or in both; the last wins.
 * Output counts from the last alone, as the first one's is only what was there at the beginning.
 */
export class MessagesUsage {
  #input: number | undefined;
  #written = 0;
  #read = 0;
  #output: number | undefined;
  #thinking = 0;

  /** Adds what a stream's first event reports. */
  begin(reported: JsonValue | undefined): void {
    if (!isObject(reported)) return;
    const { output_tokens: _, output_tokens_details: __, ...input } = reported;
    this.add(input);
  }

  add(reported: JsonValue | undefined): void {
    if (!isObject(reported)) return;
    this.#input = firstCount(reported.input_tokens) ?? this.#input;
    this.#written = firstCount(reported.cache_creation_input_tokens) ?? this.#written;
    this.#read = firstCount(reported.cache_read_input_tokens) ?? this.#read;
    this.#output = firstCount(reported.output_tokens) ?? this.#output;
    const details = inner(reported, "output_tokens_details");
    this.#thinking = firstCount(details.thinking_tokens) ?? this.#thinking;
  }

  /** In our meaning; undefined until both input and output were reported. */
  get usage(): Usage | undefined {
    if (this.#input === undefined || this.#output === undefined) return undefined;
    return {
      inputTokens: this.#input + this.#written + this.#read,
      cachedTokens: this.#read,
      cacheWrittenTokens: this.#written,
      outputTokens: this.#output,
      reasoningTokens: Math.min(this.#thinking, this.#output),
    };
  }
}
