import type { Team } from "../../../people/accounts/mod.ts";
import { Stat } from "../components.tsx";
import { dollars } from "../dollars.ts";
import { count } from "../format.ts";

/** The pool of a team, whose credits the visitor's keys of the team spend. */
export interface TeamPool {
  readonly team: Team;
  readonly balance: number;
  /** Number of the visitor's active keys that spend it. */
  readonly keys: number;
  /** What the visitor's keys of the team used this month; nothing for pools that are not shown. */
  readonly month: { readonly credits: number; readonly requests: number };
  /** When one of the visitor's keys of the team was last used; 0 if none was. */
  readonly usedAtMs: number;
  /** Whether the visitor may buy credits for it. */
  readonly mayBuy: boolean;
}

/** Pools that are shown, with what the visitor spent of them: who is in more teams finds the others on their page. */
export const POOLS_SHOWN = 2;

/** What the visitor's teams have in their pools, and what the visitor spent of it. */
export function Pools(
  { pools, perUsd }: { pools: readonly TeamPool[]; perUsd: number | undefined },
) {
  if (pools.length === 0) return null;
  const others = pools.length - POOLS_SHOWN;
  return (
    <>
      <dl class="stats">
        {pools.slice(0, POOLS_SHOWN).map(({ team: { id, name }, balance, month }) => (
          <>
            <Stat
              name={`Pool of ${name}`}
              value={balance}
              note={
                <>
                  {perUsd === undefined ? "credits" : `credits, ${dollars(balance, perUsd)}`};{" "}
                  <a href={`/console/teams/${id}`}>keys of the team</a> spend them
                </>
              }
            />
            <Stat
              name={`Your keys of ${name}, this month`}
              value={month.credits}
              note={(perUsd === undefined ? "" : `${dollars(month.credits, perUsd)}, `) +
                count(month.requests, "request")}
            />
          </>
        ))}
      </dl>
      {others <= 0 ? null : (
        <p>
          <a href="/console/teams">{count(others, "more team")}</a> with a pool.
        </p>
      )}
    </>
  );
}

/** Says of pools without credits why requests with their keys are rejected, and what to do about it. */
export function EmptyPools({ pools }: { pools: readonly TeamPool[] }) {
  return (
    <>
      {pools.filter(({ balance, keys }) => balance <= 0 && keys > 0).map((
        { team: { id, name }, mayBuy },
      ) => (
        <p class="notice bad" role="status">
          <span>
            No credits are left in the pool of {name}, so requests with its keys are rejected.{" "}
            {mayBuy
              ? <a href={`/console/teams/${id}/credits`}>Buy credits for it</a>
              : "Ask a lead of the team."}
          </span>
        </p>
      ))}
    </>
  );
}
