import type { Command } from "commander";
import { rememberAudit } from "../../operating/alerts/mod.ts";
import { Aside } from "../../ground/database/mod.ts";
import { audit } from "../../money/ledger/mod.ts";
import {
  CREDITS_GET,
  LOAN_LIST,
  LOAN_WRITE_OFF,
  type ReplyOf,
} from "../../operating/operations/mod.ts";
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
      await using aside = new Aside(database);
      const report = await aside.run((own) => audit(own, told.tell));
      told.end();
      // of a database that cannot be written, the report still counts
      await rememberAudit(database, report, clock.now()).catch(() => {});
      print(
        report,
        ({ mismatches, uncollected, unreturned, writtenOff, late, ...counts }) =>
          table([counts]) +
          (unreturned.gateways === 0
            ? ""
            : `\n${unreturned.credits} credits are lent to gateways that are gone (${unreturned.gateways}): see sluice ` +
              "credits lent.\n") +
          (writtenOff.loans === 0
            ? ""
            : `\n${writtenOff.credits} credits that gateways were lent in ${writtenOff.loans} loans were written off.\n`) +
          (uncollected.requests === 0
            ? ""
            : `\n${uncollected.credits} credits of ${uncollected.requests} requests were not ` +
              "collected: the charge exceeded the balance.\n") +
          (late.requests === 0
            ? ""
            : `\n${late.credits} credits of ${late.requests} request${
              late.requests === 1 ? " was" : "s were"
            } ` +
              "charged late: the database had lost the charge after acknowledging it. Accounts: " +
              `${late.accounts.join(", ")}\n`) +
          (mismatches.length === 0
            ? "\nNo mismatches found.\n"
            : `\n${table(mismatches.map((one) => ({ ...one })))}`),
      );
      if (report.mismatches.length > 0) {
        throw new Error(`${report.mismatches.length} rows do not match`);
      }
    },
  });

  operationCommand(credits, context, LOAN_LIST, {
    name: "lent",
    description: "list what gateways are lent, and which of them are gone",
    text: ({ data }) =>
      table(data.map(({ lease_until, gateway_id: gateway, lapsed_credits, ...lent }) => ({
        gateway,
        accounts: lent.accounts,
        credits: lent.credits,
        lease_until: time(Date.parse(lease_until)),
        not_returned: lapsed_credits,
        of_keys: lent.lapsed_keys.join(" "),
      }))),
  });
  operationCommand(credits, context, LOAN_WRITE_OFF, {
    name: "write-off",
    description: "free what a gateway was lent that is gone for good",
    fields: {
      gateway: ["<gateway>", "ID of the gateway (gw_…), as listed by sluice credits lent"],
      note: ["--note <text>", "why it is not waited for"],
    },
    help:
      "\nStart the gateway with its data directory instead, if that exists: what it sold while it could not reach the\nserver " +
      'is charged then.\n\nExample:\n  sluice credits write-off gw_… --note "disk lost"',
    text: ({ gateway_id, accounts, credits }) =>
      `Wrote off ${
        credits.toLocaleString("en-US")
      } credits that ${gateway_id} was lent, of ${accounts} ` +
      `account${accounts === 1 ? "" : "s"}.\n`,
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
      print(
        { account: account.email, code, joined },
        () =>
          `${code}\n\n${joined.length === 0 ? "Nobody has joined with it yet.\n" : table(joined)}`,
      );
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
