import type { Command } from "commander";
import { type Account, AccountError } from "../accounts/mod.ts";
import { newReference } from "../billing/mod.ts";
import { audit, creditsOf, type Lot } from "../ledger/mod.ts";
import { type CommandContext, type CommandParts, UsageError } from "./context.ts";
import { parseCount, parseDuration, table, time } from "./format.ts";
import { progress } from "./progress.ts";
import {
  accountOrOwner,
  type PlaceOptions,
  print,
  withJson,
  withParts,
  withPlace,
} from "./settings.ts";

interface Options extends PlaceOptions {
  readonly json?: boolean;
}

interface GrantOptions extends Options {
  readonly account: string;
  readonly credits?: string;
  readonly expires?: string;
  readonly note?: string;
  readonly package?: string;
  readonly paid?: boolean;
  readonly reference?: string;
}

interface TakeBackOptions extends Options {
  readonly account: string;
  readonly lot: string;
  readonly credits?: string;
  readonly note: string;
  readonly reference?: string;
}

const REFERENCE = [
  "--reference <text>",
  "idempotency reference, e.g. an invoice number: the same reference never takes effect twice",
] as const;

/** `sluice credits …` and `sluice invite …` */
export function creditCommands(program: Command, context: CommandContext): void {
  const credits = program.command("credits").description("manage prepaid credits");

  withJson(withPlace(
    credits.command("grant").description("grant credits to an account")
      .requiredOption("--account <email>", "account email")
      .option("--credits <number>", "number of credits")
      .option("--expires <duration>", "lifetime, e.g. 12h, 30d, 8w (default: never expires)")
      .option("--note <text>", "reason, shown to the account")
      .option("--package <id>", "grant a package from the settings, with its credits and lifetime")
      .option(
        "--paid",
        "mark the package as paid: an account's first payment earns its inviter a bonus",
      )
      .option(...REFERENCE),
  )).addHelpText(
    "after",
    "\nExamples:\n  sluice credits grant --account ada@example.com --credits 500 --expires 30d\n" +
      "  sluice credits grant --account ada@example.com --package starter --paid \\\n" +
      "    --reference INV-2031",
  ).action((options: GrantOptions) =>
    moving(context, options, "granted", async ({ accounts, sales, database, clock }, moved) => {
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
      const account = await accounts.get(options.account);
      const amount = options.credits === undefined ? undefined : parseCount(options.credits);
      const reference = options.reference ?? newReference();
      const { lotId, isRepeated } = await repeatable(
        reference,
        () =>
          options.package === undefined
            ? sales.grant(account, {
              credits: amount!,
              note: options.note,
              expiresAtMs: options.expires === undefined
                ? null
                : clock.now() + parseDuration(options.expires),
              reference,
            })
            : sales.sell(account, sales.package(options.package), {
              paid: options.paid ?? false,
              credits: amount,
              note: options.note,
              reference,
            }),
      );
      moved();
      const what = options.package === undefined
        ? `${amount!.toLocaleString("en-US")} credits`
        : `the package ${options.package}`;
      print(
        context,
        options,
        {
          account: account.email,
          lot: lotId,
          balance: await balanceAfter(context, database, account, "granted"),
          reference,
          repeated: isRepeated,
        },
        ({ balance }) =>
          (isRepeated
            ? `Already granted under this reference, in ${lotId}. Nothing changed.\n`
            : `Granted ${what} to ${account.email}, in ${lotId}.\n`) +
          afterwards(account, balance, options.reference, reference),
      );
    })
  );

  withJson(withPlace(
    credits.command("take-back").description("take back the remaining credits of a grant")
      .requiredOption("--account <email>", "account email")
      .requiredOption("--lot <id>", "lot ID (lot_…), as listed by sluice credits show")
      .requiredOption("--note <text>", "reason, shown to the account")
      .option("--credits <number>", "number of credits (default: all that remain)")
      .option(...REFERENCE),
  )).addHelpText(
    "after",
    "\nCredits held by in-flight requests are not taken." +
      "\n\nExample:\n  sluice credits take-back --account ada@example.com --lot lot_… " +
      '--note "granted twice"',
  ).action((options: TakeBackOptions) =>
    moving(context, options, "taken back", async ({ accounts, sales, database }, moved) => {
      const account = await accounts.get(options.account);
      const reference = options.reference ?? newReference();
      const taken = await repeatable(reference, () =>
        sales.takeBack(account, {
          lotId: options.lot,
          credits: options.credits === undefined ? undefined : parseCount(options.credits),
          note: options.note,
          reference,
        }));
      moved();
      print(
        context,
        options,
        {
          account: account.email,
          lot: taken.lotId,
          taken: taken.credits,
          bonus_taken: taken.bonusCredits,
          entry: taken.id,
          balance: await balanceAfter(context, database, account, "taken back"),
          reference,
          repeated: taken.isRepeated,
        },
        ({ balance }) =>
          (taken.isRepeated
            ? `${
              taken.credits.toLocaleString("en-US")
            } credits were already taken back under this ` +
              "reference. Nothing changed.\n"
            : `Took back ${taken.credits.toLocaleString("en-US")} credits of ${taken.lotId}.\n`) +
          (taken.bonusCredits === 0
            ? ""
            : `Also took back the inviter's bonus: ${taken.bonusCredits} credits.\n`) +
          afterwards(account, balance, options.reference, reference),
      );
    })
  );

  withJson(withPlace(
    credits.command("show").description("show an account's balance and lots")
      .option("--account <email>", "account email (default: owner)"),
  )).action((options: Options & { account?: string }) =>
    withParts(context, options, async (parts) => {
      const { database, clock } = parts;
      const account = await accountOrOwner(parts, options.account);
      const own = await creditsOf(database, account.id, clock.now());
      print(
        context,
        options,
        {
          account: account.email,
          balance: own.balance,
          held: own.held,
          consumed: own.consumed,
          requests: own.requests,
          lots: own.lots.map(plain),
        },
        (value) => {
          const { lots, ...sums } = value;
          return `${table([sums])}\n${table(lots.map(row))}`;
        },
      );
    })
  );

  withJson(withPlace(
    credits.command("audit").description(
      "recompute the ledger from its entries and records; exit status 1 on any mismatch",
    ),
  )).action((options: Options) =>
    withParts(context, options, async ({ database }) => {
      using told = progress(context, "checking");
      const report = await audit(database, told.tell);
      told.end();
      print(context, options, report, ({ mismatches, uncollected, ...counts }) =>
        table([counts]) +
        (uncollected.requests === 0
          ? ""
          : `\n${uncollected.credits} credits of ${uncollected.requests} requests were not ` +
            "collected: the charge exceeded the balance.\n") +
        (mismatches.length === 0
          ? "\nNo mismatches found.\n"
          : `\n${table(mismatches.map((one) => ({ ...one })))}`));
      if (report.mismatches.length > 0) {
        throw new Error(`${report.mismatches.length} rows do not match`);
      }
    })
  );

  const invite = program.command("invite").description("manage invite codes");
  withJson(withPlace(
    invite.command("show").description("show an account's invite code and who used it")
      .option("--account <email>", "account email (default: owner)"),
  )).action((options: Options & { account?: string }) =>
    withParts(context, options, async (parts) => {
      const { accounts, registration } = parts;
      const account = await accountOrOwner(parts, options.account);
      const code = await accounts.inviteCode(account);
      const joined = (await registration.invitations(account)).map((one) => ({
        email: one.email,
        joined_at: new Date(one.joinedAtMs).toISOString(),
        credits_earned: one.earned,
      }));
      print(
        context,
        options,
        { account: account.email, code, joined },
        () => `${code}\n\n${table(joined)}`,
      );
    })
  );
}

/**
 * Moves credits, and retries once after a database error, which is safe as the same reference takes effect once.
 *
 * @throws {Error} After a second failure, with the command's reference to repeat it with.
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
        `--reference ${JSON.stringify(reference)}: it takes effect only once.`,
    );
  }
}

/** Runs a command that moves credits. An error after they moved is reported, but does not fail the command. */
async function moving(
  context: CommandContext,
  options: PlaceOptions,
  done: "granted" | "taken back",
  work: (parts: CommandParts, moved: () => void) => Promise<void>,
): Promise<void> {
  let isMoved = false;
  try {
    await withParts(context, options, (parts) => work(parts, () => isMoved = true));
  } catch (error) {
    if (!isMoved) throw error;
    const why = error instanceof Error ? error.message : String(error);
    context.err(`sluice: The credits were ${done}, but a later step failed: ${why}\n`);
  }
}

/** Reads the balance after credits moved. Warns and returns `null` if that fails. */
async function balanceAfter(
  context: CommandContext,
  database: CommandParts["database"],
  account: Account,
  done: "granted" | "taken back",
): Promise<number | null> {
  try {
    return (await creditsOf(database, account.id, context.now())).balance;
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    context.err(`sluice: The credits were ${done}, but the balance could not be read: ${why}\n`);
    return null;
  }
}

function afterwards(
  account: Account,
  balance: number | null,
  given: string | undefined,
  reference: string,
): string {
  return (balance === null
    ? ""
    : `${account.email} has ${balance.toLocaleString("en-US")} credits now.\n`) +
    (given === undefined ? `To repeat this command safely, add: --reference ${reference}\n` : "");
}

function plain(lot: Lot) {
  return {
    id: lot.id,
    source: lot.source,
    note: lot.note,
    granted: lot.granted,
    remaining: lot.remaining,
    created_at: new Date(lot.createdAtMs).toISOString(),
    expires_at: lot.expiresAtMs === null ? null : new Date(lot.expiresAtMs).toISOString(),
  };
}

function row({ created_at, expires_at, note, ...lot }: ReturnType<typeof plain>) {
  return {
    ...lot,
    created: time(Date.parse(created_at)),
    expires: expires_at === null ? null : time(Date.parse(expires_at)),
    note: note || null,
  };
}
