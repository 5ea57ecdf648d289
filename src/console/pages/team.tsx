import {
  type Account,
  type Action,
  type Key,
  type Member,
  newKeyId,
  type Team,
  TEAM_ROLES,
} from "../../accounts/mod.ts";
import type { Budget } from "../../ledger/mod.ts";
import type { TeamReportRow } from "../../usage/mod.ts";
import { BudgetFields, Budgets, TimeZones } from "../budgets.tsx";
import {
  Badge,
  Field,
  Form,
  Name,
  Names,
  RelativeTime,
  Stat,
  Table,
  Time,
} from "../components.tsx";
import { count, number } from "../format.ts";
import { Layout, noticeOf, type PageContext } from "../layout.tsx";
import {
  isActive,
  isWithoutBudgets,
  KeyBudgets,
  KeyForms,
  KeyName,
  KeyState,
  NewKey,
} from "./keys.tsx";
import { ModelChoice } from "./model_choice.tsx";
import { TeamState } from "./teams.tsx";

/** What the page of a team shows. */
interface TeamPageProps {
  readonly page: PageContext;
  readonly csrf: string;
  readonly team: Team;
  /** Balance of the pool; `null` without one. */
  readonly balance: number | null;
  /** The members that the visitor may see. */
  readonly members: readonly Member[];
  /** Email addresses by account ID, those of removed members among them. */
  readonly names: ReadonlyMap<string, string>;
  /** The keys that the visitor may see, newest first. */
  readonly keys: readonly Key[];
  /** Budgets of the team. */
  readonly budgets: readonly Budget[];
  /** Budgets of members, by account ID. */
  readonly memberBudgets: ReadonlyMap<string, readonly Budget[]>;
  /** Budgets of keys, by key ID. */
  readonly keyBudgets: ReadonlyMap<string, readonly Budget[]>;
  readonly mayBudget: (key: Key) => boolean;
  readonly mayChange: (key: Key) => boolean;
  readonly mayRevoke: (key: Key) => boolean;
  /** When keys were last used, by key ID. */
  readonly lastUse: ReadonlyMap<string, number>;
  /** When members last used a key of the team, by account ID; of its own keys, by `null`. */
  readonly lastUseByMember: ReadonlyMap<string | null, number>;
  /** This month's usage by member and model. */
  readonly usage: readonly TeamReportRow[];
  /** This month's credits by key ID. */
  readonly spent: ReadonlyMap<string, number>;
  /** The visitor's account, if it is a member. */
  readonly self: Account | undefined;
  /** Whether the visitor may do an action in this team. */
  readonly may: (action: Action) => boolean;
  readonly models: readonly string[];
  /** Secret of the key that was just created. */
  readonly made?: string | undefined;
  readonly address: string;
  readonly error?: string | undefined;
  readonly done?: string | undefined;
  readonly nowMs: number;
}

/** A team: what each member spent this month on which model, its members and keys. */
export function TeamPage(props: TeamPageProps) {
  const { page, csrf, team, balance, members, keys, usage, self, may, models } = props;
  const { made, address, error, done, nowMs } = props;
  const base = `/console/teams/${team.id}`;
  const credits = usage.reduce((sum, one) => sum + one.credits, 0);
  const requests = usage.reduce((sum, one) => sum + one.requests, 0);
  const active = keys.filter((key) => isActive(key, nowMs));
  const past = keys.filter((key) => !isActive(key, nowMs));
  const seesKeys = self !== undefined || may("team.keys");
  const mayAddKeys = team.disabledAtMs === null && seesKeys;
  return (
    <Layout page={page} title={team.name} notice={noticeOf({ error, done })}>
      {made === undefined
        ? null
        : <NewKey secret={made} address={address} models={team.models ?? models} />}
      <p>
        <TeamState team={team} />{" "}
        <span class="quiet">
          Models: {team.models?.join(", ") ?? "all"}.{" "}
          {team.poolId === null ? "Each member pays for their own keys." : null}
        </span>
      </p>
      <dl class="stats">
        {balance === null
          ? null
          : <Stat name="Pool" value={balance} note="credits of the whole team" />}
        <Stat name="This month" value={credits} note={count(requests, "request")} />
        {!may("team.usage") ? null : <Stat name="Members" value={members.length} />}
      </dl>
      {team.poolId === null || !may("team.orders") ? null : (
        <p>
          <a href={`${base}/credits`}>
            {may("team.buy") ? "Buy credits, orders and receipts" : "Orders and receipts"}
          </a>
        </p>
      )}
      {props.budgets.length === 0 && !may("team.budgets") ? null : (
        <section class="card">
          <h2>Budgets of the team</h2>
          <Budgets
            budgets={props.budgets}
            of={team.name}
            csrf={csrf}
            path={may("team.budgets") ? base : undefined}
          />
        </section>
      )}
      <TimeZones />
      <h2>Members</h2>
      <MemberTable {...props} base={base} />
      {!may("team.usage") ? null : (
        <p>
          <a href={`/console/usage?team=${team.id}&by=member&since=7d`}>
            Usage of other days, by member, key or model
          </a>
        </p>
      )}
      {!may("team.members") ? null : (
        <Form action={`${base}/members`} csrf={csrf} class="card line">
          <h2>Add a member</h2>
          <Field
            label="Email"
            name="email"
            type="email"
            required
            autocomplete="off"
            hint="The person needs an account."
          />
          <RoleChoice />
          <button type="submit">Add member</button>
        </Form>
      )}
      {!seesKeys ? null : (
        <>
          <h2>Keys</h2>
          <TeamKeyTable {...props} keys={active} caption="Keys of the team" base={base} />
        </>
      )}
      {past.length === 0 ? null : (
        <details>
          <summary>{count(past.length, "key")} revoked or expired</summary>
          <TeamKeyTable
            {...props}
            keys={past}
            caption="Revoked and expired keys"
            base={base}
            arePast
          />
        </details>
      )}
      {!mayAddKeys ? null : <NewTeamKey {...props} base={base} />}
      {!may("team.update") ? null : <TeamSettings {...props} base={base} />}
    </Layout>
  );
}

/** Members, and those who were removed as far as they used the team this month, with what they spent. */
function MemberTable(
  { team, members, names, usage, memberBudgets, csrf, may, nowMs, lastUseByMember, base }:
    & TeamPageProps
    & { base: string },
) {
  const present = new Map(members.map((one) => [one.accountId, one]));
  const spenders = usage.map(({ memberId }) => memberId).filter((id) =>
    id === null || !present.has(id)
  );
  const budgeted = may("team.usage")
    ? [...memberBudgets.keys()].filter((id) => !present.has(id))
    : [];
  const rows = [
    ...members.map((member) => ({ id: member.accountId, member })),
    ...[...new Set([...spenders, ...budgeted])].map((id) => ({ id, member: undefined })),
  ];
  type MemberRow = typeof rows[number];
  const own = ({ id }: MemberRow) => usage.filter(({ memberId }) => memberId === id);
  const lastUsed = ({ id }: MemberRow) => lastUseByMember.get(id) ?? 0;
  return (
    <Table<MemberRow>
      caption="Members, with what they spent this month (UTC)"
      rows={rows}
      empty="No members yet."
      columns={[
        {
          name: "member",
          cell: ({ id, member }) =>
            id === null ? "keys of the whole team" : member?.email ?? names.get(id) ?? id,
        },
        {
          name: "state",
          bare: true,
          cell: ({ id, member }) =>
            id === null
              ? ""
              : member === undefined
              ? <Badge tone="warn">removed</Badge>
              : <MemberState member={member} />,
        },
        {
          name: "credits",
          role: "figure",
          numeric: true,
          cell: (row) => number(own(row).reduce((sum, { credits }) => sum + credits, 0)),
        },
        {
          name: "by model",
          cell: (row) => {
            const all = own(row).toSorted((a, b) => b.credits - a.credits);
            return all.length === 0 ? "–" : <ModelCredits all={all} />;
          },
        },
        {
          name: "last used",
          cell: (row) =>
            lastUsed(row) === 0 ? "never" : <RelativeTime ms={lastUsed(row)} nowMs={nowMs} />,
        },
        {
          name: "budget",
          bare: true,
          cell: ({ id, member }) => {
            if (id === null) return "–";
            const found = memberBudgets.get(id) ?? [];
            const path = may("team.budgets") ? `${base}/members/${id}` : undefined;
            if (found.length === 0 && (path === undefined || member === undefined)) return "–";
            return (
              <Budgets
                budgets={found}
                of={member?.email ?? names.get(id) ?? id}
                csrf={csrf}
                path={path}
                // those of a removed member apply again when they are added again: they can be removed
                isKept={member === undefined}
              />
            );
          },
        },
        {
          name: "",
          cell: ({ member }) =>
            member === undefined || !may("team.members")
              ? ""
              : <MemberForms team={team} member={member} csrf={csrf} base={base} />,
        },
      ]}
    />
  );
}

/** Models that are shown before the rest is folded away. */
const MODELS_SHOWN = 3;

/** What was spent on each model, most first. */
function ModelCredits({ all }: { all: readonly TeamReportRow[] }) {
  const lines = all.map(({ group, credits }) => (
    <li>
      <Name text={group} /> {number(credits)}
    </li>
  ));
  const folded = lines.slice(MODELS_SHOWN);
  return (
    <>
      <ul class="plain-list">{lines.slice(0, MODELS_SHOWN)}</ul>
      {folded.length === 0 ? null : (
        <details class="more">
          <summary>{folded.length} more</summary>
          <ul class="plain-list">{folded}</ul>
        </details>
      )}
    </>
  );
}

function MemberState({ member: { role, stoppedAtMs, disabledAtMs } }: { member: Member }) {
  if (disabledAtMs !== null) return <Badge tone="bad">disabled</Badge>;
  if (stoppedAtMs !== null) return <Badge tone="bad">stopped</Badge>;
  return role === "lead" ? <Badge tone="calm">lead</Badge> : <Badge tone="good">member</Badge>;
}

function MemberForms(
  { team, member: { accountId, email, role, stoppedAtMs }, csrf, base }: {
    team: Team;
    member: Member;
    csrf: string;
    base: string;
  },
) {
  const path = `${base}/members/${accountId}`;
  return (
    <>
      {stoppedAtMs !== null
        ? (
          <Form action={`${path}/start`} csrf={csrf}>
            <button type="submit" class="plain" aria-label={`Start ${email}`}>Start</button>
          </Form>
        )
        : (
          <Form action={`${path}/stop`} csrf={csrf}>
            <button type="submit" class="danger" aria-label={`Stop ${email}`}>Stop</button>
          </Form>
        )}
      <details>
        <summary>More</summary>
        <Form action={`${path}/role`} csrf={csrf}>
          <RoleChoice role={role} />
          <button type="submit" class="plain">Save role</button>
        </Form>
        <Form
          action={`${path}/remove`}
          csrf={csrf}
          confirm={`Remove ${email} from ${team.name}? Their keys of the team are revoked.`}
        >
          <button type="submit" class="danger" aria-label={`Remove ${email}`}>Remove</button>
        </Form>
      </details>
    </>
  );
}

/** @param props The present role. Without it nothing is chosen: a new member is a member, and others stay what they are. */
function RoleChoice({ role }: { role?: string }) {
  return (
    <label class="field">
      <span>Role</span>
      <select name="role">
        {TEAM_ROLES.toReversed().map((one) => (
          <option
            value={role === undefined && one === "member" ? "" : one}
            selected={one === (role ?? "member")}
          >
            {one}
          </option>
        ))}
      </select>
    </label>
  );
}

function TeamKeyTable(
  { keys, team, names, lastUse, spent, keyBudgets, mayBudget, mayChange, mayRevoke, ...more }:
    & TeamPageProps
    & {
      caption: string;
      base: string;
      /** Whether they are revoked or expired; else all are active. */
      arePast?: boolean;
    },
) {
  const { models, csrf, nowMs, caption, base, arePast = false } = more;
  return (
    <Table<Key>
      caption={caption}
      rows={keys}
      empty="No keys yet."
      columns={[
        { name: "name", cell: ({ name }) => <KeyName name={name} /> },
        { name: "key", bare: true, cell: ({ hint }) => <code>{hint}</code> },
        {
          name: "member",
          cell: ({ memberId }) => memberId === null ? "–" : names.get(memberId) ?? memberId,
        },
        ...(arePast
          ? [{
            name: "state",
            bare: true,
            cell: (key: Key) => <KeyState value={key} nowMs={nowMs} />,
          }]
          : []),
        {
          name: "this month",
          role: "figure",
          numeric: true,
          cell: ({ id }) => number(spent.get(id) ?? 0),
        },
        {
          name: "last used",
          cell: ({ id }) =>
            lastUse.has(id) ? <RelativeTime ms={lastUse.get(id)!} nowMs={nowMs} /> : "never",
        },
        {
          name: "expires",
          cell: ({ expiresAtMs }) =>
            expiresAtMs === null ? "never" : <Time ms={expiresAtMs} dayOnly />,
        },
        {
          name: "models",
          cell: ({ models }) => models === null ? "the team's" : <Names all={models} />,
        },
        {
          name: "budget",
          bare: true,
          cell: (key) => {
            const found = keyBudgets.get(key.id) ?? [];
            const path = mayBudget(key) ? `${base}/keys/${key.id}` : undefined;
            if (isWithoutBudgets(key, found.length, path)) return "–";
            return <KeyBudgets value={key} budgets={found} csrf={csrf} path={path} />;
          },
        },
        {
          name: "",
          cell: (key) =>
            key.revokedAtMs !== null ? "" : (
              <KeyForms
                value={key}
                csrf={csrf}
                path={`${base}/keys/${key.id}`}
                mayChange={mayChange(key)}
                mayRevoke={mayRevoke(key)}
                models={team.models ?? models}
                nowMs={nowMs}
              />
            ),
        },
      ]}
    />
  );
}

function NewTeamKey(
  { team, members, self, may, models, csrf, base }: TeamPageProps & { base: string },
) {
  // those who pay for themselves get keys from nobody but themselves and operators
  const others = may("team.members_paid_keys") || (may("team.keys") && team.poolId !== null);
  const choices = others
    ? members.filter(({ stoppedAtMs }) => stoppedAtMs === null)
    : members.filter(({ accountId }) => accountId === self?.id);
  return (
    <Form action={`${base}/keys`} csrf={csrf} class="card wide">
      <h2>Create a key</h2>
      <input type="hidden" name="id" value={newKeyId()} />
      <Field label="Name" name="name" maxlength={200} placeholder="laptop" />
      <label class="field">
        <span>For</span>
        <select name="member">
          {choices.map(({ accountId, email }) => (
            <option value={accountId} selected={accountId === self?.id}>{email}</option>
          ))}
          {!others || team.poolId === null ? null : <option value="">the whole team</option>}
        </select>
      </label>
      <label class="field">
        <span>Expires</span>
        <select name="expires">
          <option value="">never</option>
          {[7, 30, 90, 365].map((days) => <option value={String(days)}>in {days} days</option>)}
        </select>
      </label>
      <ModelChoice models={team.models ?? models} chosen={[]} />
      <BudgetFields />
      <button type="submit">Create key</button>
    </Form>
  );
}

function TeamSettings({ team, models, csrf, base }: TeamPageProps & { base: string }) {
  return (
    <div class="grid">
      <Form action={base} csrf={csrf} class="card">
        <h2>Settings</h2>
        <Field label="Name" name="name" maxlength={200} value={team.name} required />
        <ModelChoice models={models} chosen={team.models ?? []} />
        <button type="submit">Save</button>
      </Form>
      <section class="card">
        <h2>Access</h2>
        {team.poolId === null ? null : (
          <p>
            <a href={`/console/operator/accounts/${team.poolId}`}>Credits of the pool</a>
          </p>
        )}
        {team.disabledAtMs === null
          ? (
            <Form
              action={`${base}/disable`}
              csrf={csrf}
              confirm={`Disable ${team.name}? All of its keys stop working within a second.`}
            >
              <button type="submit" class="danger">Disable team</button>
            </Form>
          )
          : (
            <Form action={`${base}/enable`} csrf={csrf}>
              <button type="submit">Enable team</button>
            </Form>
          )}
      </section>
    </div>
  );
}
