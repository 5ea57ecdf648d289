import type { Command } from "commander";
import { rememberAudit } from "../../operating/alerts/mod.ts";
import { audit } from "../../money/ledger/mod.ts";
import { CREDITS_GET, type ReplyOf } from "../../operating/operations/mod.ts";
import { debtOf } from "../../money/payments/mod.ts";
import type { CommandContext } from "./context.ts";
import { creditMoveCommands } from "./credit_moves.ts";
import { defineCommand, option } from "./define_command.ts";
import { table, time } from "./format.ts";
import { checkoutCommand } from "./payments.ts";
import { operationCommand } from "./operation_command.ts";
import { progress } from "./progress.ts";
import { accountOrOwner, payerName } from "./settings.ts";

/** `sluice credits …` and `sluice invite …` */
export function creditCommands(program: Command, context: CommandContext): void {
  const credits = program.command("credits").description("manage prepaid credits");

  creditMoveCommands(credits, context);
  checkoutCommand(credits, context);

  operationCommand(credits, context, CREDITS_GET, {
    name: "show",
    fields: {
      account: ["--account <email>", "account email (default: owner)"],
      team: ["--team <team>", "name or ID of a team, instead of an account"],
    },
    unnamed: "owner",
    async carryOut(input, { perform, parts }) {
      const { lots, ...sums } = await perform(CREDITS_GET, input);
      const { id } = await parts.accounts.get(sums.account);
      return { ...sums, owed: await debtOf(parts.database, id), lots };
    },
    async text({ lots, ...sums }, { parts }) {
      const account = await payerName(parts, await parts.accounts.get(sums.account));
      return `${table([{ ...sums, account }])}\n${table(lots.map(row))}`;
    },
  });

  defineCommand(credits, context, {
    name: "audit",
    description: "recompute the ledger from its entries and records; exit status 1 on any mismatch",
    opens: "database",
    async run({ parts: { database, clock }, print }) {
      using told = progress(context, "checking");
      const report = await audit(database, told.tell);
      told.end();
      // of a database that cannot be written, the report still counts
      await rememberAudit(database, report, clock.now()).catch(() => {});
      print(report, ({ mismatches, uncollected, ...counts }) =>
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
    },
  });

  const invite = program.command("invite").description("manage invite codes");
  defineCommand<{ account?: string }>(invite, context, {
    name: "show",
    description: "show an account's invite code and who used it",
    options: [option("--account <email>", "account email (default: owner)")],
    opens: "database",
    async run({ options, parts, print }) {
      const { accounts, registration } = parts;
      const account = await accountOrOwner(parts, options.account);
      const code = await accounts.inviteCode(account);
      const joined = (await registration.invitations(account)).map((one) => ({
        email: one.email,
        joined_at: new Date(one.joinedAtMs).toISOString(),
        credits_earned: one.earned,
      }));
      print({ account: account.email, code, joined }, () => `${code}\n\n${table(joined)}`);
    },
  });
}

function row(
  { created_at, expires_at, note, models, ...lot }: ReplyOf<typeof CREDITS_GET>["lots"][number],
) {
  return {
    ...lot,
    created: time(Date.parse(created_at)),
    expires: expires_at === null ? null : time(Date.parse(expires_at)),
    models: models?.join(", ") ?? null,
    note: note || null,
  };
}
