import { type Member, type Team, TEAM_ROLES } from "../../../people/accounts/mod.ts";
import { BUDGET_SET, MEMBER_ROLE } from "../../../operating/operations/mod.ts";
import { creditsIn } from "../../../money/usage/mod.ts";
import { Budgets } from "../budgets.tsx";
import { Badge, Form, Name, RelativeTime, Select, Table } from "../components.tsx";
import { number } from "../format.ts";
import type { MemberUsage, TeamPageProps } from "./team_page_props.ts";

/** Members, and those who were removed as far as they used the team this month, with what they spent. */
export function MemberTable(
  {
    page,
    team,
    members,
    names,
    usage,
    memberBudgets,
    may,
    mayOperate,
    nowMs,
    lastUseByMember,
    base,
  }:
    & TeamPageProps
    & { base: string },
) {
  const present = new Set<string | null>(members.map(({ accountId }) => accountId));
  const spenders = usage.map(({ memberId }) => memberId).filter((id) => !present.has(id));
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
          name: "role",
          bare: true,
          cell: ({ id, member }) =>
            id === null
              ? ""
              : member === undefined
              ? <Badge tone="warn">removed</Badge>
              : <MemberState member={member} />,
        },
        { name: "credits", role: "figure", cell: (row) => number(creditsIn(own(row))) },
        {
          name: "by model",
          cell: (row) => {
            const all = own(row);
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
            const path = mayOperate(BUDGET_SET) ? `${base}/members/${id}` : undefined;
            if (found.length === 0 && (path === undefined || member === undefined)) return "–";
            return (
              <Budgets
                budgets={found}
                of={member?.email ?? names.get(id) ?? id}
                csrf={page.csrf}
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
            member === undefined || !mayOperate(MEMBER_ROLE)
              ? ""
              : <MemberForms team={team} member={member} csrf={page.csrf} base={base} />,
        },
      ]}
    />
  );
}

/** Models that are shown before the rest is folded away. */
const MODELS_SHOWN = 3;

/** What was spent on each model, most first. */
function ModelCredits({ all }: { all: readonly MemberUsage[] }) {
  const models = [...Map.groupBy(all, ({ model }) => model)]
    .map(([model, own]) => ({ model, credits: creditsIn(own) }))
    .toSorted((a, b) => b.credits - a.credits);
  const lines = models.map(({ model, credits }) => (
    <li>
      <Name text={model} /> <span class="number">{number(credits)}</span>
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
export function RoleChoice({ role }: { role?: string }) {
  const options = TEAM_ROLES.toReversed()
    .map((one) => [role === undefined && one === "member" ? "" : one, one] as const);
  return <Select label="Role" name="role" options={options} value={role ?? ""} />;
}
