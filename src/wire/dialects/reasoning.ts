import { isObject, type JsonObject } from "./json.ts";

/** How a model reasons: not at all, when `thinking` asks for it, always, or always with an effort. */
export type Reasoning = "none" | "thinking" | "always" | "effort";

/** Every effort that clients know, from the least to the most. */
export const EFFORTS = ["none", "minimal", "low", "medium", "high", "xhigh", "max"] as const;

/** How much a model is to reason. */
export type Effort = (typeof EFFORTS)[number];

/** How the model of a route reasons. */
export interface RouteReasoning {
  readonly reasoning: Reasoning;
  /** Efforts that its targets know; empty unless `reasoning` is `effort`. */
  readonly efforts: readonly Effort[];
  /** The effort of requests that name none or an unknown one; without it, that is left to the upstream. */
  readonly defaultEffort?: Effort | undefined;
  /** Chat requests with `thinking` are rejected, as the service does. */
  readonly rejectsThinking?: boolean | undefined;
}

/** How a request wants the model to reason, in no dialect's words. */
export interface ReasoningRequest {
  readonly enabled?: boolean;
  /** An effort that the route knows. */
  readonly effort?: Effort;
  /** Tokens that reasoning may take, as the client says. */
  readonly budgetTokens?: number | undefined;
  /** Whether the effort stands for a budget of reasoning tokens. */
  readonly isBudget?: boolean;
}

/** An effort that a route knows, and what changed on the way to it. */
export interface FittedEffort {
  /** Undefined where it is left to the upstream. */
  readonly effort: Effort | undefined;
  /** The effort that is used, as `reasoning_effort=high`, where the client asked for another one. */
  readonly adjusted: readonly string[];
}

/**
 * Fits an effort to those that a route knows. No effort is an error: tools send what they know to every model.
 *
 * @param asked As the client wrote it, whatever it is; undefined or null if it said nothing.
 * @param route The efforts that the route knows, and its default.
 *
 * @example
 * ```ts
 * import { assertEquals } from "@std/assert";
 * import { fitEffort } from "./mod.ts";
 *
 * const route = { efforts: ["low", "high", "max"], defaultEffort: "max" } as const;
 * assertEquals(fitEffort("high", route), { effort: "high", adjusted: [] });
 * assertEquals(fitEffort("none", route), { effort: "low", adjusted: ["reasoning_effort=low"] });
 * assertEquals(fitEffort("ultra", route), { effort: "max", adjusted: ["reasoning_effort=max"] });
 * ```
 */
export function fitEffort(
  asked: unknown,
  { efforts, defaultEffort }: Pick<RouteReasoning, "efforts" | "defaultEffort">,
): FittedEffort {
  if (asked === undefined || asked === null) return { effort: defaultEffort, adjusted: [] };
  const effort = isEffort(asked) ? nearestEffort(asked, efforts) : defaultEffort;
  return {
    effort,
    adjusted: effort === asked ? [] : [`reasoning_effort=${effort ?? "default"}`],
  };
}

/** The effort nearest to another one: of two as near the higher; for `none` and `minimal` the least. */
export function nearestEffort(asked: Effort, efforts: readonly Effort[]): Effort | undefined {
  if (efforts.includes(asked)) return asked;
  const ranked = efforts.toSorted((a, b) => rank(a) - rank(b));
  if (rank(asked) <= rank("minimal")) return ranked[0];
  const distance = (one: Effort) => Math.abs(rank(one) - rank(asked));
  return ranked.reduceRight<Effort | undefined>(
    (best, one) => best === undefined || distance(one) < distance(best) ? one : best,
    undefined,
  );
}

/** The effort that a budget of reasoning tokens stands for. */
export function budgetEffort(tokens: number): Effort {
  if (tokens < 4_096) return "low";
  return tokens < 16_384 ? "medium" : "high";
}

function rank(effort: Effort): number {
  return EFFORTS.indexOf(effort);
}

/**
 * Whether a model may reason for a request: it always does, or it was asked to.
 *
 * @param request How the request wants it, where its body does not say; and the body, for those that do.
 */
export function mayReason(
  { reasoning }: Pick<RouteReasoning, "reasoning">,
  { reasoning: wanted, body }: {
    readonly reasoning?: ReasoningRequest | undefined;
    readonly body: JsonObject;
  },
): boolean {
  if (reasoning === "none") return false;
  if (wanted?.enabled === false || wanted?.effort === "none") return false;
  const { thinking } = body;
  const type = isObject(thinking) ? thinking.type : undefined;
  if (reasoning === "thinking") {
    return wanted?.enabled === true || wanted?.effort !== undefined ||
      type !== undefined && type !== "disabled";
  }
  return reasoning === "always" || type !== "disabled";
}

/** Whether a value is an effort that clients know. */
export function isEffort(value: unknown): value is Effort {
  return EFFORTS.some((effort) => effort === value);
}
