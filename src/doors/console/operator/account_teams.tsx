import { Badge, Name, Table } from "../components.tsx";

/** A team of an account. */
export interface Membership {
  readonly teamId: string;
  readonly teamName: string;
  /** Its role there; `undefined` for the pool of the team. */
  readonly role?: string;
  readonly isStopped?: boolean;
}

/** The teams of an account. */
export function AccountTeams({ teams }: { teams: readonly Membership[] }) {
  if (teams.length === 0) return null;
  return (
    <>
      <h2>Teams</h2>
      <Table<Membership>
        caption="Teams"
        rows={teams}
        empty=""
        columns={[
          {
            name: "team",
            cell: ({ teamId, teamName }) => (
              <Name text={teamName} href={`/console/teams/${teamId}`} />
            ),
          },
          {
            name: "role",
            bare: true,
            cell: ({ role, isStopped }) =>
              isStopped ? <Badge tone="bad">stopped</Badge> : <Badge tone="calm">{role}</Badge>,
          },
        ]}
      />
    </>
  );
}
