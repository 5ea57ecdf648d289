import type { Command } from "commander";
import { type Account, AccountError } from "../../people/accounts/mod.ts";
import type { Config } from "../../settings/config/mod.ts";
import { newReference } from "../../money/billing/mod.ts";
import { CREDITS } from "../../settings/config/mod.ts";
import { creditsOf } from "../../money/ledger/mod.ts";
import {
  CREDITS_GRANT,
  CREDITS_SELL,
  CREDITS_TAKE_BACK,
  isoOf,
} from "../../operating/operations/mod.ts";
import { type CommandContext, type CommandParts, UsageError } from "./context.ts";
import { defineCommand, option, required } from "./define_command.ts";
import { commandText, parseCount, parseDuration, parseMoney } from "./format.ts";
import { operate } from "./operate.ts";
import {
  checkPayer,
  payerName,
  payerOf,
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
      moving(context, options, "granted", async (parts, moved, config) => {
        const { sales, clock } = parts;
        if (options.credits === undefined && options.package === undefined) {
          throw new UsageError("pass --credits or --package");
        }
        if (options.package !== undefined && options.credits !== undefined) {
          const own = sales.package(options.package).credits;
          if (own !== null) {
            throw new UsageError(
              `--package sets the credits (${own}): omit --credits`,
            );
          }
        }
        if (options.package !== undefined && options.expires !== undefined) {
          throw new UsageError("--package sets the lifetime: omit --expires");
        }
        if (options.paid && options.package === undefined) {
          throw new UsageError("--paid requires --package");
        }
        if (options.amount !== undefined && !options.paid) {
          throw new UsageError("--amount requires --paid");
        }
        const price = options.amount === undefined ? undefined : {
          amount: parseMoney("--amount", options.amount, options.currency ?? "usd"),
          currency: options.currency ?? "usd",
        };
        const account = await payerOf(parts, options);
        const name = await payerName(parts, account);
        const amount = options.credits === undefined
          ? undefined
          : parseCount("--credits", options.credits, CREDITS);
        const reference = options.reference ?? newReference();
        const about = {
          account: account.id,
          reference,
          ...(options.note === undefined ? {} : { note: options.note }),
          ...(amount === undefined ? {} : { credits: amount }),
        };
        const operation = options.package === undefined ? CREDITS_GRANT : CREDITS_SELL;
        const input = options.package === undefined
          ? {
            ...about,
            expires_at: options.expires === undefined
              ? null
              : isoOf(clock.now() + parseDuration("--expires", options.expires)),
          }
          : {
            ...about,
            package: options.package,
            paid: options.paid ?? false,
            ...(price === undefined ? {} : { price }),
          };
        const reply = await repeatable(
          reference,
          () => operate({ context, parts, config }, operation, input),
        );
        const [lotId, isRepeated] = [String(reply.lot), reply.repeated === true];
        moved();
        const what = options.package === undefined
          ? `${amount!.toLocaleString("en-US")} credits`
          : `the package ${options.package}`;
        print(
          {
            account: account.email,
            lot: lotId,
            balance: await balanceAfter(context, parts, account, "granted"),
            reference,
            repeated: isRepeated,
          },
          ({ balance }) =>
            (isRepeated
              ? `Already granted under this reference, in ${lotId}. Nothing changed.\n`
              : `Granted ${what} to ${name}, in ${lotId}.\n`) +
            afterwards(name, balance, options.reference, reference),
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
      moving(context, options, "taken back", async (parts, moved, config) => {
        const account = await payerOf(parts, options);
        const name = await payerName(parts, account);
        const reference = options.reference ?? newReference();
        const reply = await repeatable(
          reference,
          () =>
            operate({ context, parts, config }, CREDITS_TAKE_BACK, {
              account: account.id,
              lot: options.lot,
              ...(options.credits === undefined
                ? {}
                : { credits: parseCount("--credits", options.credits, CREDITS) }),
              note: options.note,
              reference,
            }),
        );
        const taken = {
          lotId: String(reply.lot),
          credits: Number(reply.taken),
          bonusCredits: Number(reply.bonus_taken),
          id: String(reply.entry),
          isRepeated: reply.repeated === true,
        };
        moved();
        print(
          {
            account: account.email,
            lot: taken.lotId,
            taken: taken.credits,
            bonus_taken: taken.bonusCredits,
            entry: taken.id,
            balance: await balanceAfter(context, parts, account, "taken back"),
            reference,
            repeated: taken.isRepeated,
          },
          ({ balance }) =>
            (taken.isRepeated
              ? `${
                taken.credits.toLocaleString("en-US")
              } credits were taken back before under this ` +
                "reference. Nothing changed.\n"
              : `Took back ${taken.credits.toLocaleString("en-US")} credits of ${taken.lotId}.\n`) +
            (taken.bonusCredits === 0
              ? ""
              : `Also took back the inviter's bonus: ${taken.bonusCredits} credits.\n`) +
            afterwards(name, balance, options.reference, reference),
        );
      }),
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

/** Runs a command that moves credits. An error after they moved is reported, but the command succeeds. */
async function moving(
  context: CommandContext,
  options: PlaceOptions & PayerOptions,
  done: "granted" | "taken back",
  work: (parts: CommandParts, moved: () => void, config: Config) => Promise<void>,
): Promise<void> {
  checkPayer(options);
  let isMoved = false;
  try {
    await withParts(
      context,
      options,
      (parts, config) => work(parts, () => isMoved = true, config),
    );
  } catch (error) {
    if (!isMoved) throw error;
    const why = error instanceof Error ? error.message : String(error);
    context.err(`sluice: The credits were ${done}, but a later step failed: ${why}\n`);
  }
}

/** The balance after credits were moved; null, with a warning, if it cannot be read: they were moved. */
async function balanceAfter(
  context: CommandContext,
  { database, clock }: CommandParts,
  account: Account,
  done: "granted" | "taken back",
): Promise<number | null> {
  try {
    return (await creditsOf(database, account.id, clock.now())).balance;
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    context.err(`sluice: The credits were ${done}, but the balance could not be read: ${why}\n`);
    return null;
  }
}

function afterwards(
  name: string,
  balance: number | null,
  given: string | undefined,
  reference: string,
): string {
  return (balance === null ? "" : `${name} has ${balance.toLocaleString("en-US")} credits now.\n`) +
    (given === undefined ? `To repeat this command safely, add: --reference ${reference}\n` : "");
}
