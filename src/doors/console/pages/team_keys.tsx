import { toldApart } from "../../../ground/platform/mod.ts";
import { type Key, newKeyId } from "../../../people/accounts/mod.ts";
import { BudgetFields } from "../budgets.tsx";
import { Field, Form, Names, RelativeTime, Table, Time } from "../components.tsx";
import { number } from "../format.ts";
import { isWithoutBudgets, KeyBudgets, KeyForms, KeyName, KeyState } from "./keys.tsx";
import { ModelChoice } from "./model_choice.tsx";
import type { TeamPageProps } from "./team_page_props.ts";

export function TeamKeyTable(
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
  const labels = toldApart(keys);
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
            const label = labels.get(key.id)!;
            return <KeyBudgets value={key} label={label} budgets={found} csrf={csrf} path={path} />;
          },
        },
        {
          name: "",
          cell: (key) =>
            key.revokedAtMs !== null ? "" : (
              <KeyForms
                value={key}
                label={labels.get(key.id)!}
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

export function NewTeamKey(
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
          {!others || team.poolId === null ? null : <option value="team">the whole team</option>}
        </select>
      </label>
      <label class="field">
        <span>Expires</span>
        <select name="expires">
          <option value="never">never</option>
          {[7, 30, 90, 365].map((days) => <option value={String(days)}>in {days} days</option>)}
        </select>
      </label>
      <ModelChoice models={team.models ?? models} chosen={null} />
      <BudgetFields />
      <button type="submit">Create key</button>
    </Form>
  );
}
