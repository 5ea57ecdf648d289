import { isBuiltInRoute, type Route, type Target } from "../../settings/catalog/mod.ts";
import {
  type Bridge,
  bridgeBetween,
  type DialectName,
  DIALECTS,
  type ParsedRequest,
  type Shaping,
  type WrittenRequest,
} from "../../wire/dialects/mod.ts";
import { invalid, Refusal } from "../../ground/refusal.ts";
import type { OwnKey, TargetPlan, Upstream, UpstreamKey, Upstreams } from "../upstreams/mod.ts";

/** A request that is to be planned. */
export interface PlannedRequest {
  readonly dialect: DialectName;
  readonly request: ParsedRequest;
  /** Maximum output tokens of one choice. */
  readonly permittedOutput: number;
  /** Names of fields by which the caller is charged: a target that cannot be sent one of them is skipped. */
  readonly priced: readonly string[];
}

/** How a request is sent to one of its route's targets. Pure: planning sends nothing and costs nothing. */
export class Plan implements TargetPlan {
  readonly target: Target;
  readonly upstream: Upstream;
  readonly bridge: Bridge;
  readonly ownKey: OwnKey | undefined;
  readonly #dialect: DialectName;
  readonly #shaping: Shaping;
  /** The last request that was written, since it is often written again unchanged. */
  #last: ParsedRequest | undefined;
  #lastOutput = 0;
  #lastSource = "";
  #written: WrittenRequest | undefined;

  constructor(
    dialect: DialectName,
    target: Target,
    upstream: Upstream,
    { shaping, ownKey }: { readonly shaping: Shaping; readonly ownKey?: OwnKey | undefined },
  ) {
    this.#dialect = dialect;
    this.#shaping = shaping;
    this.ownKey = ownKey;
    this.target = target;
    this.upstream = upstream;
    this.bridge = bridgeBetween(dialect, upstream.dialect);
  }

  /** The same request, sent with a key of the caller's own. */
  withOwnKey(ownKey: OwnKey): Plan {
    const shaping = this.#shaping;
    const plan = new Plan(this.#dialect, this.target, this.upstream, { shaping, ownKey });
    plan.#last = this.#last;
    plan.#lastOutput = this.#lastOutput;
    plan.#lastSource = this.#lastSource;
    plan.#written = this.#written;
    return plan;
  }

  /**
   * Who can read what a reply has sealed: OpenAI encrypts reasoning for the organization of a key, and rejects that of another
   * (github.com/BerriAI/litellm/pull/21994). Signatures, as of Gemini and Anthropic, hold for any key.
   *
   * @param key The key that it is sent with; undefined at an upstream that has not several.
   */
  sourceWith(key: Pick<UpstreamKey, "id"> | undefined): string {
    const { target: { upstream }, upstream: { dialect } } = this;
    return dialect === "responses" && key !== undefined ? `${upstream} ${key.id}` : upstream;
  }

  /** The request as one exchange asks for it: with all of its choices, or with one where the target returns one. */
  variant(request: ParsedRequest): ParsedRequest {
    const { shaping: { singleChoice = false }, health } = this.upstream;
    const isSingle = this.bridge.singleChoice || singleChoice ||
      health.singleChoiceModels.has(this.target.model);
    return isSingle ? this.single(request) : request;
  }

  /** The request for one of its choices. */
  single(request: ParsedRequest): ParsedRequest {
    return request.choices > 1 ? DIALECTS[this.#dialect].front.multiple!.single(request) : request;
  }

  /**
   * The request in the target's dialect.
   *
   * @param key The key that it is sent with: what another one's replies have sealed is left out.
   * @throws {Refusal} `request_invalid` when the target cannot serve it.
   */
  write(
    request: ParsedRequest,
    permittedOutput: number,
    key?: Pick<UpstreamKey, "id">,
  ): WrittenRequest {
    const hasSeals = (request.opened?.size ?? 0) > 0;
    const upstream = hasSeals ? this.sourceWith(key) : this.target.upstream;
    const isSame = this.#lastOutput === permittedOutput && this.#lastSource === upstream;
    if (this.#last === request && isSame) return this.#written!;
    const shaping = this.#shaping;
    const { model } = this.target;
    const bridged = this.bridge.request(request, { model, upstream, permittedOutput, shaping });
    const { thinkTags } = shaping;
    const adjusted = [...bridged.adjusted ?? []];
    const body = this.upstream.adjust(bridged.body, (change) => adjusted.push(change));
    this.#written = {
      ...bridged,
      body,
      adjusted,
      thinkTags,
      sampling: bridged.sampling ?? samplingOf(body),
    };
    this.#last = request;
    this.#lastOutput = permittedOutput;
    this.#lastSource = upstream;
    return this.#written;
  }

  /** Tokens of what was written last that the client did not send. */
  get addedTokens(): number {
    return this.#written?.addedTokens ?? 0;
  }

  /** Lets go of what was written: the reply may take long. */
  forget(): void {
    this.#last = undefined;
    this.#written = undefined;
  }
}

/**
 * Plans a request for every target of its route that can serve it, in the order of failover.
 *
 * @throws {Refusal} `request_invalid`, why the first target cannot serve it, when none can.
 */
export function planTargets(
  upstreams: Pick<Upstreams, "of">,
  { id, targets }: Pick<Route, "id" | "targets">,
  { dialect, request, permittedOutput, priced }: PlannedRequest,
): readonly Plan[] {
  const isBuiltIn = isBuiltInRoute(id);
  const plans: Plan[] = [];
  let first: Refusal | undefined;
  for (const target of targets) {
    const upstream = upstreams.of(target);
    // the numbers of the built-in routes are their service's; other models have their makers' defaults
    const shaping = isBuiltIn ? upstream.shaping : { ...upstream.shaping, ownSampling: true };
    const plan = new Plan(dialect, target, upstream, { shaping });
    try {
      const { dropped } = plan.write(plan.variant(request), permittedOutput);
      const lost = priced.find((field) => dropped.includes(field));
      if (lost !== undefined) throw unsaid(lost);
      plans.push(plan);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      first ??= error;
    }
  }
  if (plans.length === 0 && first !== undefined) throw first;
  return plans;
}

function unsaid(field: string): Refusal {
  return invalid(
    field,
    `${field} changes the price, and cannot be sent to this model's upstream. Leave it out.`,
  );
}

function samplingOf(
  { temperature, top_p: topP, service_tier: tier }: WrittenRequest["body"],
): WrittenRequest["sampling"] {
  return {
    ...(typeof temperature === "number" && { temperature }),
    ...(typeof topP === "number" && { top_p: topP }),
    ...(typeof tier === "string" && tier !== "auto" && { service_tier: tier }),
  };
}
