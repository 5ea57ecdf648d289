import * as z from "zod";
import { type Account, OWN_KEY_USES, type Team, TEAM_ROLES } from "../../people/accounts/mod.ts";
import { budgetsOfMembers } from "../../money/ledger/mod.ts";
import {
  accountInput,
  accountOf,
  changedModels,
  modelsInput,
  nameInput,
  pageAfter,
  pageInput,
  routeIds,
  teamInput,
  teamOf,
} from "./lookup.ts";
import { defineRead, defineWrite, type Found, type OperationContext } from "./operation.ts";
import { inTeam } from "./rights.ts";
import {
  describeMember,
  describeTeam,
  listedMemberShape,
  memberShape,
  teamShape,
} from "./shapes/team.ts";
import { describeBudget } from "./shapes/budget.ts";

async function changedTeam(c: OperationContext, named: string): Promise<Found<Team>> {
  const target = await teamOf(c, named);
  return { target, team: target, objectId: target.id };
}

async function state({ parts }: OperationContext, { id }: Pick<Team, "id">) {
  const team = await parts.teams.byId(id);
  return team === undefined ? null : await describeTeam(parts, team);
}

/** Writes about a team that there is. */
const OF_TEAM = {
  right: inTeam,
  find: (c: OperationContext, { team }: { readonly team: string }) => changedTeam(c, team),
  state,
} as const;

export const TEAM_LIST = defineRead({
  input: z.strictObject(pageInput),
  output: teamShape.extend({ members: z.int() }),
}, {
  name: "team.list",
  path: "/teams",
  summary: "List teams by name",
  action: "team.list",
  isList: true,
  async read({ parts }, { limit, after }) {
    const all = await parts.teams.list();
    const page = pageAfter(all, { limit, after }, { noun: "Team", idOf: ({ id }) => id });
    const counts = await parts.members.counts();
    const data = page.data.map(async (team) => ({
      ...await describeTeam(parts, team),
      members: counts.get(team.id) ?? 0,
    }));
    return { ...page, data: await Promise.all(data) };
  },
});

export const TEAM_GET = defineRead({
  input: z.strictObject({ team: teamInput }),
  output: teamShape,
}, {
  name: "team.get",
  path: "/teams/{team}",
  summary: "Get a team",
  action: "team.read",
  about: async (c, { team }) => ({ teamId: (await teamOf(c, team)).id }),
  read: async (c, { team }) => await describeTeam(c.parts, await teamOf(c, team)),
});

export const TEAM_CREATE = defineWrite({
  input: z.strictObject({
    name: nameInput,
    pool: z.boolean().default(true).describe("Whether a shared pool pays for the team's keys."),
    models: modelsInput.default(null),
  }),
  output: teamShape,
}, {
  name: "team.create",
  path: "/teams",
  summary: "Create a team without members",
  status: 201,
  action: "team.create",
  find({ ids }) {
    const id = ids.id("team");
    return Promise.resolve({ target: { id }, teamId: id, objectId: id });
  },
  state,
  async run({ teams }, c, { target: { id }, input: { name, pool, models } }) {
    const allowed = await routeIds(c, models) ?? null;
    await teams.create({ id, poolId: c.ids.id("acc"), name, pool, models: allowed });
  },
});

export const TEAM_UPDATE = defineWrite({
  input: z.strictObject({
    team: teamInput,
    name: nameInput.optional(),
    models: modelsInput.optional(),
  }),
  output: teamShape,
}, {
  name: "team.update",
  method: "PATCH",
  path: "/teams/{team}",
  summary: "Change a team's name and the models that its keys may use",
  action: "team.update",
  ...OF_TEAM,
  async run({ teams }, c, { target, input: { name, models } }) {
    await teams.change(target, { name, models: await changedModels(c, models, target.models) });
  },
});

const switched = (verb: "disable" | "enable", summary: string) =>
  defineWrite({ input: z.strictObject({ team: teamInput }), output: teamShape }, {
    name: `team.${verb}`,
    path: `/teams/{team}/${verb}`,
    summary,
    action: "team.update",
    ...OF_TEAM,
    async run({ teams }, _c, { target }) {
      await teams.change(target, { disabled: verb === "disable" });
    },
  });

export const TEAM_DISABLE = switched("disable", "Reject all keys of a team within a second");
export const TEAM_ENABLE = switched("enable", "Accept the keys of a disabled team again");

export const TEAM_OWN_KEYS = defineWrite({
  input: z.strictObject({
    team: teamInput,
    use: z.enum(OWN_KEY_USES).describe(
      "Whether requests are sent with the team's own keys only, first, or after the gateway's.",
    ),
  }),
  output: teamShape,
}, {
  name: "team.own_keys",
  method: "PUT",
  path: "/teams/{team}/own-keys",
  summary: "Choose when a team's own keys of upstreams are used",
  action: "team.upstream_keys",
  ...OF_TEAM,
  async run({ teams }, _c, { target, input: { use } }) {
    await teams.change(target, { ownKeyUse: use });
  },
});

export const MEMBER_LIST = defineRead({
  input: z.strictObject({ team: teamInput, ...pageInput }),
  output: listedMemberShape,
}, {
  name: "member.list",
  path: "/teams/{team}/members",
  summary: "List the members of a team with their budgets",
  action: "team.usage",
  isList: true,
  about: async (c, { team }) => ({
    teamId: (await teamOf(c, team)).id,
    sees: "team.read",
  }),
  async read(c, { team: named, limit, after }) {
    const { members, teamKeys, database } = c.parts;
    const team = await teamOf(c, named);
    const [all, keys, budgets] = await Promise.all([
      members.list(team),
      teamKeys.list(team),
      budgetsOfMembers(database, team.id, c.nowMs),
    ]);
    const page = pageAfter(all, { limit, after }, {
      noun: "Member",
      idOf: ({ accountId }) => accountId,
    });
    const data = page.data.map((one) => ({
      ...describeMember(one),
      keys: keys.filter(({ memberId, revokedAtMs }) =>
        memberId === one.accountId && revokedAtMs === null
      ).length,
      budgets: (budgets.get(one.accountId) ?? []).map(describeBudget),
    }));
    return { ...page, data };
  },
});

/** A member of a team. */
interface Membership {
  readonly team: Team;
  readonly account: Account;
}

async function membership(
  c: OperationContext,
  input: { readonly team: string; readonly account: string },
): Promise<Found<Membership>> {
  const team = await teamOf(c, input.team);
  const account = await accountOf(c, input.account);
  const target = { team, account };
  return { ...target, target, objectId: `${team.id}:${account.id}` };
}

async function memberState({ parts }: OperationContext, { team, account }: Membership) {
  const member = await parts.members.find(team, account);
  return member === undefined ? null : describeMember(member);
}

/** Writes about a member. */
const OF_MEMBER = {
  action: "team.members",
  right: inTeam,
  find: membership,
  state: memberState,
} as const;

export const MEMBER_ADD = defineWrite({
  input: z.strictObject({
    team: teamInput,
    account: accountInput,
    role: z.enum(TEAM_ROLES).optional().describe(
      "Default: the present role of a member, else `member`.",
    ),
  }),
  output: memberShape,
}, {
  name: "member.add",
  path: "/teams/{team}/members",
  summary: "Add a member to a team, or change the role of one",
  status: 201,
  ...OF_MEMBER,
  async run({ members }, _c, { target: { team, account }, input: { role } }) {
    await members.add(team, account, role);
  },
});

export const MEMBER_ROLE = defineWrite({
  input: z.strictObject({ team: teamInput, account: accountInput, role: z.enum(TEAM_ROLES) }),
  output: memberShape,
}, {
  name: "member.role",
  path: "/teams/{team}/members/{account}/role",
  summary: "Change the role of a member",
  ...OF_MEMBER,
  async run({ members }, _c, { target: { team, account }, input: { role } }) {
    await members.setRole(team, account, role);
  },
});

const moved = (verb: "stop" | "start" | "remove", summary: string) =>
  defineWrite({
    input: z.strictObject({ team: teamInput, account: accountInput }),
    output: memberShape,
  }, {
    name: `member.${verb}`,
    ...(verb === "remove"
      ? { method: "DELETE", path: "/teams/{team}/members/{account}" } as const
      : { path: `/teams/{team}/members/{account}/${verb}` }),
    summary,
    ...OF_MEMBER,
    async run({ members }, _c, { target: { team, account } }) {
      await members[verb](team, account);
    },
    // of one that was removed: as it was
    reply: (_c, { before, after }) => Promise.resolve(after ?? before ?? {}),
  });

export const MEMBER_STOP = moved(
  "stop",
  "Reject a member's keys of a team within a second; others go on",
);
export const MEMBER_START = moved("start", "Accept a stopped member's keys again");
export const MEMBER_REMOVE = moved("remove", "Remove a member and revoke its keys of the team");
