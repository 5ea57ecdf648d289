import { Badge, Name, Table } from "../components.tsx";

/** A team of an account. */
export interface Membership {
  readonly teamId: string;
  readonly teamName: string;
  /** Its role there; `undefined` for the pool of the team. */
  readonly role?: string;
  readonly isStopped?: boolean;
}

/** The teams of an account, or the team whose pool it is. */
export function AccountTeams(
  { teams, isPool }: { teams: readonly Membership[]; isPool: boolean },
) {
  if (teams.length === 0) return null;
  const link = ({ teamId, teamName }: Membership) => (
    <Name text={teamName} href={`/console/teams/${teamId}`} />
  );
  if (isPool) return <p>Members and their budgets: {link(teams[0]!)}</p>;
  return (
    <>
      <h2>Teams</h2>
      <Table<Membership>
        caption="Teams"
        rows={teams}
        empty=""
        columns={[
          { name: "team", cell: link },
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
