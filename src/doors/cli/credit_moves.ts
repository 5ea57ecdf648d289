import type { Command } from "commander";
import { AccountError } from "../../people/accounts/mod.ts";
import { newReference } from "../../money/billing/mod.ts";
import {
  CREDITS_GRANT,
  CREDITS_SELL,
  CREDITS_TAKE_BACK,
  type Json,
  type ReplyOf,
} from "../../operating/operations/mod.ts";
import { type CommandContext, UsageError } from "./context.ts";
import { option } from "./define_command.ts";
import { commandText, parseMoney } from "./format.ts";
import { lifetime, operationCommand, type OperationRun } from "./operation_command.ts";
import { payerName } from "./settings.ts";

const PAYER = {
  account: ["--account <email>", "account email"],
  team: ["--team <team>", "name or ID of the team whose pool it is, instead of an account"],
} as const;
const REFERENCE = option(
  "--reference <text>",
  "idempotency reference, e.g. an invoice number: the same reference never takes effect twice",
);

/** `sluice credits grant` and `sluice credits take-back` */
export function creditMoveCommands(credits: Command, context: CommandContext): void {
  const granting = moving(context, "granted");
  operationCommand(credits, context, CREDITS_GRANT, {
    name: "grant",
    description: "grant credits to an account",
    fields: {
      ...PAYER,
      credits: ["--credits <number>", "number of credits"],
      expires_at: [
        "--expires <duration>",
        "lifetime, e.g. 12h, 30d, 8w (default: never expires)",
        lifetime,
      ],
      note: ["--note <text>", "reason, shown to the account"],
    },
    optional: ["credits"],
    options: [
      option("--package <id>", "grant a package from the settings, with its credits and lifetime"),
      option(
        "--paid",
        "mark the package as paid: an account's first payment earns its inviter a bonus",
      ),
      option("--amount <number>", "what was paid, e.g. 1200.00 (default: the package's price)"),
      option("--currency <code>", "currency of --amount", "usd"),
      REFERENCE,
    ],
    unnamed: "wrong",
    help:
      "\nExamples:\n  sluice credits grant --account ada@example.com --credits 500 --expires 30d\n" +
      "  sluice credits grant --account ada@example.com --package starter --paid \\\n" +
      "    --reference INV-2031",
    around: granting.around,
    given({ options: { credits, package: sold, expires, paid, amount } }) {
      if (credits === undefined && sold === undefined) {
        throw new UsageError("pass --credits or --package");
      }
      if (sold !== undefined && expires !== undefined) {
        throw new UsageError("--package sets the lifetime: omit --expires");
      }
      if (paid && sold === undefined) throw new UsageError("--paid requires --package");
      if (amount !== undefined && !paid) throw new UsageError("--amount requires --paid");
      return {};
    },
    async carryOut(input, run) {
      const { package: sold, paid, amount, currency = "usd" } = run.options;
      if (sold === undefined) return await granting.move(CREDITS_GRANT, input, run);
      const price = amount === undefined
        ? undefined
        : { amount: parseMoney("--amount", amount, currency), currency };
      const sale = { ...input, package: sold, paid: paid !== undefined, price };
      return await granting.move(CREDITS_SELL, sale, run);
    },
    async text({ lot, repeated, ...reply }, { input, options, parts }) {
      const what = options.package === undefined
        ? `${Number(input.credits).toLocaleString("en-US")} credits`
        : `the package ${options.package}`;
      const name = await payerName(parts, await parts.accounts.get(reply.account));
      return (repeated
        ? `Already granted under this reference, in ${lot}. Nothing changed.\n`
        : `Granted ${what} to ${name}, in ${lot}.\n`) + afterwards(name, reply, options);
    },
  });

  const taking = moving(context, "taken back");
  operationCommand(credits, context, CREDITS_TAKE_BACK, {
    name: "take-back",
    description: "take back the remaining credits of a grant",
    fields: {
      ...PAYER,
      lot: ["--lot <id>", "lot ID (lot_…), as listed by sluice credits show"],
      note: ["--note <text>", "reason, shown to the account"],
      credits: ["--credits <number>", "number of credits (default: all that remain)"],
    },
    options: [REFERENCE],
    unnamed: "wrong",
    help: "\nCredits held by in-flight requests are not taken." +
      "\n\nExample:\n  sluice credits take-back --account ada@example.com --lot lot_… " +
      '--note "granted twice"',
    around: taking.around,
    carryOut: (input, run) => taking.move(CREDITS_TAKE_BACK, input, run),
    async text({ lot, taken, bonus_taken, repeated, ...reply }, { options, parts }) {
      const name = await payerName(parts, await parts.accounts.get(reply.account));
      const credits = `${taken.toLocaleString("en-US")} credits`;
      return (repeated
        ? `${credits} were taken back before under this reference. Nothing changed.\n`
        : `Took back ${credits} of ${lot}.\n`) +
        (bonus_taken === 0 ? "" : `Also took back the inviter's bonus: ${bonus_taken} credits.\n`) +
        afterwards(name, reply, options);
    },
  });
}

/**
 * Moves credits. As the same reference moves them once, it is tried again after a fault of the database; one
 * that stays says how to repeat the command.
 */
async function repeatable<T>(reference: string, move: () => Promise<T>): Promise<T> {
  const isMistake = (error: unknown) =>
    error instanceof AccountError || error instanceof UsageError;
  try {
    return await move();
  } catch (error) {
    if (isMistake(error)) throw error;
  }
  try {
    return await move();
  } catch (error) {
    if (isMistake(error)) throw error;
    throw new Error(
      `${error instanceof Error ? error.message : String(error)}\n` +
        "It is unknown whether the credits moved. To be sure, repeat the command with " +
        `${commandText("", { options: { reference } }).trim()}: it takes effect only once.`,
    );
  }
}

/** Operations that move credits, each once by its reference. */
type Move = typeof CREDITS_GRANT | typeof CREDITS_TAKE_BACK | typeof CREDITS_SELL;

/** What a command moves credits by. An error after they moved is reported, but the command succeeds. */
function moving(context: CommandContext, done: "granted" | "taken back") {
  let isMoved = false;
  const later = (what: string) => context.err(`sluice: The credits were ${done}, but ${what}\n`);
  return {
    async around(work: () => Promise<void>): Promise<void> {
      try {
        await work();
      } catch (error) {
        if (!isMoved) throw error;
        later(`a later step failed: ${error instanceof Error ? error.message : String(error)}`);
      }
    },
    async move<O extends Move>(operation: O, input: Json, { options, perform }: OperationRun) {
      const { reference = newReference() } = options;
      const move = () => perform(operation, { ...input, reference });
      const reply: ReplyOf<O> = await repeatable(reference, move);
      isMoved = true;
      if (reply.balance === null) later("the balance could not be read");
      return reply;
    },
  };
}

function afterwards(
  name: string,
  { balance, reference }: { readonly balance: number | null; readonly reference: string },
  given: OperationRun["options"],
): string {
  return (balance === null
    ? ""
    : `${name.replace(/^the pool/, "The pool")} has ${
      balance.toLocaleString("en-US")
    } credits now.\n`) +
    (given.reference === undefined
      ? `To repeat this command safely, add: --reference ${reference}\n`
      : "");
}
