import {
  type Account,
  Accounts,
  Keys,
  Members,
  type PasswordCost,
  Passwords,
  Sessions,
  TeamKeys,
  Teams,
  UpstreamKeys,
} from "../people/accounts/mod.ts";
import { Registration, Sales } from "../money/billing/mod.ts";
import { type Config, databaseFile, outboxDirectories } from "../settings/config/mod.ts";
import {
  type Database,
  databaseAlone,
  DatabaseClock,
  DirectoryInUse,
  type FileState,
  foreignOutboxes,
  type GatewayIdentity,
  gatewayIdentity,
  hasOutbox,
  isOpened,
  type ObserveCommit,
  openDatabase,
  type OpenedDatabase,
  type OpenOptions,
  outboxPlaces,
  type RefusedItem,
  refuseLinks,
} from "../ground/database/mod.ts";
import { RULES } from "../money/ledger/mod.ts";
import { Codes } from "../money/payments/mod.ts";
import type { CommandParts } from "../doors/cli/mod.ts";
import { type Log, SILENT } from "../ground/telemetry/mod.ts";
import { joinPath } from "../ground/std/mod.ts";
import { sealKey } from "../wire/sealing/mod.ts";
import { openPayments } from "./payments.ts";

/** How a database is opened. */
export interface StoreOptions {
  readonly now?: () => number;
  /** What the hash of a password costs to compute. */
  readonly passwordCost?: PasswordCost;
  /** Wraps the database; benchmarks and fault tests do. */
  readonly wrapDatabase?: (database: Database) => Database;
  /** Called with every commit. */
  readonly observe?: ObserveCommit;
  /** Files that must stay what they are for as long as an embedded file is used. */
  readonly beside?: readonly string[];
  /** Called when an embedded file was given up after a failure, and when it is used again. */
  readonly onState?: (state: FileState) => void;
  /** Called with why the replica cannot be read, and without when it can again. */
  readonly onReplica?: (fault: string | undefined) => void;
  /** Whether a gateway may run on the database; then its schema is left as it is. */
  readonly besideGateway?: boolean;
  /** What becomes of what earlier gateways have kept for an embedded file. */
  readonly outboxes?: OpenOptions["outboxes"];
  /** The database, if it is open already, as over a line to another thread's. */
  readonly opened?: Database;
}

/** The database and the nouns that stand on it: what commands work with. */
export interface Store extends CommandParts {
  readonly config: Config;
  readonly passwords: Passwords;
}

/**
 * Opens the database and what stands on it.
 *
 * @throws {Error} when the database cannot be opened, is newer than the program, or must be migrated while a gateway
 *   runs on it.
 */
export async function openStore(
  config: Config,
  options: StoreOptions = {},
): Promise<Store> {
  const { now: ownNow = Date.now, wrapDatabase = (database) => database } = options;
  const { observe, besideGateway, passwordCost } = options;
  const { settings } = config;
  const { url, token, replicaUrl } = settings.database;
  const file = databaseFile(settings);
  const open = async () => {
    await refuseLinks(settings.data);
    return wrapDatabase(
      await openDatabase({
        file,
        durability: settings.durability,
        rules: RULES,
        now: ownNow,
        observe,
        beside: options.beside,
        onState: options.onState,
        outboxes: options.outboxes,
        outboxDirectory: settings.data,
        mayMigrate: besideGateway && file !== undefined
          ? () => noGatewayRuns(settings.data, file)
          : undefined,
        ...(file === undefined && url !== undefined
          ? { server: { url, token: token?.reveal(), replicaUrl, onReplica: options.onReplica } }
          : {}),
      }),
    );
  };
  const database = options.opened ?? await open();
  const clock = await databaseClock(database, ownNow, file === undefined);
  const { now } = clock;
  const accounts = new Accounts(database, now);
  const registration = new Registration(database, accounts, settings.credits);
  return {
    config,
    database,
    clock,
    accounts,
    keys: new Keys(database, now),
    teams: new Teams(database, now),
    members: new Members(database, now),
    teamKeys: new TeamKeys(database, now),
    upstreamKeys: new UpstreamKeys(database, now),
    sealKey: () =>
      sealKey({
        secret: settings.secret?.reveal(),
        directory: settings.data,
        server: file === undefined ? database : undefined,
        now,
      }),
    registration,
    owner: () => registration.owner(settings.owner.email),
    sales: new Sales(database, settings.packages, settings.credits, now),
    codes: new Codes(database, now),
    payments: openPayments(settings, { database, accounts, now, log: SILENT }),
    passwords: new Passwords(database, now, passwordCost),
    sessions: new Sessions(database, now),
    [Symbol.asyncDispose]: () => database.close(),
  };
}

/** How the names of files begin that keep in a data directory what a server has not. */
function serverOutboxes(directory: string): string {
  return joinPath(directory, "gateway.server");
}

/** Who may have had loans of a database, besides this gateway. */
export interface EndedOptions {
  readonly identity: GatewayIdentity;
  /** Of the directory of an embedded file, if that is another one. */
  readonly alone: GatewayIdentity | undefined;
  /** Undefined for a server. */
  readonly file: string | undefined;
  /** The data directory. */
  readonly directory: string;
}

/**
 * Returns which of these gateways have ended for certain, with all that they had kept at the database. Of a server's, only those on
 * the same data directory can be known to have; of an embedded file's, all but those that run beside this one.
 */
export async function endedGateways(
  gatewayIds: readonly string[],
  { identity, alone, file, directory }: EndedOptions,
): Promise<string[]> {
  const isAlone = async () =>
    !await identity.hasSuccessor() && await alone?.hasSuccessor() !== true;
  const ended = file === undefined
    ? (await identity.ended()).filter((id) => gatewayIds.includes(id))
    : await isAlone()
    ? gatewayIds.filter((id) => !identity.ids.includes(id))
    : [];
  const read: string[] = [];
  const places = file === undefined ? [serverOutboxes(directory)] : outboxPlaces(file, directory);
  for (const id of ended) {
    // who has ended makes no more of them
    if (!await hasOutbox(places, id)) read.push(id);
  }
  return read;
}

/** How settlements are kept. */
export interface OutboxOptions {
  readonly gatewayId: string;
  /** The data directory. */
  readonly directory: string;
  readonly log: Log;
  /** Called when the database does not answer, again and again, and when it does. */
  readonly onState?: ((state: FileState) => void) | undefined;
}

/** Has settlements written behind: always for an embedded file, and while a server does not answer. */
export async function keepOutbox(
  database: Database,
  { gatewayId, directory, log, onState = () => {} }: OutboxOptions,
): Promise<void> {
  const onFault = (fault: unknown) =>
    fault === undefined
      ? log.warn("settlements are kept beside the database again")
      : log.error("settlements wait for the database: they cannot be kept beside it", {
        error: String(fault),
      });
  const onRefused = ({ error, item }: RefusedItem) =>
    log.error("the database refused to settle a request: see the audit", {
      error,
      item: JSON.stringify(item),
    });
  const onLost = (settlements: number) =>
    log.warn("the database has lost settlements that it had acknowledged: they are charged again", {
      settlements,
    });
  if (!isOpened(database)) return;
  const path = serverOutboxes(directory);
  const writes = RULES.behind ?? [];
  await database.keepOutbox({ path, gatewayId, writes, onState, onFault, onLost, onRefused });
}

/** Names outboxes in the log that are for another database: what is in them is charged to nobody. */
export async function nameForeignOutboxes(
  database: Database,
  { settings }: Config,
  log: Log,
): Promise<void> {
  const found = await foreignOutboxes(database, outboxDirectories(settings)).catch((error) => {
    log.warn("outboxes could not be read", { error: String(error) });
    return [];
  });
  for (const path of found) {
    log.error("an outbox has settlements of another database, which nobody charges", {
      path,
      database: database.place,
    });
  }
}

/** Interval at which outboxes are looked for that nobody writes any more. */
const SWEEP_MS = 2_000;

/** Takes what gateways and threads have kept that ended without order, for as long as it is not disposed. Failures are logged. */
export function sweepOutboxes(
  database: OpenedDatabase,
  log: Log,
): AsyncDisposable {
  let sweeping: Promise<void> | undefined;
  const timer = setInterval(() => {
    sweeping ??= database.takeOutboxes(RULES.behind ?? [], { onlyDead: true })
      .catch((error) => log.warn("outboxes could not be taken", { error: String(error) }))
      .finally(() => sweeping = undefined);
  }, SWEEP_MS);
  Deno.unrefTimer(timer);
  return {
    async [Symbol.asyncDispose]() {
      clearInterval(timer);
      await sweeping;
    },
  };
}

/** Closes the database if its clock cannot be read. */
async function databaseClock(
  database: Database,
  ownNow: () => number,
  isServer: boolean,
): Promise<DatabaseClock> {
  try {
    return await DatabaseClock.of(database, { ownNow, isServer });
  } catch (error) {
    await database.close();
    throw error;
  }
}

/** A gateway of the earlier version would go on writing into a schema that it does not know. */
async function noGatewayRuns(directory: string, file: string): Promise<void> {
  try {
    using _alone = await gatewayIdentity(directory);
    using _file = await databaseAlone(directory, file);
  } catch (error) {
    if (!(error instanceof DirectoryInUse)) throw error;
    throw new Error(
      "Cannot bring the database up to date while a gateway runs that was started with an earlier " +
        "program: restart the gateway, then try again",
      { cause: error },
    );
  }
}

/** The owner and its first key, issued at the first start unless the settings give one. */
export async function ensureOwner(
  { config, keys, registration }: Pick<Store, "config" | "keys" | "registration">,
): Promise<{ owner: Account; firstKey: string | undefined }> {
  const { key, email } = config.settings.owner;
  const owner = await registration.owner(email);
  if (key === undefined) return { owner, firstKey: await keys.issueFirst(owner) };
  await keys.adopt(owner, key.reveal());
  return { owner, firstKey: undefined };
}
