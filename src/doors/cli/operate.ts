import { AccountError } from "../../people/accounts/mod.ts";
import type { Config } from "../../settings/config/mod.ts";
import { type By, OperationError, shellActor } from "../../people/operation_log/mod.ts";
import {
  type Json,
  type Operation,
  perform,
  performRead,
  type ReadOperation,
  type ReplyOf,
} from "../../operating/operations/mod.ts";
import { ReportError, SpentByKey } from "../../money/usage/mod.ts";
import { gatewayAddress } from "./address.ts";
import { type CommandContext, type CommandParts, UsageError } from "./context.ts";
import { servedCatalog } from "./served_catalog.ts";

/** Items of a page. */
const PAGE = 500;

/** What an operation is carried out with. */
interface Open {
  readonly context: CommandContext;
  readonly parts: CommandParts;
  readonly config: Config;
}

/** How an operation is carried out. */
export interface OperateOptions {
  /** The flags by which members of the input were given: a fault of one is wrong usage. */
  readonly flags?: Readonly<Record<string, string>>;
  /** Max number of items of a list. Default: all. */
  readonly max?: number | undefined;
}

/**
 * Carries out an operation. A write is recorded in the log as that of the shell's user; a list is read to its end.
 *
 * @returns The API's reply.
 * @throws {UsageError} If a value is invalid that an option gave.
 * @throws {AccountError} If it cannot be carried out.
 */
export async function operate<O extends Operation>(
  { context, parts, config }: Open,
  operation: O,
  input: Json,
  { flags = {}, max }: OperateOptions = {},
): Promise<ReplyOf<O>> {
  const all = {
    ...parts,
    config,
    now: () => parts.clock.now(),
    catalog: () => servedCatalog(config, context),
    spent: new SpentByKey(parts.database),
    address: async () => (await gatewayAddress(config)).url,
  };
  const read = (one: ReadOperation, more: Json) => performRead(all, shellBy(), one, more);
  try {
    const reply = operation.kind === "write"
      ? await perform(all, shellBy(), operation, input)
      : operation.isList && "limit" in operation.input.shape
      ? await wholeList((page) => read(operation, { ...input, ...page }), max)
      : await read(operation, input);
    return reply as ReplyOf<O>; // tests compare replies with the schemas of operations
  } catch (error) {
    if (!(error instanceof OperationError)) throw error;
    if (error.cause instanceof ReportError) throw asCommandError(error.cause);
    const message = error.message.replace(/\.$/, "");
    const flag = flags[error.param ?? ""];
    if (error.code === "invalid_request" && flag !== undefined) {
      throw new UsageError(`${flag}: ${message}`, { cause: error });
    }
    const [, noun] = error.code === "not_found" && /^(\w+) "/.exec(message) || [];
    const advice = noun === undefined ? undefined : ADVICE[noun];
    throw new AccountError(advice === undefined ? message : `${message}${advice}`, {
      cause: error,
    });
  }
}

/** What a command fails with if it is a report that fails. */
export function asCommandError(error: unknown): unknown {
  if (!(error instanceof ReportError)) return error;
  const message = error.message.replace(/\.$/, "");
  return error.isMissing ? new AccountError(message) : new UsageError(message, { cause: error });
}

/** What to do where something was not found. */
const ADVICE: Readonly<Record<string, string>> = {
  Account: ". List accounts with: sluice account list",
  Team: ". List teams with: sluice team list",
  Key: ". List keys with: sluice key list",
  Request:
    ": it was not admitted, is still in flight, or its record was pruned. The gateway's log has more",
};

/** Reads pages up to a number of items; the reply is that of one long page. */
async function wholeList(page: (input: Json) => Promise<Json>, max = Infinity): Promise<Json> {
  const data: unknown[] = [];
  for (let after = {};;) {
    const limit = Math.min(PAGE, max - data.length);
    const reply = await page({ ...after, limit });
    data.push(...reply.data as unknown[]);
    if (!reply.has_more || data.length >= max) return { ...reply, data };
    after = { after: reply.next };
  }
}

/** Who runs a command, and from where. */
export function shellBy(): By {
  return { actor: shellActor(), origin: { door: "command", address: null } };
}
