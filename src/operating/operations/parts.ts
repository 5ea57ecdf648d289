import {
  Accounts,
  Keys,
  Members,
  Sessions,
  TeamKeys,
  Teams,
  UpstreamKeys,
} from "../../people/accounts/mod.ts";
import { Registration, Sales } from "../../money/billing/mod.ts";
import type { Catalog } from "../../settings/catalog/mod.ts";
import type { Config } from "../../settings/config/mod.ts";
import type { Database } from "../../ground/database/mod.ts";
import { Codes, type Payments } from "../../money/payments/mod.ts";
import type { UpstreamState } from "../../requests/upstreams/mod.ts";
import type { SpentByKey } from "../../money/usage/mod.ts";
import { LoggedDatabase, type LoggedStatements } from "./logged_database.ts";
import type { Requests } from "../../people/operation_log/mod.ts";

/** The nouns that operations work with. */
export interface Nouns {
  readonly database: Database;
  readonly accounts: Accounts;
  readonly keys: Keys;
  readonly teams: Teams;
  readonly members: Members;
  readonly teamKeys: TeamKeys;
  readonly upstreamKeys: UpstreamKeys;
  readonly sessions: Sessions;
  readonly registration: Registration;
  readonly sales: Sales;
  readonly payments: Payments;
  readonly codes: Codes;
}

/** How the settings file of a running gateway is changed. */
export interface SettingsFileParts {
  /** Throws if the settings of another file have errors, as a reload would. */
  readonly check: (file: string) => Promise<void>;
  /** Reads the settings again and applies them. */
  readonly reload: () => Promise<{
    readonly fault: string | null;
    readonly needRestart: readonly string[];
  }>;
}

/** What only a running gateway has. */
export interface GatewayParts {
  /** How the upstreams have been doing, in all threads of the process. */
  readonly upstreamStates: () => Promise<readonly UpstreamState[]>;
  /** Runs long work on a separate database connection, so that requests do not wait for it. */
  readonly aside: <T>(work: (database: Database) => Promise<T>) => Promise<T>;
  /** How the settings file is changed; undefined if the gateway cannot read its settings again. */
  readonly settingsFile?: SettingsFileParts | undefined;
  /** Replies to writes with an `Idempotency-Key`. */
  readonly requests: Requests;
}

/** Dependencies of operations. */
export interface OperationParts extends Nouns {
  readonly config: Config;
  /** The models that are served now. */
  readonly catalog: () => Catalog | Promise<Catalog>;
  /** Base URL of the console for links, without a trailing slash. */
  readonly address: () => Promise<string>;
  readonly now: () => number;
  /** The key of the seals. */
  readonly sealKey: () => Promise<Uint8Array>;
  /** What keys have spent, of a command that reads several pages of them. */
  readonly spent?: SpentByKey | undefined;
  /** `undefined` in a command. */
  readonly gateway?: GatewayParts | undefined;
}

/** The nouns on a database whose writes are in the log. */
export function loggedNouns(
  { database, config: { settings }, now, payments }: Pick<
    OperationParts,
    "database" | "config" | "now" | "payments"
  >,
  statements: LoggedStatements,
): Nouns & { readonly database: LoggedDatabase } {
  const logged = new LoggedDatabase(database, statements);
  const accounts = new Accounts(logged, now);
  return {
    database: logged,
    accounts,
    keys: new Keys(logged, now),
    teams: new Teams(logged, now),
    members: new Members(logged, now),
    teamKeys: new TeamKeys(logged, now),
    upstreamKeys: new UpstreamKeys(logged, now),
    sessions: new Sessions(logged, now),
    registration: new Registration(logged, accounts, settings.credits),
    sales: new Sales(logged, settings.packages, settings.credits, now),
    payments: payments.on(logged),
    codes: new Codes(logged, now),
  };
}
