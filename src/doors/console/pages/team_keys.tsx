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
      <label class="field">
        <span>For</span>
        <select name="member">
          {choices.map(({ accountId, email }) => (
            <option value={accountId} selected={accountId === self?.id}>{email}</option>
          ))}
          {!mayMakeFor(null) ? null : <option value="team">the whole team</option>}
        </select>
      </label>
    </NewKeyForm>
  );
}
