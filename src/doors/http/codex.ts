import { nearestWindow, type Window } from "../../requests/admission/mod.ts";
import type { Catalog, Route } from "../../settings/catalog/mod.ts";
import type { HeaderLookup } from "../../wire/dialects/mod.ts";
import type { AccountStatus } from "../../money/ledger/mod.ts";

const MINUTES: Readonly<Record<Window["span"], number>> = { minute: 1, hour: 60, day: 1_440 };

/** Whether a request comes from Codex, which shows headers of its own in its status. */
export function isCodex(header: HeaderLookup): boolean {
  return header("originator")?.toLowerCase().startsWith("codex") ?? false;
}

/** The credits and the two nearest windows of a caller, as Codex shows them. */
export function codexHeaders(
  { balance, windows }: AccountStatus,
  nowMs: number,
): Record<string, string> {
  const primary = nearestWindow(windows, nowMs);
  const secondary = nearestWindow(windows.filter(({ span }) => span !== primary?.span), nowMs);
  return {
    "x-codex-credits-has-credits": String(balance > 0),
    "x-codex-credits-unlimited": "false",
    "x-codex-credits-balance": String(balance),
    ...windowHeaders("primary", primary),
    ...windowHeaders("secondary", secondary),
  };
}

function windowHeaders(name: string, window: Window | undefined): Record<string, string> {
  if (window === undefined) return {};
  const { limit, remaining, span, resetAtMs } = window;
  const used = limit === 0 ? 100 : Math.round(1_000 * (limit - remaining) / limit) / 10;
  return {
    [`x-codex-${name}-used-percent`]: String(used),
    [`x-codex-${name}-window-minutes`]: String(MINUTES[span]),
    [`x-codex-${name}-reset-at`]: String(resetAtMs / 1_000),
  };
}

/** Lists the models for replies as Codex discovers them. It asks with its version in the query. */
export function codexModels(catalog: Catalog) {
  return { models: catalog.routes.filter(({ kind }) => kind === "generation").map(codexModel) };
}

function codexModel(route: Route, at: number) {
  const { id, displayName, context, efforts, defaultEffort } = route;
  return {
    slug: id,
    display_name: displayName,
    description: displayName,
    context_window: context,
    max_context_window: context,
    auto_compact_token_limit: null,
    default_reasoning_level: defaultEffort ?? efforts.at(-1) ?? null,
    supported_reasoning_levels: efforts.map((effort) => ({ effort, description: effort })),
    supports_reasoning_summaries: efforts.length > 0,
    default_reasoning_summary: "none",
    shell_type: "shell_command",
    apply_patch_tool_type: "freeform",
    web_search_tool_type: "text",
    visibility: "list",
    supported_in_api: true,
    minimal_client_version: "0.0.0",
    priority: at,
    use_responses_lite: false,
    supports_parallel_tool_calls: true,
    input_modalities: route.images === "none" ? ["text"] : ["text", "image"],
    support_verbosity: false,
    default_verbosity: null,
    truncation_policy: { mode: "tokens", limit: 10_000 },
    experimental_supported_tools: [],
    supports_search_tool: false,
    availability_nux: null,
    upgrade: null,
    model_messages: null,
    base_instructions: "",
  };
}
