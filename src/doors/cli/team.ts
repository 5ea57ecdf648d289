import { type Command, Option } from "commander";
import {
  AccountError,
  type Member,
  OWN_KEY_USES,
  type Team,
  TEAM_ROLES,
  type TeamRole,
} from "../../people/accounts/mod.ts";
import {
  type Budget,
  budgetsOf,
  budgetsOfMembers,
  budgetText,
  describeBudget,
} from "../../money/ledger/mod.ts";
import {
  describeMember,
  describeTeam,
  MEMBER_ADD,
  MEMBER_REMOVE,
  MEMBER_START,
  MEMBER_STOP,
  TEAM_CREATE,
  TEAM_DISABLE,
  TEAM_ENABLE,
  TEAM_OWN_KEYS,
  TEAM_UPDATE,
} from "../../operating/operations/mod.ts";
import { type BudgetOptions, changeBudget, CHANGED_BUDGET } from "./budget_options.ts";
import { type CommandContext, type CommandParts, UsageError } from "./context.ts";
import { argument, defineCommand, option, required } from "./define_command.ts";
import { commandText, table, time } from "./format.ts";
import { modelsOption } from "./key.ts";
import { operate } from "./operate.ts";

const TEAM = argument("<team>", "name or ID of the team");
const MODELS = "comma-separated model IDs that keys of the team may use";

interface UpdateOptions extends BudgetOptions {
  readonly team: string;
  readonly name?: string;
  readonly models?: string;
  readonly ownKeys?: string;
  readonly member?: string;
}

/** `sluice team …` */
export function teamCommand(program: Command, context: CommandContext): void {
  const team = program.command("team").description("manage teams and their members");

  defineCommand<{ name: string; membersPay?: boolean; models?: string }>(team, context, {
    name: "create",
    description: "create a team",
    options: [
      required("--name <name>", "display name; identifies the team in other commands"),
      option("--members-pay", "members pay for their own keys (default: a shared pool pays)"),
      option("--models <ids>", `${MODELS}; 'all' (default)`),
    ],
    help: "\nExample:\n  sluice team create --name Platform --models svc-k2,svc-k3\n" +
      "  sluice credits grant --team Platform --credits 10000",
    opens: "new database",
    async run({ options: { name, membersPay = false, models }, parts, config, print }) {
      const { id } = await operate({ context, parts, config }, TEAM_CREATE, {
        name,
        pool: !membersPay,
        models: await modelsOption(models, config, context) ?? null,
      });
      const made = await parts.teams.get(String(id));
      print(
        await describeTeam(parts, made),
        (value) =>
          `Created ${value.name} (${value.id}). Next: ${
            commandText("sluice team add --account <email>", { args: [value.name] })
          }\n`,
      );
    },
  });

  defineCommand(team, context, {
    name: "list",
    description: "list all teams",
    opens: "database",
    async run({ parts, print }) {
      const all = await parts.teams.list();
      const counts = await parts.members.counts();
      const found = await Promise.all(all.map(async (one) => ({
        ...await describeTeam(parts, one),
        members: counts.get(one.id) ?? 0,
      })));
      print(found, (rows) => table(rows.map((one) => ({ ...row(one), members: one.members }))));
    },
  });

  defineCommand<{ team: string }>(team, context, {
    name: "show",
    description: "show a team with its members",
    arguments: [TEAM],
    opens: "database",
    async run({ options, parts, print }) {
      const found = await parts.teams.get(options.team);
      const keys = await parts.teamKeys.list(found);
      const { database, clock } = parts;
      const budgets = await budgetsOf(
        database,
        { owner: "team", ownerId: found.id },
        clock.now(),
      );
      const ofMembers = await budgetsOfMembers(database, found.id, clock.now());
      const members = (await parts.members.list(found)).map((one) => ({
        ...describeMember(one),
        keys: keys.filter(({ memberId, revokedAtMs }) =>
          memberId === one.accountId && revokedAtMs === null
        ).length,
        budgets: ofMembers.get(one.accountId) ?? [],
      }));
      print(
        {
          ...await describeTeam(parts, found),
          budgets: budgets.map(describeBudget),
          members: members.map((one) => ({ ...one, budgets: one.budgets.map(describeBudget) })),
        },
        (value) =>
          `${table([{ ...row(value), budget: budgets.map(budgetText).join("; ") || "–" }])}\n${
            table(members.map(memberRow))
          }`,
      );
    },
  });

  defineCommand<UpdateOptions>(team, context, {
    name: "update",
    description: "change a team's name, models or budgets, or the budgets of a member",
    arguments: [TEAM],
    options: [
      option("--name <name>", "display name"),
      option("--models <ids>", `${MODELS}; 'all'`),
      new Option(
        "--own-keys <when>",
        "use the team's own keys of upstreams: only, first (before the gateway's) or last",
      ).choices(OWN_KEY_USES),
      option("--member <email>", "change this member's budgets instead of the team's"),
      ...CHANGED_BUDGET,
    ],
    help: "\nExamples:\n  sluice team update Platform --budget 20000 --reset monthly\n" +
      "  sluice team update Platform --member bob@example.com --budget 500 --reset weekly",
    opens: "database",
    async run({ options, parts, config, print }) {
      const { name, models, ownKeys, member } = options;
      const found = await parts.teams.get(options.team);
      if (member !== undefined) {
        if ([name, models, ownKeys].some((one) => one !== undefined)) {
          throw new UsageError("--member goes with options of budgets only");
        }
        const one = await memberOf(parts, found, member);
        const budgets = await changeBudget({ context, parts, config }, memberOwner(one), options);
        return print(
          { ...describeMember(one), budgets: budgets.map(describeBudget) },
          () => table([{ member: one.email, budget: budgets.map(budgetText).join("; ") || "–" }]),
        );
      }
      const changes = {
        name,
        models: await modelsOption(models, config, context),
      };
      if (Object.values(changes).some((one) => one !== undefined)) {
        await operate({ context, parts, config }, TEAM_UPDATE, { team: found.id, ...changes });
      }
      if (ownKeys !== undefined) {
        await operate({ context, parts, config }, TEAM_OWN_KEYS, { team: found.id, use: ownKeys });
      }
      const changed = await parts.teams.get(found.id);
      const owner = { owner: "team", ownerId: changed.id } as const;
      const budgets = await changeBudget({ context, parts, config }, owner, options);
      print(
        { ...await describeTeam(parts, changed), budgets: budgets.map(describeBudget) },
        (value) => table([{ ...row(value), budget: budgets.map(budgetText).join("; ") || "–" }]),
      );
    },
  });

  for (
    const [name, disabled, description] of [
      ["disable", true, "reject all keys of a team"],
      ["enable", false, "accept a disabled team's keys again"],
    ] as const
  ) {
    defineCommand<{ team: string }>(team, context, {
      name,
      description,
      arguments: [TEAM],
      opens: "database",
      async run({ options, parts, config, print }) {
        const { id: team } = await parts.teams.get(options.team);
        const operation = disabled ? TEAM_DISABLE : TEAM_ENABLE;
        await operate({ context, parts, config }, operation, { team });
        const changed = await parts.teams.get(team);
        print(
          await describeTeam(parts, changed),
          (value) =>
            disabled
              ? `Disabled ${value.name}. A running gateway rejects its keys within a second.\n`
              : `Enabled ${value.name}.\n`,
        );
      },
    });
  }

  memberCommands(team, context);
}

/** `sluice team add`, `stop`, `start` and `remove` */
function memberCommands(team: Command, context: CommandContext): void {
  const ACCOUNT = required("--account <email>", "account email of the member");

  defineCommand<{ team: string; account: string; role?: TeamRole }>(team, context, {
    name: "add",
    description: "add a member to a team, or change the role of one",
    arguments: [TEAM],
    options: [
      ACCOUNT,
      new Option("--role <role>", "role in the team (default: the present one, else member)")
        .choices(TEAM_ROLES),
    ],
    help: "\nExample:\n  sluice team add Platform --account ada@example.com --role lead",
    opens: "database",
    async run({ options, parts, config, print }) {
      const found = await parts.teams.get(options.team);
      const account = await parts.accounts.get(options.account);
      const { role } = options;
      const input = {
        team: found.id,
        account: account.id,
        ...(role === undefined ? {} : { role }),
      };
      await operate({ context, parts, config }, MEMBER_ADD, input);
      print(
        describeMember(await memberOf(parts, found, account.email)),
        ({ email, role }) => `${email} is ${role} in ${found.name}.\n`,
      );
    },
  });

  const said = {
    stop: (email: string, name: string) =>
      `Stopped ${email} in ${name}. A running gateway rejects their keys of the team within a second.\n`,
    start: (email: string, name: string) => `Started ${email} in ${name} again.\n`,
    remove: (email: string, name: string) =>
      `Removed ${email} from ${name}. Their keys of the team are revoked.\n`,
  };
  const operations = { stop: MEMBER_STOP, start: MEMBER_START, remove: MEMBER_REMOVE };
  for (
    const [name, description] of [
      ["stop", "reject a member's keys of a team; others go on"],
      ["start", "accept a stopped member's keys again"],
      ["remove", "remove a member from a team and revoke its keys of the team"],
    ] as const
  ) {
    defineCommand<{ team: string; account: string }>(team, context, {
      name,
      description,
      arguments: [TEAM],
      options: [ACCOUNT],
      opens: "database",
      async run({ options, parts, config, print }) {
        const found = await parts.teams.get(options.team);
        const account = await parts.accounts.get(options.account);
        const before = await parts.members.find(found, account);
        await operate({ context, parts, config }, operations[name], {
          team: found.id,
          account: account.id,
        });
        print(
          describeMember(await parts.members.find(found, account) ?? before!),
          ({ email }) => said[name](email, found.name),
        );
      },
    });
  }
}

function row({ name, credits, models, own_keys, created_at, disabled_at, id }: Awaited<
  ReturnType<typeof describeTeam>
>) {
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

function memberRow(
  { email, role, state, keys, budgets }: ReturnType<typeof describeMember> & {
    keys: number;
    budgets: readonly Budget[];
  },
) {
  return { member: email, role, state, keys, budget: budgets.map(budgetText).join("; ") || "–" };
}

async function memberOf(
  { accounts, members }: CommandParts,
  team: Team,
  email: string,
): Promise<Member> {
  const member = await members.find(team, await accounts.get(email));
  if (member !== undefined) return member;
  throw new AccountError(`${email} is not in team ${team.name}`);
}

function memberOwner({ teamId, accountId }: Member) {
  return { owner: "member", ownerId: `${teamId}:${accountId}` } as const;
}
