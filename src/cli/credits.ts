import type { Command } from "commander";
import { audit, creditsOf, type Lot } from "../ledger/mod.ts";
import { type CommandContext, UsageError } from "./context.ts";
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
}

/** `sluice credits …` and `sluice invite …` */
export function creditCommands(program: Command, context: CommandContext): void {
  const credits = program.command("credits").description("the prepaid ledger");

  withJson(withPlace(
    credits.command("grant").description("give credits to an account")
      .requiredOption("--account <email>", "who gets them")
      .option("--credits <number>", "how many")
      .option("--expires <duration>", "valid for so long: 12h, 30d, 8w; without it for ever")
      .option("--note <text>", "why")
      .option("--package <id>", "a package of the settings, with its credits and validity")
      .option("--paid", "the package was paid for: a first payment earns the inviter a bonus"),
  )).addHelpText(
    "after",
    "\nExamples:\n  sluice credits grant --account ada@example.com --credits 500 --expires 30d\n" +
      "  sluice credits grant --account ada@example.com --package starter --paid",
  ).action((options: GrantOptions) =>
    withParts(context, options, async ({ accounts, sales, database, clock }) => {
      if (options.credits === undefined && options.package === undefined) {
        throw new UsageError("give --credits or --package");
      }
      if (options.package !== undefined && options.credits !== undefined) {
        const own = sales.package(options.package).credits;
        if (own !== null) {
          throw new UsageError(
            `--credits is the package's own (${own}): leave it out with --package`,
          );
        }
      }
      if (options.package !== undefined && options.expires !== undefined) {
        throw new UsageError("--expires is the package's own: leave it out with --package");
      }
      if (options.paid && options.package === undefined) {
        throw new UsageError("--paid goes with --package");
      }
      const account = await accounts.get(options.account);
      const amount = options.credits === undefined ? undefined : parseCount(options.credits);
      const lot = options.package === undefined
        ? await sales.grant(account, {
          credits: amount!,
          note: options.note,
          expiresAtMs: options.expires === undefined
            ? null
            : clock.now() + parseDuration(options.expires),
        })
        : await sales.sell(account, sales.package(options.package), {
          paid: options.paid ?? false,
          credits: amount,
          note: options.note,
        });
      const { balance } = await creditsOf(database, account.id, clock.now());
      print(
        context,
        options,
        { account: account.email, lot, balance },
        () => `${account.email} has ${balance.toLocaleString("en-US")} credits now.\n`,
      );
    })
  );

  withJson(withPlace(
    credits.command("show").description("an account's balance and what it is made of")
      .option("--account <email>", "whose (default: the owner's)"),
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
            "collected: their price was above what was left.\n") +
        (mismatches.length === 0
          ? "\nEverything adds up.\n"
          : `\n${table(mismatches.map((one) => ({ ...one })))}`));
      if (report.mismatches.length > 0) {
        throw new Error(`${report.mismatches.length} rows do not add up`);
      }
    })
  );

  const invite = program.command("invite").description("invite codes");
  withJson(withPlace(
    invite.command("show").description("an account's invite code and who used it")
      .option("--account <email>", "whose (default: the owner's)"),
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
