import { AccountError } from "../../people/accounts/mod.ts";
import type { Config } from "../../settings/config/mod.ts";
import { type By, OperationError, shellActor } from "../../people/operation_log/mod.ts";
import { type Json, perform, type WriteOperation } from "../../operating/operations/mod.ts";
import { gatewayAddress } from "./address.ts";
import type { CommandContext, CommandParts } from "./context.ts";
import { servedCatalog } from "./served_catalog.ts";

/** Carries out a write of an operator, which is recorded in the log as that of the shell's user. */
export async function operate(
  { context, parts, config }: {
    readonly context: CommandContext;
    readonly parts: CommandParts;
    readonly config: Config;
  },
  operation: WriteOperation,
  input: Json,
): Promise<Json> {
  try {
    return await perform(
      {
        ...parts,
        config,
        now: () => parts.clock.now(),
        catalog: () => servedCatalog(config, context),
        address: async () => (await gatewayAddress(config)).url,
      },
      shellBy(),
      operation,
      input,
    );
  } catch (error) {
    if (!(error instanceof OperationError)) throw error;
    throw new AccountError(error.message.replace(/\.$/, ""), { cause: error });
  }
}

/** Who runs a command, and from where. */
export function shellBy(): By {
  return { actor: shellActor(), origin: { door: "command", address: null } };
}
