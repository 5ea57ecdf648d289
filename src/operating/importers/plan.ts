import type { ListedSettings, Prices } from "../../settings/catalog/mod.ts";
import type { BackName } from "../../wire/dialects/mod.ts";
import { displayed } from "../../ground/platform/mod.ts";

/** An upstream to add. */
export interface PlannedUpstream {
  /** Identifies it within the plan. */
  readonly ref: string;
  /** Name that it gets if it is free; otherwise with a number behind it. */
  readonly name: string;
  readonly url: string;
  readonly dialect: BackName;
  /** Keys as they are written: `${NAME}`, or the key itself. */
  readonly keys: readonly string[];
  readonly headers: Readonly<Record<string, string>>;
  /** Whether all models that it lists are served. */
  readonly discover: boolean;
  /** A provider of a cloud: the settings have it instead of address and dialect. */
  readonly cloud?: PlannedCloud | undefined;
}

/** A provider of a cloud, with what its address and its credentials need. */
export interface PlannedCloud {
  readonly provider: string;
  readonly region?: string;
  readonly project?: string;
  /** Its address, if it is not the provider's. */
  readonly url?: string;
  /** As they are written in the settings: secrets as `${NAME}`, or themselves. */
  readonly credentials?: Readonly<Record<string, string>>;
}

/** A target of a planned route. */
export interface PlannedTarget {
  /** The upstream's `ref`. */
  readonly upstream: string;
  readonly model: string;
  readonly weight?: number | undefined;
}

/** A route to add. */
export interface PlannedRoute {
  readonly id: string;
  readonly targets: readonly PlannedTarget[];
  readonly settings: RouteLimits;
  /** Where the prices come from. */
  readonly pricesFrom: PriceOrigin;
}

/** Limits, prices and capabilities of a planned route. */
export interface RouteLimits extends ListedSettings {
  readonly prices: Prices;
}

/** The source, the catalogue of known models, or a cautious guess. */
export type PriceOrigin = "source" | "known" | "guess";

/** An account to create, or to find again. */
export interface PlannedAccount {
  /** Identifies it within the plan. */
  readonly ref: string;
  /** Whether it is the owner's. */
  readonly isOwner: boolean;
  /** Email address in the source, if it has a valid one. */
  readonly email: string | undefined;
  /** Local part of the address that it gets otherwise. */
  readonly handle: string;
  readonly name: string;
  /** Credits to grant. */
  readonly credits: number;
  /** Identifies the grant, so that it is made once. */
  readonly reference: string;
}

/** A key to adopt by its digest or, without one, to replace by a new one. */
export interface PlannedKey {
  /** The account's `ref`. */
  readonly account: string;
  /** Identifies it in the source. */
  readonly reference: string;
  readonly name: string;
  /** SHA-256 of the key in hexadecimal, and what shows which one it is. */
  readonly digest: { readonly hex: string; readonly hint: string } | undefined;
  /** Models that it may use, as the source names them; `undefined`: all. */
  readonly models: readonly string[] | undefined;
  readonly budgetCredits: number | undefined;
  /** How often its budget renews; `undefined`: never. */
  readonly budgetPeriod?: "day" | "week" | "month" | undefined;
  readonly expiresAtMs: number | undefined;
}

/** What another gateway's configuration becomes here. */
export interface ImportPlan {
  readonly upstreams: readonly PlannedUpstream[];
  readonly routes: readonly PlannedRoute[];
  /** Route ID by alias. */
  readonly aliases: ReadonlyMap<string, string>;
  readonly accounts: readonly PlannedAccount[];
  readonly keys: readonly PlannedKey[];
}

/** Something that is not imported, or that the operator should check. */
export interface Notice {
  readonly kind: "not imported" | "check";
  /** What it is about, as the source names it; never a value that may be a secret. */
  readonly subject: string;
  readonly text: string;
}

/** Collects notices. */
export class Notices {
  readonly #all = new Map<string, Notice>();

  /** All notices, each once, in the order of the source. */
  get all(): readonly Notice[] {
    return [...this.#all.values()];
  }

  /** Something of the source has no counterpart. */
  notImported(subject: string, text: string): void {
    this.#add({ kind: "not imported", subject, text });
  }

  /** Something is imported in a way that the operator should know about. */
  check(subject: string, text: string): void {
    this.#add({ kind: "check", subject, text });
  }

  #add({ kind, subject, text }: Notice): void {
    const notice = { kind, subject: displayed(subject), text: displayed(text) };
    this.#all.set(JSON.stringify(notice), notice);
  }
}
