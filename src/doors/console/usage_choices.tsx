import { BOUND_WORDS, type Dimension } from "../../money/usage/mod.ts";
import { Field } from "./components.tsx";

/** What the usage page was asked for, as its address says it. */
export interface UsageChoices {
  readonly by: string;
  readonly since: string;
  readonly until: string;
  readonly zone: string;
  readonly tag: string;
  readonly team: string;
  readonly account: string;
  readonly compare: boolean;
  readonly all: boolean;
}

const OWN: readonly Dimension[] = ["day", "hour", "model", "key", "month", "reason"];
const OF_ALL: readonly Dimension[] = [...OWN, "account", "team", "member"];

/** Ranges that most people look at: bounds and words. */
export const RANGES: readonly (readonly [since: string, words: string])[] = [
  ["today", "today"],
  ["7d", "7 days"],
  ["30d", "30 days"],
  ["90d", "90 days"],
  ["month", "this month"],
];

/**
 * Returns the query of the usage page, or of its downloads.
 *
 * @param choices What is shown.
 * @param changes What is to be shown instead.
 */
export function queryOf(choices: UsageChoices, changes: Partial<UsageChoices> = {}): string {
  const given = Object.entries({ ...choices, ...changes })
    .filter(([, value]) => value !== "" && value !== false)
    .map(([name, value]) => [name, value === true ? "1" : String(value)]);
  return new URLSearchParams(given).toString();
}

/** What the usage page shows: a range, a grouping, and what else narrows it. Works without scripts. */
export function Choices(
  { choices, seesAll, lastMonth }: {
    choices: UsageChoices;
    /** Whether the visitor may see the usage of all accounts. */
    seesAll: boolean;
    /** The month before this one and this one, such as `2026-10` and `2026-11`. */
    lastMonth: readonly [since: string, until: string];
  },
) {
  const { by, since, until, zone, tag, team, account, all, compare } = choices;
  const ranges = [
    ...RANGES.map(([from, words]) => ({ since: from, until: "", words })),
    { since: lastMonth[0], until: lastMonth[1], words: "last month" },
  ];
  const isPreset = ranges.some((one) => one.since === since && one.until === until);
  const groupings = all || team !== "" ? OF_ALL : OWN;
  const isOpen = !isPreset || !groupings.some((one) => one === by) || zone !== "" || tag !== "";
  return (
    <>
      <nav class="tabs" aria-label="Range">
        {ranges.map(({ words, ...bounds }) => (
          <Choice
            query={queryOf(choices, bounds)}
            isChosen={bounds.since === since && bounds.until === until}
            words={words}
          />
        ))}
      </nav>
      <nav class="tabs" aria-label="Grouping">
        {groupings.map((one) => (
          <Choice
            query={queryOf(choices, { by: one })}
            isChosen={one === by}
            words={`by ${one}`}
          />
        ))}
      </nav>
      <details class="filters" open={isOpen || account !== "" || team !== ""}>
        <summary>Other ranges and filters</summary>
        <form method="get" action="/console/usage" class="row">
          <Field
            label="From"
            name="since"
            value={since}
            hint="7d, 2026-11 or 2026-11-05"
            title={`Can be ${BOUND_WORDS}.`}
          />
          <Field label="Before" name="until" value={until} hint="not included; empty for now" />
          <Field label="Group by" name="by" value={by} hint="such as model,day or tag:project" />
          <Field label="Time zone" name="zone" value={zone} hint="such as Europe/Berlin" />
          <Field label="Tag" name="tag" value={tag} hint="such as project=alpha" />
          {seesAll
            ? <Field label="Team" name="team" value={team} hint="its name" />
            : team === ""
            ? null
            : <input type="hidden" name="team" value={team} />}
          {seesAll && (
            <Field label="Account" name="account" value={account} hint="its email address" />
          )}
          {seesAll && (
            <label class="check">
              <input type="checkbox" name="all" value="1" checked={all} /> All accounts
            </label>
          )}
          {compare ? <input type="hidden" name="compare" value="1" /> : null}
          <button type="submit" class="plain">Show</button>
        </form>
      </details>
    </>
  );
}

function Choice({ query, isChosen, words }: { query: string; isChosen: boolean; words: string }) {
  return (
    <a href={`/console/usage?${query}`} aria-current={isChosen ? "page" : undefined}>
      {words}
    </a>
  );
}
