import {
  BUDGET_SET,
  MEMBER_ADD,
  ORDER_CREATE,
  TEAM_UPDATE,
} from "../../../operating/operations/mod.ts";
import { Budgets, TimeZones } from "../budgets.tsx";
import { Field, Form, Stat } from "../components.tsx";
import { count } from "../format.ts";
import { Layout } from "../layout.tsx";
import { NewKey } from "./key_forms.tsx";
import { KeyTable } from "./key_table.tsx";
import { ModelChoice } from "./model_choice.tsx";
import { OwnKeys } from "./own_keys.tsx";
import { NewTeamKey } from "./team_keys.tsx";
import { MemberTable, RoleChoice } from "./team_members.tsx";
import type { TeamPageProps } from "./team_page_props.ts";
import { TeamState } from "./teams.tsx";

/** A team: what each member spent this month on which model, its members and keys. */
export function TeamPage(props: TeamPageProps) {
  const { page, team, balance, members, usage, self, may, mayOperate, models } = props;
  const { mayMakeFor, made, address, nowMs } = props;
  const base = `/console/teams/${team.id}`;
  const credits = usage.reduce((sum, one) => sum + one.credits, 0);
  const requests = usage.reduce((sum, one) => sum + one.requests, 0);
  const seesKeys = self !== undefined || may("team.keys");
  const mayAddKeys = team.disabledAtMs === null &&
    [...members.map(({ accountId }) => accountId), null].some(mayMakeFor);
  return (
    <Layout page={page} title={team.name}>
      {made !== undefined && (
        <NewKey
          {...made}
          address={address}
          models={made.models.filter((id) => team.models?.includes(id) ?? true)}
        />
      )}
      <p>
        <TeamState team={team} />{" "}
        <span class="quiet">
          Models: {team.models === null ? "all" : team.models.join(", ") || "none"}.{" "}
          {team.poolId === null ? "Each member pays for their own keys." : null}
        </span>
      </p>
      <dl class="stats">
        {balance !== null && <Stat name="Pool" value={balance} note="credits of the whole team" />}
        <Stat name="This month" value={credits} note={count(requests, "request")} />
        {!may("team.usage") ? null : <Stat name="Members" value={members.length} />}
      </dl>
      {team.poolId === null || !may("team.orders") ? null : (
        <p>
          <a href={`${base}/credits`}>
            {mayOperate(ORDER_CREATE) ? "Buy credits, orders and receipts" : "Orders and receipts"}
          </a>
        </p>
      )}
      {props.budgets.length === 0 && !mayOperate(BUDGET_SET) ? null : (
        <section class="card">
          <h2>Budgets of the team</h2>
          <Budgets
            budgets={props.budgets}
            of={team.name}
            csrf={page.csrf}
            path={mayOperate(BUDGET_SET) ? base : undefined}
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
      {mayOperate(MEMBER_ADD) && (
        <Form action={`${base}/members`} csrf={page.csrf} class="card line">
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
          <KeyTable
            {...props}
            csrf={page.csrf}
            caption="Keys of the team"
            budgets={props.keyBudgets}
            spentIn="this month"
            allModels="the team's"
            models={team.models ?? models}
            action={`${base}/keys`}
          />
        </>
      )}
      {!mayAddKeys ? null : <NewTeamKey {...props} base={base} />}
      {props.ownKeys !== undefined && (
        <OwnKeys {...props.ownKeys} csrf={page.csrf} base={base} nowMs={nowMs} />
      )}
      {!mayOperate(TEAM_UPDATE) ? null : <TeamSettings {...props} base={base} />}
    </Layout>
  );
}

function TeamSettings({ page, team, models, base }: TeamPageProps & { base: string }) {
  return (
    <div class="grid">
      <Form action={base} csrf={page.csrf} class="card">
        <h2>Settings</h2>
        <Field label="Name" name="name" maxlength={200} value={team.name} required />
        <ModelChoice models={models} chosen={team.models} />
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
              csrf={page.csrf}
              confirm={`Disable ${team.name}? All of its keys stop working within a second.`}
            >
              <button type="submit" class="danger">Disable team</button>
            </Form>
          )
          : (
            <Form action={`${base}/enable`} csrf={page.csrf}>
              <button type="submit">Enable team</button>
            </Form>
          )}
      </section>
    </div>
  );
}
