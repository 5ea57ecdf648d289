import type { JsonBody } from "../../wire/large_bodies/mod.ts";
import type { Catalog } from "../../settings/catalog/mod.ts";
import type { CoarseTimers } from "../../ground/platform/mod.ts";
import type { Settings } from "../../settings/config/mod.ts";
import type { DialectName, HeaderLookup } from "../../wire/dialects/mod.ts";
import type { Images } from "../images/mod.ts";
import type { KeptItems } from "../../wire/kept_items/mod.ts";
import type { Sealing } from "../../wire/sealing/mod.ts";
import type { Settled } from "../../money/ledger/mod.ts";
import type { OwnKeys, Upstreams } from "../upstreams/mod.ts";
import type { FollowedReplies } from "./followed_replies.ts";
import type { InputEstimates } from "./input_estimates.ts";
import type { IncomingRequest, LifecycleParts } from "./lifecycle.ts";

/** What a request passes through on its way. */
export interface RelayParts extends LifecycleParts {
  /** The models that are served now. */
  readonly catalog: () => Catalog;
  readonly upstreams: Upstreams;
  readonly ownKeys: OwnKeys;
  readonly images: Images;
  readonly sealing: Sealing;
  readonly keptItems: KeptItems;
  readonly timers: CoarseTimers;
  readonly estimates: InputEstimates;
  readonly followed: FollowedReplies;
  readonly settings: Pick<
    Settings,
    "limits" | "replies" | "onClientDisconnect" | "defaultMaxOutput" | "tags"
  >;
}

/** One request for embeddings, its caller known and its body parsed. */
export interface EmbedRequest extends IncomingRequest {
  /** Its memory is released as soon as a target has replied. */
  readonly body: JsonBody;
  readonly header: HeaderLookup;
}

/** One request in a dialect, its caller known and its body parsed. */
export interface RelayRequest extends EmbedRequest {
  readonly dialect: DialectName;
  /** Whether the model is to reply; else the request is only checked, and gets an empty reply. */
  readonly generates: boolean;
  /** Makes room for bytes that the request has besides its body. They count like those of the body. */
  readonly makeRoom: (bytes: number) => Promise<void>;
  /** The endpoint's path. */
  readonly path: string;
}

/** A successful response; a refusal is thrown. */
export interface RelayReply {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | ReadableStream<Uint8Array>;
  /** What was charged; undefined for a stream, which is settled when it ends. */
  readonly settled: Settled | undefined;
}
