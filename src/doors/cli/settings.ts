import type { Account } from "../../people/accounts/mod.ts";
import { type Config, databaseFile, hostIn, loadConfig, PORT } from "../../settings/config/mod.ts";
import { type CommandContext, type CommandParts, UsageError } from "./context.ts";
import { commandText, parseCount } from "./format.ts";
import { noticeLocalPlaces } from "./local_places.ts";

/** Options that say which gateway a command is about. */
export interface PlaceOptions {
  readonly config?: string;
  readonly data?: string;
  /** Whether a database is made where `data` names none. */
  readonly create?: boolean;
}

/**
 * Settings as file, environment and the command's own options give them.
 *
 * @param how.namesPlaces Whether the command itself prints where settings and data are.
 */
export async function readSettings(
  context: CommandContext,
  options: PlaceOptions & {
    readonly host?: string;
    readonly port?: string;
    readonly workers?: string;
  },
  { serving = true, namesPlaces = false }: {
    readonly serving?: boolean;
    readonly namesPlaces?: boolean;
  } = {},
): Promise<Config> {
  const { host, port, workers, data } = options;
  const config = await loadConfig({
    env: context.env,
    directory: context.directory,
    file: options.config,
    serving,
    flags: {
      host: host === undefined ? undefined : hostOf(host),
      port: port === undefined ? undefined : portOf(port),
      workers: workers === undefined ? undefined : workersOf(workers),
      data,
    },
  });
  if (!namesPlaces) await noticeLocalPlaces(context, config);
  return config;
}

/**
 * A port as a flag names it.
 *
 * @throws {UsageError} for anything else.
 */
export function portOf(given: string): number {
  return parseCount("--port", given, PORT);
}

/** A host as a flag names it. @throws {UsageError} For anything else. */
export function hostOf(given: string): string {
  try {
    return hostIn(given);
  } catch (error) {
    throw error instanceof RangeError ? new UsageError(`--host ${error.message}`) : error;
  }
}

/** Makes sure that the port can be listened on. @throws {Error} If it cannot. */
export function tryPort({ host, port }: { readonly host: string; readonly port: number }): void {
  try {
    Deno.listen({ hostname: host, port }).close();
  } catch (error) {
    const why = error instanceof Deno.errors.AddrInUse
      ? "the port is in use. Choose another with --port (0 picks a free one)"
      : `${error instanceof Error ? error.message : error}. Check --host and --port`;
    throw new Error(`Cannot listen on ${host}:${port}: ${why}`, { cause: error });
  }
}

/**
 * A number of serving threads as a flag names it.
 *
 * @throws {UsageError} for anything else; the settings say which numbers are allowed.
 */
function workersOf(given: string): number | string {
  if (given === "auto") return given;
  return parseCount("--workers", given, { min: 1, max: 9_999 });
}

/**
 * Runs `work` with the database open, and closes it.
 *
 * @param how.make Whether a database that is not there yet is made; else that is a mistyped `--data`.
 * @param how.check Looks for wrong usage before anything is opened or made.
 * @param how.rehearse Fails where `work` would, in a database that is thrown away, before a new one is made.
 */
export async function withParts<T>(
  context: CommandContext,
  options: PlaceOptions,
  work: (parts: CommandParts, config: Config) => Promise<T>,
  { make = false, check, rehearse }: {
    readonly make?: boolean;
    readonly check?: (config: Config) => void | Promise<void>;
    readonly rehearse?:
      | ((parts: CommandParts, config: Config) => Promise<unknown>)
      | undefined;
  } = {},
): Promise<T> {
  const config = await readSettings(context, options, { serving: false });
  await check?.(config);
  const file = databaseFile(config.settings);
  if (!make && file !== undefined && !await exists(file)) {
    throw new Error(
      `No database at ${file} (${config.places.data.why}): start the gateway once, or fix --data (SLUICE_DATA)`,
    );
  }
  const isNew = file !== undefined && !await exists(file);
  if (isNew) {
    if (rehearse !== undefined) await inThrowaway(context, config, rehearse);
    confirmNew(context, options, file);
  }
  await using parts = await context.openParts(config);
  await parts.owner(); // commands may come before the first start
  if (isNew) context.err(`sluice: created a new database at ${file}\n`);
  return await work(parts, config);
}

/** Runs `work` with a new database that nobody else sees. */
async function inThrowaway(
  context: CommandContext,
  { settings, ...config }: Config,
  work: (parts: CommandParts, config: Config) => Promise<unknown>,
): Promise<void> {
  const data = await Deno.makeTempDir({ prefix: "sluice-rehearsal-" });
  try {
    const here = { ...config, settings: { ...settings, data, database: {} } };
    await using parts = await context.openParts(here);
    await parts.owner();
    await work(parts, here);
  } finally {
    await Deno.remove(data, { recursive: true });
  }
}

/**
 * Asks before a database is made in a directory that `--data` names: it may be mistyped.
 *
 * @throws {Error} Unless a person agrees, or `--create` is given.
 */
export function confirmNew(
  { confirm }: CommandContext,
  { data, create = false }: PlaceOptions,
  file: string,
): void {
  if (data === undefined || create || confirm(`No database at ${file}. Make one?`) === true) return;
  throw new Error(`No database at ${file} (--data): make one with --create, or fix --data`);
}

/** The account of an address; the owner's when none is given. */
export async function accountOrOwner(
  { accounts, owner }: CommandParts,
  email: string | undefined,
): Promise<Account> {
  return email === undefined ? await owner() : await accounts.get(email);
}

/** What a payer is called: the pool of a team by its team, which people know, instead of an address that nobody has. */
export async function payerName({ teams }: CommandParts, account: Account): Promise<string> {
  const team = account.kind === "pool" ? await teams.ofPool(account.id) : undefined;
  return team === undefined ? account.email : `the pool of ${team.name}`;
}

/** The account of an address, or the owner's, to be given a key. */
export async function activeAccount(
  parts: CommandParts,
  email: string | undefined,
): Promise<Account> {
  const account = await accountOrOwner(parts, email);
  if (account.disabledAtMs !== null) {
    throw new Error(
      `Account ${account.email} is disabled. Enable it with: ${
        commandText("sluice account enable", { args: [account.email] })
      }`,
    );
  }
  return account;
}

/** Whether there is something of that name. */
export async function exists(path: string): Promise<boolean> {
  return await Deno.stat(path).then(() => true, () => false);
}
