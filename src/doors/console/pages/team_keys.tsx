import { Select } from "../components.tsx";
import { NewKeyForm } from "./key_forms.tsx";
import type { TeamPageProps } from "./team_page_props.ts";

/** A form that creates a key of the team, for those for whom the visitor may. */
export function NewTeamKey(
  { page, team, members, self, mayMakeFor, models, base }: TeamPageProps & { base: string },
) {
  const choices = members.filter(({ accountId, stoppedAtMs }) =>
    stoppedAtMs === null && mayMakeFor(accountId)
  );
  return (
    <NewKeyForm
      path={`${base}/keys`}
      csrf={page.csrf}
      models={team.models ?? models}
      title="Create a key"
    >
      <Select
        label="For"
        name="member"
        options={[
          ...choices.map(({ accountId, email }) => [accountId, email] as const),
          ...(mayMakeFor(null) ? [["team", "the whole team"] as const] : []),
        ]}
        value={choices.find(({ accountId }) => accountId === self?.id)?.accountId}
      />
    </NewKeyForm>
  );
}
