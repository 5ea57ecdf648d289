import type { Team, TeamRole } from "../../../people/accounts/mod.ts";
import { Badge, Field, Form, Name, Names, Select, Table } from "../components.tsx";
import { number } from "../format.ts";
import { Layout, type PageContext } from "../layout.tsx";
import { ModelChoice } from "./model_choice.tsx";

/** A team with its size. */
interface TeamRow {
  readonly team: Team;
  readonly members: number;
  /** Balance of its pool; `null` without one. */
  readonly balance: number | null;
  /** The visitor's role in it. */
  readonly role: TeamRole | undefined;
}

/** The teams that the visitor may see. */
export function TeamsPage(
  { page, rows, models, mayCreate }: {
    page: PageContext;
    rows: readonly TeamRow[];
    models: readonly string[];
    mayCreate: boolean;
  },
) {
  return (
    <Layout page={page} title="Teams">
      <Table<TeamRow>
        caption="Teams"
        rows={rows}
        empty={mayCreate
          ? "No teams yet."
          : "You are in no team. A team's lead or an operator can add you."}
        columns={[
          {
            name: "name",
            cell: ({ team }) => <Name href={`/console/teams/${team.id}`} text={team.name} />,
          },
          { name: "state", bare: true, cell: ({ team }) => <TeamState team={team} /> },
          { name: "your role", cell: ({ role }) => role ?? "–" },
          { name: "members", numeric: true, cell: ({ members }) => number(members) },
          {
            name: "pool",
            role: "figure",
            cell: ({ balance }) => balance === null ? "members pay" : number(balance),
          },
          {
            name: "models",
            cell: ({ team }) => team.models === null ? "all" : <Names all={team.models} />,
          },
        ]}
      />
      {!mayCreate ? null : (
        <>
          <h2>Create a team</h2>
          <Form action="/console/teams" csrf={page.csrf} class="card narrow">
            <Field label="Name" name="name" maxlength={200} required autocomplete="off" />
            <Select
              label="Credits"
              name="pool"
              options={[
                ["yes", "a shared pool pays for all keys"],
                ["no", "each member pays for their own keys"],
              ]}
            />
            <ModelChoice models={models} chosen={null} />
            <button type="submit">Create team</button>
          </Form>
        </>
      )}
    </Layout>
  );
}

/** Whether a team is active or disabled. */
export function TeamState({ team }: { team: Team }) {
  return team.disabledAtMs === null
    ? <Badge tone="good">active</Badge>
    : <Badge tone="bad">disabled</Badge>;
}
