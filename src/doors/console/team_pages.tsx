import {
  type Account,
  AccountError,
  type Action,
  can,
  type Session,
  type Team,
  TEAM_ROLES,
} from "../../people/accounts/mod.ts";
import {
  KEY_CREATE,
  KEY_REVOKE,
  mayOperate,
  MEMBER_ADD,
  MEMBER_REMOVE,
  MEMBER_ROLE,
  MEMBER_START,
  MEMBER_STOP,
  type Subject,
  subjectOfKey,
  subjectOfNewKey,
  TEAM_CREATE,
  TEAM_DISABLE,
  TEAM_ENABLE,
  TEAM_OWN_KEYS,
  TEAM_UPDATE,
  UPSTREAM_KEY_SET,
  type WriteOperation,
} from "../../operating/operations/mod.ts";
import { balancesOf, budgetsOf, budgetsOfKeys, budgetsOfMembers } from "../../money/ledger/mod.ts";
import { accountUsage, creditsIn, monthStart, untilNow } from "../../money/usage/mod.ts";
import { addBudgetForms } from "./budget_form.ts";
import { pageWithForms } from "./forms.ts";
import type { GuardedApp } from "./guard.ts";
import { addKeyForms, madeOf, modelsOf, newKeyIn } from "./key_form.ts";
import { addUpstreamKeyForms, ownKeysOf } from "./own_keys.ts";
import type { MadeKey } from "./pages/key_forms.tsx";
import { TeamPage } from "./pages/team.tsx";
import { TeamsPage } from "./pages/teams.tsx";
import {
  addressOf,
  type ConsoleParts,
  type FormFields,
  page,
  pageOf,
  type PageRequest,
} from "./request.tsx";

/** What a page shows besides the team: an error, or a key that was just made. */
interface More {
  readonly error?: string;
  readonly made?: MadeKey;
}

/** Pages about teams: for operators all of them, for others their own. */
export function teamRoutes(app: GuardedApp, parts: ConsoleParts): void {
  const { accounts, catalog, config, database, keys, members, now, teamKeys, teams } = parts;

  const list = async (c: PageRequest, session: Session, error?: string) => {
    const all = await teams.list();
    const shown = can(session, "team.list") ? all : all.filter(({ id }) => session.teams.has(id));
    const pools = shown.flatMap(({ poolId }) => poolId === null ? [] : [poolId]);
    const balances = await balancesOf(database, pools);
    const counts = await members.counts();
    const content = (
      <TeamsPage
        page={pageOf(c, error)}
        rows={shown.map((team) => ({
          team,
          members: counts.get(team.id) ?? 0,
          balance: team.poolId === null ? null : balances.get(team.poolId)?.balance ?? 0,
          role: session.teams.get(team.id),
        }))}
        models={catalog().routes.map(({ id }) => id)}
        mayCreate={mayOperate(session, TEAM_CREATE)}
      />
    );
    return await page(c, content);
  };

  /** The page of a team, as far as the visitor may see it: a member sees their own part. */
  const show = async (c: PageRequest, session: Session, team: Team, more: More = {}) => {
    const allowed = (action: Action) => can(session, action, { teamId: team.id });
    const mayDo = (operation: WriteOperation, more: Subject = {}) =>
      mayOperate(session, operation, { team, ...more });
    const seesAll = allowed("team.usage");
    const [allKeys, allMembers, lastUse] = await Promise.all([
      teamKeys.list(team),
      members.list(team),
      keys.lastUse(team),
    ]);
    const isOwn = (id: string | null) => id === session.account.id;
    const shownKeys = allowed("team.keys")
      ? allKeys
      : allKeys.filter(({ memberId }) => isOwn(memberId));
    const reported = seesAll ? allKeys : shownKeys;
    const usage = await accountUsage(database, {
      accountIds: reported.map(({ accountId }) => accountId),
      keyIds: reported.map(({ id }) => id),
      by: ["model", "key"],
      sinceMs: monthStart(now()),
      untilMs: untilNow(now()),
    });
    const memberOf = new Map(reported.map(({ id, memberId }) => [id, memberId]));
    const balances = await balancesOf(database, team.poolId === null ? [] : [team.poolId]);
    const [budgets, memberBudgets, keyBudgets] = await Promise.all([
      budgetsOf(database, { owner: "team", ownerId: team.id }, now()),
      budgetsOfMembers(database, team.id, now()),
      budgetsOfKeys(database, shownKeys.map(({ id }) => id), now()),
    ]);
    const lastUseByMember = new Map<string | null, number>();
    for (const { id, memberId } of reported) {
      const before = lastUseByMember.get(memberId) ?? 0;
      lastUseByMember.set(memberId, Math.max(lastUse.get(id) ?? 0, before));
    }
    const names = new Map(allMembers.map(({ accountId, email }) => [accountId, email]));
    const removed = seesAll ? [...memberBudgets.keys()] : [];
    for (const memberId of [...reported.map((key) => key.memberId), ...removed]) {
      if (memberId === null || names.has(memberId)) continue; // the others were removed
      names.set(memberId, (await accounts.byId(memberId))?.email ?? memberId);
    }
    const payers = await accounts.byIds([
      ...shownKeys.map(({ accountId }) => accountId),
      ...team.poolId === null ? allMembers.map(({ accountId }) => accountId) : [team.poolId],
    ]);
    const makes = (memberId: string | null) => {
      const accountId = team.poolId ?? memberId ?? "";
      const key = { teamId: team.id, memberId, accountId };
      return accountId !== "" && mayDo(KEY_CREATE, { key, account: payers.get(accountId) });
    };
    const ownKeys = mayDo(UPSTREAM_KEY_SET)
      ? { ...await ownKeysOf(parts, { teamId: team.id }), use: team.ownKeyUse }
      : undefined;
    const content = (
      <TeamPage
        page={pageOf(c, more.error)}
        team={team}
        balance={team.poolId === null ? null : balances.get(team.poolId)?.balance ?? 0}
        members={seesAll ? allMembers : allMembers.filter(({ accountId }) => isOwn(accountId))}
        names={names}
        keys={shownKeys.toReversed()}
        budgets={budgets}
        memberBudgets={memberBudgets}
        keyBudgets={keyBudgets}
        ownKeys={ownKeys}
        mayOperate={mayDo}
        mayChange={(key, operation) =>
          mayDo(operation, { key, account: payers.get(key.accountId) })}
        mayMakeFor={makes}
        lastUse={lastUse}
        lastUseByMember={lastUseByMember}
        usage={usage.map((one) => ({ ...one, memberId: memberOf.get(one.key)! }))}
        spent={new Map(
          [...Map.groupBy(usage, ({ key }) => key)].map(([key, own]) => [key, creditsIn(own)]),
        )}
        self={session.teams.has(team.id) ? session.account : undefined}
        may={allowed}
        models={catalog().routes.map(({ id }) => id)}
        address={addressOf(c, config)}
        nowMs={now()}
        {...more}
      />
    );
    return await page(c, content);
  };

  /** The member in the path. */
  const memberOf = async (c: PageRequest, { team }: { readonly team: Team }) => {
    const id = c.req.param("account") ?? "";
    const [member, account] = await Promise.all([members.find(team, { id }), accounts.byId(id)]);
    return member === undefined || account === undefined ? undefined : { team, account };
  };
  /** The key in the path, if it is the team's and the visitor may see it. */
  const keyOf = async (c: PageRequest, { team }: { readonly team: Team }, session: Session) => {
    const key = await keys.byId(c.req.param("key") ?? "");
    if (key?.teamId !== team.id) return undefined;
    const about = await subjectOfKey(parts, key);
    return mayOperate(session, KEY_REVOKE, about) ? about : undefined;
  };
  const ofMember = { about: memberOf, missing: "This account is not in the team" };
  const ofKey = { about: keyOf, missing: "Key not found in this team" };

  pageWithForms(app, parts, "/console/teams", {
    action: "self.use",
    show: (c, session, _page, { error }) => list(c, session, error),
  })("", TEAM_CREATE, {
    input: (form) => ({
      name: form.text("name"),
      pool: form.choice("pool", "who pays", ["yes", "no"]) === "yes",
      models: modelsOf(form, catalog()),
    }),
    done: ({ id }) => `/console/teams/${id}`,
  });
  const post = pageWithForms<{ readonly team: Team }, More>(app, parts, "/console/teams/:team", {
    action: "team.read",
    async find(c) {
      const team = await teams.byId(c.req.param("team") ?? "");
      return team === undefined ? undefined : { team };
    },
    show: (c, session, { team }, more) => show(c, session, team, more),
  });
  post("", TEAM_UPDATE, {
    input: (form, { team }) => ({
      name: form.text("name"),
      models: modelsOf(form, catalog(), team.models),
    }),
    done: "team",
  });
  post("/disable", TEAM_DISABLE, { done: "team-disabled" });
  post("/enable", TEAM_ENABLE, { done: "team-enabled" });
  addUpstreamKeyForms(post, ({ team }) => ({ teamId: team.id }));
  post("/own-keys", TEAM_OWN_KEYS, {
    input: (form) => ({ use: form.text("use") }),
    done: "own-keys",
  });
  post("/members", MEMBER_ADD, {
    async input(form) {
      const email = form.text("email");
      const account = (await accounts.find(email))?.id;
      if (account === undefined) {
        throw new AccountError(
          `Nobody has an account with the address ${email.slice(0, 200)}: ` +
            "the person can register, or an operator creates one",
        );
      }
      return { account, role: form.text("role") === "" ? undefined : roleOf(form) };
    },
    done: "member-added",
  });
  const moves = { stop: MEMBER_STOP, start: MEMBER_START, remove: MEMBER_REMOVE };
  for (const [word, operation] of Object.entries(moves)) {
    post(`/members/:account/${word}`, operation, { ...ofMember, done: `member-${word}` });
  }
  post("/members/:account/role", MEMBER_ROLE, {
    ...ofMember,
    input: (form) => ({ role: roleOf(form) }),
    done: "role",
  });
  post("/keys", KEY_CREATE, {
    // that for a member is the least that can be made
    about: (_c, { team }, { account }) => subjectOfNewKey(parts, team, account),
    async input(form, { team }) {
      const member = await memberForKey(parts, team!, form.text("member"));
      const isFor = { account: undefined, member: member?.id ?? null };
      return { ...isFor, ...newKeyIn(form, catalog(), now()) };
    },
    shows: madeOf(parts),
  });
  addKeyForms(post, parts, "/keys/:key", ofKey);
  addBudgetForms(post, parts, {
    path: "",
    owner: ({ team }: { readonly team: Team }) => ({ owner: "team", ownerId: team.id }),
  });
  addBudgetForms(post, parts, {
    path: "/members/:account",
    ...ofMember,
    async about(c, { team }) {
      const account = await accounts.byId(c.req.param("account") ?? "");
      // a budget of somebody who was removed can be removed as well
      const isMember = c.req.path.endsWith("/remove") || await memberOf(c, { team }) !== undefined;
      return account !== undefined && isMember ? { team, account } : undefined;
    },
    owner: ({ team, account }) => ({ owner: "member", ownerId: `${team.id}:${account.id}` }),
  });
}

/** The member that a new key is for; null for the whole team. */
async function memberForKey(
  { accounts, members }: Pick<ConsoleParts, "accounts" | "members">,
  team: Pick<Team, "id">,
  id: string,
): Promise<Account | null> {
  if (id === "team") return null;
  const account = await members.find(team, { id }) && await accounts.byId(id);
  if (account === undefined) throw new AccountError("Select a member of the team");
  return account;
}

function roleOf(form: FormFields) {
  return form.choice("role", "a role", TEAM_ROLES);
}
