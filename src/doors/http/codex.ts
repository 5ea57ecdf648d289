import { shareOf } from "../tools/mod.ts";
import { nearestWindow, type Window } from "../../requests/admission/mod.ts";
import type { Catalog, Route } from "../../settings/catalog/mod.ts";
import type { HeaderLookup } from "../../wire/dialects/mod.ts";
import type { AccountStatus, Budget, BudgetPeriod } from "../../money/ledger/mod.ts";

const MINUTES: Readonly<Record<Window["span"], number>> = { minute: 1, hour: 60, day: 1_440 };

/** Whether a request comes from Codex, which shows headers of its own in its status. */
export function isCodex(header: HeaderLookup): boolean {
  return header("originator")?.toLowerCase().startsWith("codex") ?? false;
}

/** How long the periods of budgets are as Codex names them: it takes 30 days for a month. */
const PERIOD_MINUTES: Readonly<Record<BudgetPeriod, number | undefined>> = {
  day: 1_440,
  week: 7 * 1_440,
  month: 30 * 1_440,
  life: undefined,
};

/**
 * The credits of a caller as Codex shows them, and what is used of the budget with the least left and the nearest window; of the two
 * nearest windows if there is no budget.
 *
 * @param options Whether budgets are shown: to a Codex that is signed in.
 */
export function codexHeaders(
  { balance, windows, budget }: AccountStatus,
  nowMs: number,
  { showsBudget = false }: { readonly showsBudget?: boolean } = {},
): Record<string, string> {
  const first = nearestWindow(windows, nowMs);
  const second = nearestWindow(windows.filter(({ span }) => span !== first?.span), nowMs);
  const limits = budget !== undefined && showsBudget
    ? { ...budgetHeaders(budget), ...windowHeaders("secondary", first) }
    : { ...windowHeaders("primary", first), ...windowHeaders("secondary", second) };
  return {
    "x-codex-credits-has-credits": String(balance > 0),
    "x-codex-credits-unlimited": "false",
    "x-codex-credits-balance": String(balance),
    ...limits,
  };
}

function budgetHeaders(budget: Budget): Record<string, string> {
  const { usedCredits, ofCredits, resetAtMs } = shareOf({ balance: 0, budget })!;
  const minutes = PERIOD_MINUTES[budget.period];
  return {
    "x-codex-primary-used-percent": percentText(usedCredits, ofCredits),
    ...(minutes === undefined ? {} : { "x-codex-primary-window-minutes": String(minutes) }),
    ...(resetAtMs === null
      ? {}
      : { "x-codex-primary-reset-at": String(Math.floor(resetAtMs / 1_000)) }),
  };
}

/** In percent, with a tenth, up to 100. */
function percentText(used: number, of: number): string {
  return String(of === 0 ? 100 : Math.min(100, Math.round(1_000 * used / of) / 10));
}

function windowHeaders(name: string, window: Window | undefined): Record<string, string> {
  if (window === undefined) return {};
  const { limit, remaining, span, resetAtMs } = window;
  return {
    [`x-codex-${name}-used-percent`]: percentText(limit - remaining, limit),
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
