import type { Command } from "commander";
import type { Account } from "../accounts/mod.ts";
import { type Config, databaseFile, loadConfig } from "../config/mod.ts";
import { type CommandContext, type CommandParts, UsageError } from "./context.ts";

/** Options that select the gateway of a command. */
export interface PlaceOptions {
  readonly config?: string;
  readonly data?: string;
}

/** Adds `--config` and `--data`. */
export function withPlace(command: Command): Command {
  return command
    .option("--config <file>", "settings file (default: SLUICE_CONFIG, or ./sluice.jsonc)")
    .option("--data <dir>", "data directory (default: SLUICE_DATA, or ./data)");
}

/** Adds `--json`. */
export function withJson(command: Command): Command {
  return command.option("--json", "print JSON");
}

/**
 * Loads the settings from file, environment and a command's options.
 *
 * @throws {ConfigError} If they are invalid.
 */
export async function readSettings(
  context: CommandContext,
  options: PlaceOptions & { readonly host?: string; readonly port?: string },
  { serving = true }: { readonly serving?: boolean } = {},
): Promise<Config> {
  const { host, port, data } = options;
  return await loadConfig({
    env: context.env,
    directory: context.directory,
    file: options.config,
    serving,
    flags: { host, port: port === undefined ? undefined : portOf(port), data },
  });
}

/**
 * Parses a port.
 *
 * @throws {UsageError} If the text is not a port.
 */
export function portOf(given: string): number {
  if (/^\d{1,5}$/.test(given) && Number(given) <= 65_535) return Number(given);
  throw new UsageError(`invalid port '${given}': must be 0 to 65535 (0 picks a free one)`);
}

/**
 * Opens the database, runs `work`, and closes it.
 *
 * @param make Whether to create a missing database. Otherwise it is an error, since `--data` is probably wrong.
 */
export async function withParts<T>(
  context: CommandContext,
  options: PlaceOptions,
  work: (parts: CommandParts, config: Config) => Promise<T>,
  { make = false, serving = false }: { readonly make?: boolean; readonly serving?: boolean } = {},
): Promise<T> {
  const config = await readSettings(context, options, { serving });
  const file = databaseFile(config.settings);
  if (!make && file !== undefined && !await exists(file)) {
    throw new Error(
      `No database at ${file}: start the gateway once, or fix --data (SLUICE_DATA)`,
    );
  }
  const isNew = file !== undefined && !await exists(file);
  await using parts = await context.openParts(config);
  await parts.owner(); // commands may come before the first start
  if (isNew) context.err(`sluice: created a new database at ${file}\n`);
  return await work(parts, config);
}

/** Prints `value` as JSON with `--json`, or as formatted by `text`. */
export function print<T>(
  context: CommandContext,
  options: { readonly json?: boolean },
  value: T,
  text: (value: T) => string,
): void {
  context.out(options.json ? `${JSON.stringify(value, null, 2)}\n` : text(value));
}

/** Gets an account by email address; the owner's without one. */
export async function accountOrOwner(
  { accounts, owner }: CommandParts,
  email: string | undefined,
): Promise<Account> {
  return email === undefined ? await owner() : await accounts.get(email);
}

/** Gets an account that may get a key. @throws If it is disabled. */
export async function activeAccount(
  parts: CommandParts,
  email: string | undefined,
): Promise<Account> {
  const account = await accountOrOwner(parts, email);
  if (account.disabledAtMs !== null) {
    throw new Error(
      `Account ${account.email} is disabled. Enable it with: sluice account enable ${account.email}`,
    );
  }
  return account;
}

/** Returns whether a path exists. */
export async function exists(path: string): Promise<boolean> {
  return await Deno.stat(path).then(() => true, () => false);
}
