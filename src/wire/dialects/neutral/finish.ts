import { entryOf, type JsonValue } from "../json.ts";
import type { Finish } from "./conversation.ts";
import { upstreamFault } from "../upstream_error.ts";

/** Reasons that chat documents. `tool_calls` without a call is a plain stop. */
const FINISHES: Readonly<Record<string, Finish>> = {
  stop: "stop",
  length: "length",
  tool_calls: "tools",
  function_call: "tools",
  content_filter: "filtered",
};

/**
 * What other names of reasons say, the first that fits: they are of other dialects, of Gemini, Bedrock, watsonx, Cohere, Mistral, DeepSeek,
 * GLM, LM Studio and of relays. A call that the service could not read (`MALFORMED_FUNCTION_CALL`) is a failure: there is none to run.
 */
const OTHER_FINISHES: readonly (readonly [RegExp, string])[] = [
  [
    /error|fail|abort|cancel|interrupt|insufficient|unavailable|overload|timeout|not_finished|quota|rate_?limit/,
    "error",
  ],
  [/malformed|unexpected|too_many|missing|unloaded/, "error"],
  [/max|length|window|limit|truncat/, "length"],
  [/tool|function/, "tool_calls"],
  [
    /safety|recitation|block|prohibited|spii|sensitive|refus|filter|policy|language|guardrail|moderat/,
    "content_filter",
  ],
];

/**
 * A finish reason that chat documents: SDKs type it, and agents compare it. An empty one is none. `error` (OpenRouter) is a failure, as is
 * what other services call theirs; a name that says nothing of the above is an ordinary end.
 */
export function documentedFinish(reason: JsonValue | undefined): JsonValue | undefined {
  if (typeof reason !== "string") return reason;
  if (reason === "") return null;
  const plain = reason.toLowerCase();
  if (Object.hasOwn(FINISHES, plain)) return plain;
  return OTHER_FINISHES.find(([words]) => words.test(plain))?.[1] ?? "stop";
}

/** Why a reply ended, by a documented reason. */
export function finishOf(documented: JsonValue | undefined): Finish {
  return entryOf(FINISHES, String(documented)) ?? "stop";
}

/** @throws {Refusal} for a reason that is a failure, as for a reported error of this code: some upstreams say so there only. */
export function checkFinish(reason: JsonValue | undefined): void {
  if (documentedFinish(reason) === "error") throw upstreamFault({ code: String(reason) });
}
