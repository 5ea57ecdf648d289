import {
  type Account,
  AccountError,
  type Action,
  can,
  DuplicateKey,
  type Key,
  type Session,
  type Team,
  TEAM_ROLES,
} from "../../people/accounts/mod.ts";
import {
  KEEP_HOURS,
  KEY_CREATE,
  KEY_REVOKE,
  KEY_ROTATE,
  KEY_UPDATE,
  MEMBER_ADD,
  MEMBER_REMOVE,
  MEMBER_ROLE,
  MEMBER_START,
  MEMBER_STOP,
  TEAM_CREATE,
  TEAM_DISABLE,
  TEAM_ENABLE,
  TEAM_OWN_KEYS,
  TEAM_UPDATE,
} from "../../operating/operations/mod.ts";
import {
  balancesOf,
  type BudgetOwner,
  budgetsOf,
  budgetsOfKeys,
  budgetsOfMembers,
} from "../../money/ledger/mod.ts";
import { STATUS_CODE } from "../../ground/std/mod.ts";
import { monthStart, teamReport } from "../../money/usage/mod.ts";
import { BUDGET_FORMS, budgetsOfForm, type Change } from "./budget_form.ts";
import { type GuardedApp, may } from "./guard.ts";
import { expiryOf, keyChanges, modelsOf } from "./key_form.ts";
import { ownKeysOf, removeOwnKey, setOwnKey } from "./own_keys.ts";
import { TeamPage } from "./pages/team.tsx";
import { TeamsPage } from "./pages/teams.tsx";
import {
  addressOf,
  type ConsoleParts,
  doneOf,
  type FormFields,
  notFound,
  operate,
  page,
  pageOf,
  type PageRequest,
  seeOther,
} from "./request.tsx";

const HOUR_SECONDS = 3_600;

/** What a page shows besides the team: an error, or a key that was just made. */
interface More {
  readonly error?: string;
  readonly made?: string;
}

type TeamHandler = (c: PageRequest, session: Session, team: Team) => Promise<Response>;
type TeamWrite = (c: PageRequest, team: Team, session: Session) => Promise<string>;

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
        page={pageOf(c)}
        csrf={session.csrfToken}
        rows={shown.map((team) => ({
          team,
          members: counts.get(team.id) ?? 0,
          balance: team.poolId === null ? null : balances.get(team.poolId)?.balance ?? 0,
          role: session.teams.get(team.id),
        }))}
        models={catalog().routes.map(({ id }) => id)}
        mayCreate={can(session, "team.create")}
        error={error}
      />
    );
    return await page(c, content, error === undefined ? STATUS_CODE.OK : STATUS_CODE.BadRequest);
  };

  /** The page of a team, as far as the visitor may see it: a member sees their own part. */
  const show = async (c: PageRequest, session: Session, team: Team, more: More = {}) => {
    const allowed = (action: Action) => can(session, action, { teamId: team.id });
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
    const sinceMs = monthStart(now());
    const reported = seesAll ? allKeys : shownKeys;
    const [usage, byKey] = await Promise.all([
      teamReport(database, { team, keys: reported, by: "member", sinceMs }),
      teamReport(database, { team, keys: reported, by: "key", sinceMs }),
    ]);
    const balances = await balancesOf(database, team.poolId === null ? [] : [team.poolId]);
    const [budgets, memberBudgets, keyBudgets] = await Promise.all([
      budgetsOf(database, { owner: "team", ownerId: team.id }, now()),
      budgetsOfMembers(database, team.id, now()),
      budgetsOfKeys(database, shownKeys.map(({ id }) => id), now()),
    ]);
    const lastUseByMember = new Map<string | null, number>();
    for (const { id, memberId } of reported) {
      const usedAtMs = Math.max(lastUse.get(id) ?? 0, lastUseByMember.get(memberId) ?? 0);
      if (usedAtMs > 0) lastUseByMember.set(memberId, usedAtMs);
    }
    const names = new Map(allMembers.map(({ accountId, email }) => [accountId, email]));
    const removed = seesAll ? [...memberBudgets.keys()] : [];
    for (const memberId of [...reported.map((key) => key.memberId), ...removed]) {
      if (memberId === null || names.has(memberId)) continue; // the others were removed
      names.set(memberId, (await accounts.byId(memberId))?.email ?? memberId);
    }
    const ownKeys = allowed("team.upstream_keys")
      ? { ...await ownKeysOf(parts, { teamId: team.id }), use: team.ownKeyUse }
      : undefined;
    const content = (
      <TeamPage
        page={pageOf(c)}
        csrf={session.csrfToken}
        team={team}
        balance={team.poolId === null ? null : balances.get(team.poolId)?.balance ?? 0}
        members={seesAll ? allMembers : allMembers.filter(({ accountId }) => isOwn(accountId))}
        names={names}
        keys={shownKeys.toReversed()}
        budgets={budgets}
        memberBudgets={memberBudgets}
        keyBudgets={keyBudgets}
        ownKeys={ownKeys}
        mayBudget={(key) => mayBudget(session, team, key)}
        mayChange={(key) => can(session, ...actionOnKey(team, key, session))}
        mayRevoke={(key) => can(session, ...actionOnKey(team, key, session, true))}
        lastUse={lastUse}
        lastUseByMember={lastUseByMember}
        usage={usage}
        spent={new Map(byKey.map(({ group, credits }) => [group, credits]))}
        self={session.teams.has(team.id) ? session.account : undefined}
        may={allowed}
        models={catalog().routes.map(({ id }) => id)}
        address={addressOf(c, config)}
        done={doneOf(c)}
        nowMs={now()}
        {...more}
      />
    );
    const status = more.error === undefined ? STATUS_CODE.OK : STATUS_CODE.BadRequest;
    return await page(c, content, status);
  };

  /** For pages about one team. */
  const about = (action: Action, handler: TeamHandler) =>
    may(action, async (c, session) => {
      const team = await teams.byId(c.req.param("team") ?? "");
      return team === undefined ? await notFound(c) : await handler(c, session, team);
    });

  /** A write about one team; errors are shown on the team's page. */
  const write = (action: Action, work: TeamWrite) =>
    about(action, async (c, session, team) => {
      try {
        return seeOther(c, `/console/teams/${team.id}?done=${await work(c, team, session)}`);
      } catch (error) {
        if (!(error instanceof AccountError)) throw error;
        return await show(c, session, team, { error: `${error.message}.` });
      }
    });

  /** What an owner pays for is changed by owners only. */
  const checkPayer = async (session: Session, accountId: string) => {
    if (accountId === session.account.id || can(session, "account.manage_owner")) return;
    if ((await accounts.byId(accountId))?.role === "owner") {
      throw new AccountError("Only an owner can change keys that an owner pays for");
    }
  };

  /** The member in the path. */
  const memberOf = async (c: PageRequest, team: Team) => {
    const member = await members.find(team, { id: c.req.param("account") ?? "" });
    if (member !== undefined) return member;
    throw new AccountError(`This account is not in team ${team.name}`);
  };

  /** The key in the path, if it is the team's and the visitor may change or revoke it. */
  const keyOf = async (c: PageRequest, session: Session, team: Team, isRevoked = false) => {
    const key = await keys.byId(c.req.param("key") ?? "");
    const found = key?.teamId === team.id &&
      can(session, ...actionOnKey(team, key, session, isRevoked));
    if (!found) throw new AccountError("Key not found in this team");
    if (!isRevoked) await checkPayer(session, key.accountId);
    return key;
  };

  app.get("/console/teams", may("self.use", (c, session) => list(c, session)));
  app.post(
    "/console/teams",
    may("team.create", async (c, session) => {
      const { form } = c.var;
      try {
        const made = await operate(c, parts, session, [TEAM_CREATE, {
          name: form.text("name"),
          pool: form.choice("pool", "who pays", ["yes", "no"]) === "yes",
          models: modelsOf(form, catalog()),
        }]);
        return seeOther(c, `/console/teams/${made.id}`);
      } catch (error) {
        if (!(error instanceof AccountError)) throw error;
        return await list(c, session, `${error.message}.`);
      }
    }),
  );
  app.get("/console/teams/:team", about("team.read", (c, session, team) => show(c, session, team)));
  app.post(
    "/console/teams/:team",
    write("team.update", async (c, team, session) => {
      await operate(c, parts, session, [TEAM_UPDATE, {
        team: team.id,
        name: c.var.form.text("name"),
        models: modelsOf(c.var.form, catalog(), team.models),
      }]);
      return "team";
    }),
  );
  for (const [word, disabled] of [["disable", true], ["enable", false]] as const) {
    app.post(
      `/console/teams/:team/${word}`,
      write("team.update", async (c, team, session) => {
        const operation = disabled ? TEAM_DISABLE : TEAM_ENABLE;
        await operate(c, parts, session, [operation, { team: team.id }]);
        return disabled ? "team-disabled" : "team-enabled";
      }),
    );
  }
  app.post(
    "/console/teams/:team/upstream-keys",
    write("team.upstream_keys", async (c, team, session) => {
      await setOwnKey(c, parts, session, { team: team.id });
      return "upstream-key";
    }),
  );
  app.post(
    "/console/teams/:team/upstream-keys/:upstream/remove",
    write("team.upstream_keys", async (c, team, session) => {
      await removeOwnKey(c, parts, session, { teamId: team.id });
      return "upstream-key-removed";
    }),
  );
  app.post(
    "/console/teams/:team/own-keys",
    write("team.upstream_keys", async (c, team, session) => {
      const use = c.var.form.text("use");
      await operate(c, parts, session, [TEAM_OWN_KEYS, { team: team.id, use }]);
      return "own-keys";
    }),
  );
  app.post(
    "/console/teams/:team/members",
    write("team.members", async (c, team, session) => {
      const { form } = c.var;
      const email = form.text("email");
      const account = (await accounts.find(email))?.id;
      if (account === undefined) {
        throw new AccountError(
          `Nobody has an account with the address ${email.slice(0, 200)}: ` +
            "the person can register, or an operator creates one",
        );
      }
      const role = form.text("role") === "" ? undefined : roleOf(form);
      await operate(c, parts, session, [MEMBER_ADD, { team: team.id, account, role }]);
      return "member-added";
    }),
  );
  const moves = { stop: MEMBER_STOP, start: MEMBER_START, remove: MEMBER_REMOVE };
  for (const word of ["stop", "start", "remove"] as const) {
    app.post(
      `/console/teams/:team/members/:account/${word}`,
      write("team.members", async (c, team, session) => {
        const about = { team: team.id, account: (await memberOf(c, team)).accountId };
        await operate(c, parts, session, [moves[word], about]);
        return `member-${word}`;
      }),
    );
  }
  app.post(
    "/console/teams/:team/members/:account/role",
    write("team.members", async (c, team, session) => {
      const role = roleOf(c.var.form);
      const { accountId: account } = await memberOf(c, team);
      await operate(c, parts, session, [MEMBER_ROLE, { team: team.id, account, role }]);
      return "role";
    }),
  );
  app.post(
    "/console/teams/:team/keys",
    about("team.own_keys", async (c, session, team) => {
      const { form } = c.var;
      try {
        const member = await memberForKey(parts, team, form.text("member"));
        const payerId = team.poolId ?? member?.id ?? null;
        const asked = { memberId: member?.id ?? null, accountId: payerId ?? "" };
        if (!can(session, ...actionOnKey(team, asked, session))) {
          throw new AccountError("You may create keys only for yourself");
        }
        await checkPayer(session, asked.accountId);
        const { key } = await operate(c, parts, session, [KEY_CREATE, {
          team: team.id,
          member: member?.id ?? null,
          id: form.text("id") || undefined,
          name: form.text("name"),
          models: modelsOf(form, catalog()),
          expires_at: expiryOf(form, now()),
          budgets: budgetsOfForm(form),
        }]);
        return await show(c, session, team, { made: String(key) });
      } catch (error) {
        // the page that shows a key was loaded again: it has been made, and is not shown twice
        if (error instanceof DuplicateKey) return seeOther(c, `/console/teams/${team.id}`);
        if (!(error instanceof AccountError)) throw error;
        return await show(c, session, team, { error: `${error.message}.` });
      }
    }),
  );
  app.post(
    "/console/teams/:team/keys/:key/revoke",
    write("team.own_keys", async (c, team, session) => {
      const { id } = await keyOf(c, session, team, true);
      await operate(c, parts, session, [KEY_REVOKE, { key: id }]);
      return "revoked";
    }),
  );
  app.post(
    "/console/teams/:team/keys/:key/update",
    write("team.own_keys", async (c, team, session) => {
      const key = await keyOf(c, session, team);
      const changes = keyChanges(c.var.form, key, { catalog: catalog(), nowMs: now() });
      await operate(c, parts, session, [KEY_UPDATE, { key: key.id, ...changes }]);
      return "key";
    }),
  );
  for (const [path, change] of Object.entries(BUDGET_FORMS)) {
    const base = "/console/teams/:team";
    const work = (c: PageRequest, session: Session, owner: BudgetOwner, ownerId: string) =>
      change({
        database,
        owner: { owner, ownerId },
        form: c.var.form,
        nowMs: now(),
        carryOut: (one: Change) => operate(c, parts, session, one),
      });
    app.post(
      `${base}/${path}`,
      write("team.budgets", (c, team, session) => work(c, session, "team", team.id)),
    );
    app.post(
      `${base}/members/:account/${path}`,
      write("team.budgets", async (c, team, session) => {
        const id = c.req.param("account") ?? "";
        // a budget of somebody who was removed can be removed as well
        const isMember = await members.find(team, { id }) !== undefined;
        if (!isMember && path !== "budget/remove") {
          throw new AccountError("This account is not in the team");
        }
        return await work(c, session, "member", `${team.id}:${id}`);
      }),
    );
    app.post(
      `${base}/keys/:key/${path}`,
      write("team.own_keys", async (c, team, session) => {
        const key = await keyOf(c, session, team);
        if (!mayBudget(session, team, key)) {
          throw new AccountError("Only a lead of the team can change budgets of this key");
        }
        return await work(c, session, "key", key.id);
      }),
    );
  }
  app.post(
    "/console/teams/:team/keys/:key/rotate",
    about("team.own_keys", async (c, session, team) => {
      try {
        const { id } = await keyOf(c, session, team);
        const hours = c.var.form.count("hours", "Hours", KEEP_HOURS) ?? 0;
        const input = {
          key: id,
          keep_seconds: hours * HOUR_SECONDS,
          end_earlier: c.var.form.has("end_earlier"),
        };
        const { key } = await operate(c, parts, session, [KEY_ROTATE, input]);
        return await show(c, session, team, { made: String(key) });
      } catch (error) {
        if (!(error instanceof AccountError)) throw error;
        return await show(c, session, team, { error: `${error.message}.` });
      }
    }),
  );
}

/** The action, and what it is about, that changing a key of a team is; revoking it takes less. */
function actionOnKey(
  team: Team,
  { memberId, accountId }: Pick<Key, "memberId" | "accountId">,
  { account }: Session,
  isRevoked = false,
): [Action, { teamId: string }] {
  const about = { teamId: team.id };
  if (memberId === account.id) return ["team.own_keys", about];
  return [isRevoked || accountId === team.poolId ? "team.keys" : "team.members_paid_keys", about];
}

/** Whether the visitor may set budgets of a key that it may change: of those that a pool pays for, only a lead may. */
function mayBudget(session: Session, team: Team, key: Key): boolean {
  return can(session, ...actionOnKey(team, key, session)) &&
    (key.accountId !== team.poolId || can(session, "team.budgets", { teamId: team.id }));
}

/** The member that a new key is for; null for the whole team. */
async function memberForKey(
  { accounts, members }: Pick<ConsoleParts, "accounts" | "members">,
  team: Team,
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
