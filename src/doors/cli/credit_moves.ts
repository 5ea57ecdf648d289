import type { Command } from "commander";
import { AccountError } from "../../people/accounts/mod.ts";
import { newReference } from "../../money/billing/mod.ts";
import { CREDITS } from "../../settings/config/mod.ts";
import {
  CREDITS_GRANT,
  CREDITS_SELL,
  CREDITS_TAKE_BACK,
  isoOf,
  type Json,
  type ReplyOf,
} from "../../operating/operations/mod.ts";
import { type CommandContext, type CommandParts, UsageError } from "./context.ts";
import { defineCommand, option, required } from "./define_command.ts";
import { commandText, parseCount, parseDuration, parseMoney } from "./format.ts";
import { operate } from "./operate.ts";
import {
  checkPayer,
  payerName,
  type PayerOptions,
  type PlaceOptions,
  withParts,
} from "./settings.ts";

interface GrantOptions {
  readonly account?: string;
  readonly team?: string;
  readonly credits?: string;
  readonly expires?: string;
  readonly note?: string;
  readonly package?: string;
  readonly paid?: boolean;
  readonly amount?: string;
  readonly currency?: string;
  readonly reference?: string;
}

interface TakeBackOptions {
  readonly account?: string;
  readonly team?: string;
  readonly lot: string;
  readonly credits?: string;
  readonly note: string;
  readonly reference?: string;
}

const REFERENCE = option(
  "--reference <text>",
  "idempotency reference, e.g. an invoice number: the same reference never takes effect twice",
);

/** `sluice credits grant` and `sluice credits take-back` */
export function creditMoveCommands(credits: Command, context: CommandContext): void {
  defineCommand<GrantOptions>(credits, context, {
    name: "grant",
    description: "grant credits to an account",
    options: [
      option("--account <email>", "account email"),
      option("--team <team>", "name or ID of the team whose pool it is, instead of an account"),
      option("--credits <number>", "number of credits"),
      option("--expires <duration>", "lifetime, e.g. 12h, 30d, 8w (default: never expires)"),
      option("--note <text>", "reason, shown to the account"),
      option("--package <id>", "grant a package from the settings, with its credits and lifetime"),
      option(
        "--paid",
        "mark the package as paid: an account's first payment earns its inviter a bonus",
      ),
      option("--amount <number>", "what was paid, e.g. 1200.00 (default: the package's price)"),
      option("--currency <code>", "currency of --amount", "usd"),
      REFERENCE,
    ],
    help:
      "\nExamples:\n  sluice credits grant --account ada@example.com --credits 500 --expires 30d\n" +
      "  sluice credits grant --account ada@example.com --package starter --paid \\\n" +
      "    --reference INV-2031",
    opens: "place",
    run: ({ options, print }) =>
      moving(context, options, "granted", async (move, parts) => {
        const { credits, package: sold, expires, paid = false, amount, note } = options;
        const { currency = "usd" } = options;
        if (credits === undefined && sold === undefined) {
          throw new UsageError("pass --credits or --package");
        }
        if (sold !== undefined && expires !== undefined) {
          throw new UsageError("--package sets the lifetime: omit --expires");
        }
        if (paid && sold === undefined) throw new UsageError("--paid requires --package");
        if (amount !== undefined && !paid) throw new UsageError("--amount requires --paid");
        const price = amount === undefined
          ? undefined
          : { amount: parseMoney("--amount", amount, currency), currency };
        const common = { credits: creditsIn(credits), note };
        const reply = sold === undefined
          ? await move(CREDITS_GRANT, {
            ...common,
            expires_at: expires === undefined
              ? null
              : isoOf(parts.clock.now() + parseDuration("--expires", expires)),
          })
          : await move(CREDITS_SELL, { ...common, package: sold, paid, price });
        const what = sold === undefined
          ? `${common.credits!.toLocaleString("en-US")} credits`
          : `the package ${sold}`;
        const name = await payerName(parts, await parts.accounts.get(reply.account));
        print(
          reply,
          ({ lot, repeated }) =>
            (repeated
              ? `Already granted under this reference, in ${lot}. Nothing changed.\n`
              : `Granted ${what} to ${name}, in ${lot}.\n`) + afterwards(name, reply, options),
        );
      }),
  });

  defineCommand<TakeBackOptions>(credits, context, {
    name: "take-back",
    description: "take back the remaining credits of a grant",
    options: [
      option("--account <email>", "account email"),
      option("--team <team>", "name or ID of the team whose pool it is, instead of an account"),
      required("--lot <id>", "lot ID (lot_…), as listed by sluice credits show"),
      required("--note <text>", "reason, shown to the account"),
      option("--credits <number>", "number of credits (default: all that remain)"),
      REFERENCE,
    ],
    help: "\nCredits held by in-flight requests are not taken." +
      "\n\nExample:\n  sluice credits take-back --account ada@example.com --lot lot_… " +
      '--note "granted twice"',
    opens: "place",
    run: ({ options, print }) =>
      moving(context, options, "taken back", async (move, parts) => {
        const { lot, note } = options;
        const reply = await move(CREDITS_TAKE_BACK, {
          lot,
          note,
          credits: creditsIn(options.credits),
        });
        const name = await payerName(parts, await parts.accounts.get(reply.account));
        const taken = `${reply.taken.toLocaleString("en-US")} credits`;
        print(
          reply,
          ({ repeated, bonus_taken }) =>
            (repeated
              ? `${taken} were taken back before under this reference. Nothing changed.\n`
              : `Took back ${taken} of ${reply.lot}.\n`) +
            (bonus_taken === 0
              ? ""
              : `Also took back the inviter's bonus: ${bonus_taken} credits.\n`) +
            afterwards(name, reply, options),
        );
      }),
  });
}

function creditsIn(text: string | undefined): number | undefined {
  return text === undefined ? undefined : parseCount("--credits", text, CREDITS);
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

/** Carries out the operation that moves credits, once. */
type Move = <O extends typeof CREDITS_GRANT | typeof CREDITS_TAKE_BACK | typeof CREDITS_SELL>(
  operation: O,
  input: Json,
) => Promise<ReplyOf<O>>;

/** Runs a command that moves credits. An error after they moved is reported, but the command succeeds. */
async function moving(
  context: CommandContext,
  options: PlaceOptions & PayerOptions & { readonly reference?: string },
  done: "granted" | "taken back",
  work: (move: Move, parts: CommandParts) => Promise<void>,
): Promise<void> {
  const { account, team, reference = newReference() } = options;
  checkPayer(options);
  let isMoved = false;
  const later = (what: string) => context.err(`sluice: The credits were ${done}, but ${what}\n`);
  try {
    await withParts(
      context,
      options,
      (parts, config) =>
        work(async (operation, members) => {
          const input = { ...members, account, team, reference };
          const reply = await repeatable(
            reference,
            () => operate({ context, parts, config }, operation, input, { flags: FLAGS }),
          );
          isMoved = true;
          if (reply.balance === null) later("the balance could not be read");
          return reply;
        }, parts),
    );
  } catch (error) {
    if (!isMoved) throw error;
    later(`a later step failed: ${error instanceof Error ? error.message : String(error)}`);
  }
}

/** Options by the members of the input that an operation may refuse. */
const FLAGS = { credits: "--credits" };

function afterwards(
  name: string,
  { balance, reference }: { readonly balance: number | null; readonly reference: string },
  given: { readonly reference?: string },
): string {
  return (balance === null ? "" : `${name} has ${balance.toLocaleString("en-US")} credits now.\n`) +
    (given.reference === undefined
      ? `To repeat this command safely, add: --reference ${reference}\n`
      : "");
}
