import type { DialectName } from "../dialects/mod.ts";

/**
 * What becomes of a field of a request:
 *
 * - `counted`: its text, keys and numbers count as input.
 * - `harmless`: it changes nothing of what a token costs.
 * - `own`: the gateway writes it, reads it or leaves it out.
 * - `tier`, `region`, `cache`, `tools`, `hosted`: it may cost more. It goes on as far as the route allows it.
 * - `priced`: it may cost more in a way that the gateway cannot tell. It goes on if the route lists it.
 * - `kept`: it names something that is kept with the upstream's provider for the operator.
 */
export type Treatment =
  | "counted"
  | "harmless"
  | "own"
  | "tier"
  | "region"
  | "cache"
  | "tools"
  | "hosted"
  | "priced"
  | "kept";

function fields(table: Partial<Record<Treatment, string>>): Readonly<Record<string, Treatment>> {
  return Object.fromEntries(
    Object.entries(table).flatMap(([treatment, names]) =>
      names.split(" ").map((name) => [name, treatment as Treatment])
    ),
  );
}

/**
 * Fields of vendors that call further models, searches or choices, each at a price of its own. LiteLLM takes a router's settings from a
 * request: other models, where they are and what follows a failure; Hunyuan searches by fields of its own.
 */
const VENDORS =
  "api_base api_key base_url best_of compound_custom content_policy_fallbacks context_window_fallbacks custom_llm_provider " +
  "data_sources deep_search enable_code_interpreter enable_deep_search enable_enhancement enable_multimedia enable_search " +
  "enable_speed_search extra_body force_search_enhancement litellm_params model_list models num_retries plugins preset provider " +
  "providerOptions route router_settings_override search_mode search_options search_parameters use_beam_search use_search " +
  "user_config web_search";

/** Fields with IDs of what is kept with providers, in no SDK's request. */
const KEPT_ELSEWHERE =
  "assistant_id cached_content container container_id conversation_id file_id file_ids skill_id thread_id vector_store_ids";

/**
 * Every top-level field of each dialect's requests, as the SDKs of `openai` and `@anthropic-ai/sdk` declare them, and those of
 * vendors that are known to cost more. A field that is not here goes on, and its text counts.
 */
export const REQUEST_FIELDS: Readonly<Record<DialectName, Readonly<Record<string, Treatment>>>> = {
  chat: fields({
    own: "model stream stream_options max_tokens max_completion_tokens n",
    counted: "messages functions prediction response_format stop logit_bias metadata",
    harmless:
      "frequency_penalty function_call logprobs parallel_tool_calls presence_penalty prompt_cache_key " +
      "prompt_cache_retention reasoning_effort safety_identifier seed store temperature tool_choice top_logprobs top_p " +
      "user verbosity",
    tools: "tools",
    tier: "service_tier",
    cache: "prompt_cache_options",
    hosted: "web_search_options",
    priced: `audio modalities moderation ${VENDORS}`,
  }),
  messages: fields({
    own: "model stream max_tokens",
    counted: "messages system stop_sequences output_config output_format metadata",
    harmless:
      "betas compaction context_management diagnostics temperature thinking tool_choice top_k top_p",
    tools: "tools",
    tier: "service_tier speed",
    region: "inference_geo",
    cache: "cache_control",
    hosted: "mcp_servers",
    priced: `fallbacks ${VENDORS}`,
    kept: "billing_policy container fallback_credit_token thread user_profile_id workspace_id",
  }),
  responses: fields({
    own:
      "model stream stream_options max_output_tokens store background previous_response_id context_management",
    counted: "input instructions text metadata",
    harmless:
      "betas image include max_tool_calls parallel_tool_calls prompt_cache_key prompt_cache_retention " +
      "reasoning safety_identifier temperature tool_choice top_logprobs top_p truncation user",
    tools: "tools",
    tier: "service_tier",
    cache: "prompt_cache_options",
    // agents that run at the upstream have no limit in number
    priced: `access_programs moderation multi_agent ${VENDORS}`,
    kept: "conversation prompt",
  }),
};

const COSTLY: readonly Treatment[] = ["tier", "region", "cache", "hosted", "priced", "kept"];

/** The same for fields that are costly in another dialect: upstreams may take them in any. */
const FOREIGN_FIELDS: Readonly<Record<string, Treatment>> = {
  ...fields({ kept: KEPT_ELSEWHERE }),
  ...Object.fromEntries(
    Object.values(REQUEST_FIELDS).flatMap((table) =>
      Object.entries(table).filter(([, treatment]) => COSTLY.includes(treatment))
    ),
  ),
};

/** What becomes of a field; undefined for one that nobody knows. */
export function treatmentOf(dialect: DialectName, field: string): Treatment | undefined {
  const own = REQUEST_FIELDS[dialect];
  if (Object.hasOwn(own, field)) return own[field];
  return Object.hasOwn(FOREIGN_FIELDS, field) ? FOREIGN_FIELDS[field] : undefined;
}

/** Values of fields that cost nothing more. */
export const PLAIN_VALUES: Readonly<Record<string, readonly string[]>> = {
  service_tier: ["auto", "default", "standard", "standard_only"],
  speed: ["standard"],
  inference_geo: ["global", "not_available"],
};

/** Lifetimes of prompt caches that the providers use where a request names none. */
export const USUAL_LIFETIMES: readonly string[] = ["5m", "30m"];

/** Fields with IDs of what is kept with the upstream's provider, anywhere in a request but in what the caller's own tools define. */
export const KEPT_IDS: ReadonlySet<string> = new Set([
  "container",
  "container_id",
  "file_id",
  "file_ids",
  "skill_id",
  "vector_store_ids",
]);

/** Fields that say, anywhere in a request, how long a prompt cache lives. */
export const CACHE_FIELDS: ReadonlySet<string> = new Set([
  "cache_control",
  "prompt_cache_breakpoint",
]);

/** Fields whose contents are the caller's own, or repeat what a model wrote. */
export const OPAQUE_FIELDS: ReadonlySet<string> = new Set([
  "annotations",
  "arguments",
  "citations",
  "format",
  "input_schema",
  "metadata",
  "parameters",
  "results",
  "schema",
]);

/**
 * How a name reads for services that ignore the case of names, as many in Go and .NET do: `Model` after `model` is the model for
 * them. Go takes the long s and the sign for kelvin for letters of ASCII, too.
 */
export function readAs(name: string): string {
  return name.toUpperCase().toLowerCase();
}

const NAMES_BY_DIALECT = Object.fromEntries(
  Object.entries(REQUEST_FIELDS).map(([dialect, table]) => [
    dialect,
    new Set([...Object.keys(table), ...Object.keys(FOREIGN_FIELDS)].map(readAs)),
  ]),
);

/** Whether a field that is not known here is one that is for services which ignore the case of names. */
export function isDisguised(dialect: DialectName, field: string): boolean {
  return NAMES_BY_DIALECT[dialect]!.has(readAs(field));
}

/** Names deeper in a request by which it is decided what goes on. All are in small letters. */
const DECISIVE: ReadonlySet<string> = new Set([
  ...KEPT_IDS,
  ...CACHE_FIELDS,
  ...["definition", "environment", "include_usage", "max_uses", "tools", "ttl", "type"],
]);
const IN_SMALL_LETTERS = /^[a-z0-9_]*$/;

/** The same for a name deeper in a request. */
export function isDisguisedInside(name: string): boolean {
  return !IN_SMALL_LETTERS.test(name) && DECISIVE.has(readAs(name));
}
