import type { Command } from "commander";
import {
  ACCOUNT_CREATE,
  ACCOUNT_DISABLE,
  ACCOUNT_ENABLE,
  ACCOUNT_GET,
  ACCOUNT_LINK,
  ACCOUNT_LIST,
  ACCOUNT_ROLE,
  ACCOUNT_UPDATE,
  BUDGET_LIST,
  type ReplyOf,
} from "../../operating/operations/mod.ts";
import { gatewayAddress, refuseOther } from "./address.ts";
import { budgetChange, budgetsText, CHANGED_BUDGET } from "./budget_options.ts";
import type { CommandContext } from "./context.ts";
import { commandText, table, time } from "./format.ts";
import { operationCommand } from "./operation_command.ts";

/** `sluice account …` */
export function accountCommand(program: Command, context: CommandContext): void {
  const account = program.command("account").description("manage accounts");
  const EMAIL = "<email>";

  operationCommand(account, context, ACCOUNT_CREATE, {
    name: "create",
    fields: {
      email: ["--email <address>", "email address; identifies the account in other commands"],
      name: ["--name <name>", "display name"],
      kind: [
        "--service",
        "an account of a program, which does not sign in to the console",
        () => "service",
      ],
      invite_code: ["--invite <code>", "invite code of the account that invited this one"],
    },
    help: "\nExample:\n  sluice account create --email ada@example.com --name Ada",
    opens: "new database",
    text: ({ email }) =>
      `Created ${email}. Next: ${
        commandText("sluice key create", { options: { account: email } })
      }\n`,
  });

  operationCommand(account, context, ACCOUNT_LIST, {
    name: "list",
    fields: { kind: "--kind <kind>" },
    text: ({ data }) =>
      table(data.map((one) => ({ ...row(one), credits: one.credits, id: one.id }))),
  });

  operationCommand(account, context, ACCOUNT_GET, {
    name: "show",
    fields: { account: EMAIL },
    async carryOut(input, { perform }) {
      const one = await perform(ACCOUNT_GET, input);
      const budgets = await perform(BUDGET_LIST, { owner: "account", owner_id: one.id });
      return { ...one, budgets: budgets.data };
    },
    text: (one) =>
      table([{
        ...row(one),
        id: one.id,
        credits: one.credits,
        keys: one.active_keys,
        budget: budgetsText(one.budgets),
      }]),
  });

  operationCommand(account, context, ACCOUNT_UPDATE, {
    name: "update",
    description: "change an account's display name, or its budgets, which all its keys share",
    fields: { account: EMAIL, name: ["--name <name>", "display name"] },
    optional: ["name"],
    options: CHANGED_BUDGET,
    help: "\nExample:\n  sluice account update ada@example.com --budget 2000 --reset monthly",
    async carryOut({ account, ...changes }, run) {
      const { id } = await run.perform(ACCOUNT_GET, { account });
      const change = await budgetChange(run, { owner: "account", owner_id: id });
      if (Object.keys(changes).length > 0) {
        await run.perform(ACCOUNT_UPDATE, { account, ...changes });
      }
      const budgets = await change();
      return { ...await run.perform(ACCOUNT_GET, { account: id }), budgets };
    },
    text: (one) => table([{ ...row(one), id: one.id, budget: budgetsText(one.budgets) }]),
  });

  operationCommand(account, context, ACCOUNT_DISABLE, {
    name: "disable",
    fields: { account: EMAIL },
    text: ({ email }) => `Disabled ${email}. A running gateway rejects its keys within a second.\n`,
  });
  operationCommand(account, context, ACCOUNT_ENABLE, {
    name: "enable",
    fields: { account: EMAIL },
    text: ({ email }) => `Enabled ${email}.\n`,
  });

  operationCommand(account, context, ACCOUNT_ROLE, {
    name: "role",
    fields: { account: EMAIL, role: ["<role>", "role of the installation"] },
    help:
      "\nowner: everything; operator: everything but owners and settings; finance: reads usage and " +
      "credits.\n\nExample:\n  sluice account role ada@example.com operator",
    text: ({ email, role }) => `${email} has the role ${role}.\n`,
  });

  operationCommand(account, context, ACCOUNT_LINK, {
    name: "link",
    fields: { account: ["[email]", "account email (default: owner)"] },
    unnamed: "owner",
    async input({ config }) {
      refuseOther(await gatewayAddress(config), config);
      return {};
    },
    text: ({ link }) => `${link}\n`,
  });
}

function row(
  { email, name, kind, role, created_at, disabled_at }: ReplyOf<typeof ACCOUNT_UPDATE>,
) {
  return {
    email,
    name: name || null,
    kind,
    role,
    state: disabled_at === null ? "active" : "disabled",
    created: time(Date.parse(created_at)),
  };
}
