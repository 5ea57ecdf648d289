import { Argument, type Command } from "commander";
import { type Role, ROLES } from "../../people/accounts/mod.ts";
import { budgetsOf, budgetText, creditsOf, describeBudget } from "../../money/ledger/mod.ts";
import {
  ACCOUNT_CREATE,
  ACCOUNT_DISABLE,
  ACCOUNT_ENABLE,
  ACCOUNT_LINK,
  ACCOUNT_ROLE,
  describeAccount,
} from "../../operating/operations/mod.ts";
import { gatewayAddress, refuseOther } from "./address.ts";
import { type BudgetOptions, changeBudget, CHANGED_BUDGET } from "./budget_options.ts";
import type { CommandContext } from "./context.ts";
import { argument, defineCommand, option, required } from "./define_command.ts";
import { commandText, table, time } from "./format.ts";
import { operate } from "./operate.ts";
import { activeAccount } from "./settings.ts";

const EMAIL = argument("<email>", "email address of the account");

/** `sluice account …` */
export function accountCommand(program: Command, context: CommandContext): void {
  const account = program.command("account").description("manage accounts");

  defineCommand<{ email: string; name: string; service?: boolean; invite?: string }>(
    account,
    context,
    {
      name: "create",
      description: "create an account",
      options: [
        required("--email <address>", "email address; identifies the account in other commands"),
        option("--name <name>", "display name", ""),
        option("--service", "an account of a program, which does not sign in to the console"),
        option("--invite <code>", "invite code of the account that invited this one"),
      ],
      help: "\nExample:\n  sluice account create --email ada@example.com --name Ada",
      opens: "new database",
      async run({ options, parts, config, print }) {
        const { email, name, service = false, invite } = options;
        const kind = service ? "service" : "person";
        await operate({ context, parts, config }, ACCOUNT_CREATE, {
          email,
          name,
          kind,
          ...(invite === undefined ? {} : { invite_code: invite }),
        });
        print(
          describeAccount(await parts.accounts.get(email)),
          (made) =>
            `Created ${made.email}. Next: ${
              commandText("sluice key create", { options: { account: made.email } })
            }\n`,
        );
      },
    },
  );

  defineCommand(account, context, {
    name: "list",
    description: "list all accounts",
    opens: "database",
    async run({ parts: { accounts }, print }) {
      print((await accounts.list()).map(describeAccount), (all) => table(all.map(row)));
    },
  });

  defineCommand<{ email: string }>(account, context, {
    name: "show",
    description: "show one account",
    arguments: [EMAIL],
    opens: "database",
    async run({ options, parts: { accounts, keys, database, clock }, print }) {
      const found = await accounts.get(options.email);
      const own = await keys.list(found);
      const { balance } = await creditsOf(database, found.id, clock.now());
      const active = own.filter(({ revokedAtMs }) => revokedAtMs === null).length;
      const owner = { owner: "account", ownerId: found.id } as const;
      const budgets = await budgetsOf(database, owner, clock.now());
      print(
        {
          ...describeAccount(found),
          credits: balance,
          keys: own.length,
          active_keys: active,
          budgets: budgets.map(describeBudget),
        },
        (value) =>
          table([{
            ...row(value),
            credits: value.credits,
            keys: value.active_keys,
            budget: budgets.map(budgetText).join("; ") || null,
          }]),
      );
    },
  });

  defineCommand<BudgetOptions & { email: string }>(account, context, {
    name: "update",
    description: "change an account's budgets, which all its keys share",
    arguments: [EMAIL],
    options: CHANGED_BUDGET,
    help: "\nExample:\n  sluice account update ada@example.com --budget 2000 --reset monthly",
    opens: "database",
    async run({ options, parts, config, print }) {
      const found = await parts.accounts.get(options.email);
      const owner = { owner: "account", ownerId: found.id } as const;
      const budgets = await changeBudget({ context, parts, config }, owner, options);
      print(
        { ...describeAccount(found), budgets: budgets.map(describeBudget) },
        (value) => table([{ ...row(value), budget: budgets.map(budgetText).join("; ") || null }]),
      );
    },
  });

  const change = (
    name: "disable" | "enable",
    description: string,
    said: (email: string) => string,
  ) =>
    defineCommand<{ email: string }>(account, context, {
      name,
      description,
      arguments: [EMAIL],
      opens: "database",
      async run({ options, parts, config, print }) {
        const { id: account } = await parts.accounts.get(options.email);
        const operation = name === "disable" ? ACCOUNT_DISABLE : ACCOUNT_ENABLE;
        await operate({ context, parts, config }, operation, { account });
        const changed = await parts.accounts.get(options.email);
        print(describeAccount(changed), (value) => said(value.email));
      },
    });
  change(
    "disable",
    "refuse an account's keys, and end its sessions and sign-in links",
    (email) => `Disabled ${email}. A running gateway refuses its keys within a second.\n`,
  );
  change("enable", "take a disabled account's keys again", (email) => `Enabled ${email}.\n`);

  defineCommand<{ email: string; role: Role }>(account, context, {
    name: "role",
    description: "give an account a role",
    arguments: [EMAIL, new Argument("<role>", "role of the installation").choices(ROLES)],
    help:
      "\nowner: everything; operator: everything but owners and settings; finance: reads usage and " +
      "credits.\n\nExample:\n  sluice account role ada@example.com operator",
    opens: "database",
    async run({ options: { email, role }, parts, config, print }) {
      const { id: account } = await parts.accounts.get(email);
      await operate({ context, parts, config }, ACCOUNT_ROLE, { account, role });
      print(
        describeAccount(await parts.accounts.get(email)),
        (value) => `${value.email} has the role ${value.role}.\n`,
      );
    },
  });

  defineCommand<{ email?: string }>(account, context, {
    name: "link",
    description: "create a one-time link that signs in to the console (valid for one day)",
    arguments: [argument("[email]", "account email (default: owner)")],
    opens: "database",
    async run({ options, parts, config, print }) {
      const found = await activeAccount(parts, options.email);
      refuseOther(await gatewayAddress(config), config);
      const made = await operate({ context, parts, config }, ACCOUNT_LINK, { account: found.id });
      const link = String(made.link);
      print({ account: found.email, link }, () => `${link}\n`);
    },
  });
}

function row(
  { email, name, kind, role, created_at, disabled_at, id }: ReturnType<typeof describeAccount>,
) {
  return {
    email,
    name: name || null,
    kind,
    role,
    state: disabled_at === null ? "active" : "disabled",
    created: time(Date.parse(created_at)),
    id,
  };
}
