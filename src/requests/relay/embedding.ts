import { type Route, SIMULATOR } from "../../settings/catalog/mod.ts";
import { countedUsage, type JsonObject, withoutNulls } from "../../wire/dialects/mod.ts";
import {
  type EmbeddingsReply,
  type EmbeddingsRequest,
  MAX_DIMENSIONS,
  MAX_INPUT_TOKENS,
  readEmbeddings,
  UPSTREAM_EMBEDDINGS_PATH,
  writeEmbeddings,
} from "../../wire/embeddings/mod.ts";
import type { Trace } from "../../ground/telemetry/mod.ts";
import type { Sent, TargetPlan, UpstreamReply } from "../upstreams/mod.ts";
import { ChargedUsage } from "./charged_usage.ts";
import type { Lifecycle } from "./lifecycle.ts";
import { ownerOfReplies } from "./own_keys.ts";
import { readVectors } from "./read_vectors.ts";
import { Yielder } from "./reply_limits.ts";
import type { RelayParts, RelayReply } from "./request.ts";

/** A request that a model is to make embeddings for. */
export interface EmbeddingOptions {
  readonly requestId: string;
  readonly trace: Trace;
  readonly route: Route;
  readonly request: EmbeddingsRequest;
  /** Input tokens as counted by the gateway. */
  readonly inputTokens: number;
  /** In the order in which the route lists its targets. */
  readonly plans: readonly TargetPlan[];
}

/** A reply, and where it came from. */
type Reached = Sent<TargetPlan, EmbeddingsReply>;

/** Length of vectors that a reply is expected to have at most, where nothing says it. */
const USUAL_DIMENSIONS = 4_096;
/** Special tokens that an upstream may add to each input. */
const ADDED_TOKENS = 8;

/** The exchange that has a model make embeddings: one request upstream, which replies as a whole. */
export class Embedding {
  readonly #parts: RelayParts;
  readonly #life: Lifecycle;
  readonly #options: EmbeddingOptions;

  constructor(parts: RelayParts, life: Lifecycle, options: EmbeddingOptions) {
    this.#parts = parts;
    this.#life = life;
    this.#options = options;
  }

  /**
   * Sends the request until a target replies.
   *
   * @param dropped Names of fields that are not sent.
   */
  async send(dropped: readonly string[]): Promise<Reached> {
    const { plans, requestId, trace, route } = this.#options;
    const { upstreams } = this.#parts;
    const reached = await upstreams.send<TargetPlan, EmbeddingsReply>({
      routing: upstreams.route(plans, { route, conversation: undefined }),
      signal: this.#life.signal,
      requestId,
      account: this.#life.accountId,
      trace,
      unstreamedTokens: 0,
      tokens: this.#options.inputTokens,
      write: (plan) => ({
        path: UPSTREAM_EMBEDDINGS_PATH,
        headers: { accept: "application/json" },
        body: JSON.stringify(this.#bodyFor(plan)),
      }),
      open: (reply) => this.#open(reply),
    });
    const { plan, attempts, outcomes } = reached;
    const ownKey = ownerOfReplies([plan]);
    this.#life.sent({ target: plan.target, attempts, outcomes, changed: dropped, ownKey });
    return reached;
  }

  /** The response: written, then settled. */
  async respond(
    { opened, plan, reply: { used } }: Reached,
  ): Promise<Pick<RelayReply, "body" | "settled">> {
    this.#life.outputBegan();
    const { request, route, inputTokens } = this.#options;
    const { estimates } = this.#parts;
    const { accountId } = this.#life;
    const of = { accountId, route: route.id, upstream: plan.target.upstream };
    const charged = new ChargedUsage({
      inputTokens,
      openInput: () => 0,
      choices: 1,
      maxTokens: maxReported(request, route),
      maxOutput: () => 0,
      onSettled: ({ usageSource, usage, departs }, { inputTokens: countedTokens }) => {
        if (departs) plan.upstream.health.usageDeparted();
        if (usageSource !== "upstream") return;
        used?.(usage.inputTokens);
        estimates.learn(of, { countedTokens, reportedTokens: usage.inputTokens });
      },
    });
    const { usage: reported } = opened;
    const settledUsage = charged.settled({
      usage: reported && countedUsage(reported.inputTokens, 0),
      countedOutput: 0,
      requests: 1,
    });
    const { usage, usageSource } = settledUsage;
    const fields = usageSource === "upstream" ? reported?.fields : undefined;
    const pieces = writeEmbeddings(request, opened, { inputTokens: usage.inputTokens, fields });
    const body = await joined(pieces);
    const settled = await this.#life.settle({
      ending: "complete",
      status: 200,
      ...settledUsage,
    });
    this.#life.end();
    return { body, settled };
  }

  /** The simulator has no vectors of its own length: it makes those that the settings promise. */
  #bodyFor({ target: { upstream, model } }: TargetPlan): JsonObject {
    const { request: { body, dimensions }, route } = this.#options;
    const promised = upstream === SIMULATOR && dimensions === undefined && route.checksDimensions
      ? { dimensions: route.dimensions }
      : {};
    return { ...withoutNulls(body), ...promised, model };
  }

  async #open(reply: UpstreamReply): Promise<EmbeddingsReply> {
    const { request: { inputs, dimensions }, route } = this.#options;
    const { json, taken } = await readVectors(reply, this.#parts.settings.replies, {
      vectors: inputs.length,
      dimensions: Math.min(
        MAX_DIMENSIONS,
        Math.max(USUAL_DIMENSIONS, route.dimensions ?? 0, dimensions ?? 0),
      ),
    });
    const { checksDimensions } = route;
    return readEmbeddings(json, taken, {
      inputs: inputs.length,
      requestedDimensions: dimensions,
      promisedDimensions: checksDimensions ? route.dimensions : undefined,
    });
  }
}

/** Input tokens above which a report cannot be true: counted by other tokenizers, with what they add to each input. */
function maxReported({ inputs }: EmbeddingsRequest, { context }: Route): number {
  return 2 * Math.min(MAX_INPUT_TOKENS, context * inputs.length) + ADDED_TOKENS * inputs.length;
}

/** A text of many pieces; others have their turns meanwhile. */
async function joined(pieces: Iterable<string>): Promise<string> {
  const turns = new Yielder();
  const all: string[] = [];
  for (const piece of pieces) {
    all.push(piece);
    await turns.taken(piece.length);
  }
  return all.join("");
}
