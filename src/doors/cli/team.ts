import type { Command } from "commander";
import {
  BUDGET_LIST,
  MEMBER_ADD,
  MEMBER_LIST,
  MEMBER_REMOVE,
  MEMBER_START,
  MEMBER_STOP,
  type ReplyOf,
  TEAM_CREATE,
  TEAM_DISABLE,
  TEAM_ENABLE,
  TEAM_GET,
  TEAM_LIST,
  TEAM_OWN_KEYS,
  TEAM_UPDATE,
} from "../../operating/operations/mod.ts";
import { AccountError } from "../../people/accounts/mod.ts";
import { budgetChange, budgetsText, CHANGED_BUDGET } from "./budget_options.ts";
import { type CommandContext, UsageError } from "./context.ts";
import { option } from "./define_command.ts";
import { commandText, table, time } from "./format.ts";
import { models, operationCommand } from "./operation_command.ts";

const TEAM = ["<team>", "name or ID of the team"] as const;
const MODELS = "comma-separated model IDs that keys of the team may use";

/** `sluice team …` */
export function teamCommand(program: Command, context: CommandContext): void {
  const team = program.command("team").description("manage teams and their members");

  operationCommand(team, context, TEAM_CREATE, {
    name: "create",
    description: "create a team",
    fields: {
      name: ["--name <name>", "display name; identifies the team in other commands"],
      pool: [
        "--members-pay",
        "members pay for their own keys (default: a shared pool pays)",
        () => false,
      ],
      models: ["--models <ids>", `${MODELS}; 'all' (default)`, models],
    },
    help: "\nExample:\n  sluice team create --name Platform --models svc-k2,svc-k3\n" +
      "  sluice credits grant --team Platform --credits 10000",
    opens: "new database",
    text: ({ name, id }) =>
      `Created ${name} (${id}). Next: ${
        commandText("sluice team add --account EMAIL", { args: [name] })
      }\n`,
  });

  operationCommand(team, context, TEAM_LIST, {
    name: "list",
    text: ({ data }) => table(data.map((one) => ({ ...row(one), members: one.members }))),
  });

  operationCommand(team, context, TEAM_GET, {
    name: "show",
    description: "show a team with its members",
    fields: { team: TEAM },
    async carryOut(input, { perform }) {
      const one = await perform(TEAM_GET, input);
      const budgets = await perform(BUDGET_LIST, { owner: "team", owner_id: one.id });
      const members = await perform(MEMBER_LIST, { team: one.id });
      return { ...one, budgets: budgets.data, members: members.data };
    },
    text: ({ members, budgets, ...one }) => {
      const rows = members.map(({ email: member, role, state, keys, budgets }) => ({
        member,
        role,
        state,
        keys,
        budget: budgetsText(budgets),
      }));
      return `${table([{ ...row(one), budget: budgetsText(budgets) }])}\n${table(rows)}`;
    },
  });

  operationCommand(team, context, TEAM_UPDATE, {
    name: "update",
    description: "change a team's name, models or budgets, or the budgets of a member",
    fields: {
      team: TEAM,
      name: ["--name <name>", "display name"],
      models: ["--models <ids>", `${MODELS}; 'all'`, models],
    },
    options: [
      option(
        "--own-keys <when>",
        "use the team's own keys of upstreams: only, first (before the gateway's) or last",
      ).choices(TEAM_OWN_KEYS.input.shape.use.options),
      option("--member <email>", "change this member's budgets instead of the team's"),
      ...CHANGED_BUDGET,
    ],
    help: "\nExamples:\n  sluice team update Platform --budget 20000 --reset monthly\n" +
      "  sluice team update Platform --member bob@example.com --budget 500 --reset weekly",
    async carryOut({ team, ...changes }, run) {
      const { perform, options: { ownKeys, member } } = run;
      const { id } = await perform(TEAM_GET, { team });
      if (member !== undefined) {
        if (ownKeys !== undefined || Object.keys(changes).length > 0) {
          throw new UsageError("--member goes with options of budgets only");
        }
        const find = async () =>
          (await perform(MEMBER_LIST, { team })).data.find(({ email, account_id }) =>
            [email.toLowerCase(), account_id].includes(member.toLowerCase())
          );
        const found = await find();
        if (found === undefined) throw new AccountError(`${member} is not in team ${team}`);
        const owner = { owner: "member", owner_id: `${id}:${found.account_id}` } as const;
        await (await budgetChange(run, owner))();
        return (await find())!;
      }
      const change = await budgetChange(run, { owner: "team", owner_id: id });
      if (Object.keys(changes).length > 0) await perform(TEAM_UPDATE, { team: id, ...changes });
      if (ownKeys !== undefined) await perform(TEAM_OWN_KEYS, { team: id, use: ownKeys });
      const budgets = await change();
      return { ...await perform(TEAM_GET, { team: id }), budgets };
    },
    text: (one) => {
      const budget = budgetsText(one.budgets);
      return table([
        "email" in one ? { member: one.email, budget } : { ...row(one), budget },
      ]);
    },
  });

  operationCommand(team, context, TEAM_DISABLE, {
    name: "disable",
    fields: { team: TEAM },
    text: ({ name }) => `Disabled ${name}. A running gateway rejects its keys within a second.\n`,
  });
  operationCommand(team, context, TEAM_ENABLE, {
    name: "enable",
    fields: { team: TEAM },
    text: ({ name }) => `Enabled ${name}.\n`,
  });

  memberCommands(team, context);
}

/** `sluice team add`, `stop`, `start` and `remove` */
function memberCommands(team: Command, context: CommandContext): void {
  const member = {
    team: TEAM,
    account: ["--account <email>", "account email of the member"],
  } as const;

  operationCommand(team, context, MEMBER_ADD, {
    name: "add",
    fields: {
      ...member,
      role: ["--role <role>", "role in the team (default: the present one, else member)"],
    },
    help: "\nExample:\n  sluice team add Platform --account ada@example.com --role lead",
    text: async ({ email, role }, { input, perform }) =>
      `${email} is ${role} in ${(await perform(TEAM_GET, { team: input.team })).name}.\n`,
  });

  const commands = [
    [
      "stop",
      MEMBER_STOP,
      (email: string, name: string) =>
        `Stopped ${email} in ${name}. A running gateway rejects their keys of the team within a second.\n`,
    ],
    [
      "start",
      MEMBER_START,
      (email: string, name: string) => `Started ${email} in ${name} again.\n`,
    ],
    [
      "remove",
      MEMBER_REMOVE,
      (email: string, name: string) =>
        `Removed ${email} from ${name}. Their keys of the team are revoked.\n`,
    ],
  ] as const;
  for (const [name, operation, text] of commands) {
    operationCommand(team, context, operation, {
      name,
      fields: member,
      text: async ({ email }, { input, perform }) =>
        text(email, (await perform(TEAM_GET, { team: input.team })).name),
    });
  }
}

function row(
  { name, credits, models, own_keys, created_at, disabled_at, id }: ReplyOf<typeof TEAM_GET>,
) {
  return {
    name,
    state: disabled_at === null ? "active" : "disabled",
    pool: credits ?? "members pay",
    models: models ?? "all",
    "own keys": own_keys,
    created: time(Date.parse(created_at)),
    id,
  };
}
