import type { Budget } from "../../../money/ledger/mod.ts";
import { toldApart } from "../../../ground/platform/mod.ts";
import { BudgetBar } from "../budgets.tsx";
import { levelsOf, Name, Term } from "../components.tsx";
import { count, number } from "../format.ts";
import type { HomeProps } from "./home_props.ts";
import { SPAN_WORDS } from "./home_words.ts";

/** Budgets that are shown: those of which the largest part is used. */
const BUDGETS_SHOWN = 6;

/** Budgets that apply to the visitor's keys. */
export function Budgets({ budgets }: HomeProps) {
  if (budgets.length === 0) return null;
  const part = ({ spent, held, left }: Budget) => (spent + held) / Math.max(1, spent + held + left);
  const shown = budgets.toSorted((a, b) => part(b.budget) - part(a.budget))
    .slice(0, BUDGETS_SHOWN);
  const others = budgets.length - shown.length;
  return (
    <section class="card">
      <h2>Budgets of your keys</h2>
      <ul class="bars">
        {shown.map(({ budget, of }) => (
          <li>
            <BudgetBar budget={budget} of={of} brief />
          </li>
        ))}
      </ul>
      {others === 0 ? null : (
        <p>
          <a href="/console/keys">{count(others, "more budget")}</a>, used no more than these.
        </p>
      )}
    </section>
  );
}

/** Rate limits that are in use, and those that apply to all. */
export function Limits({ limits, tier, credits, pools }: HomeProps) {
  const labels = toldApart(limits.flatMap(({ key }) => key ?? []));
  const each = tier.map(({ span, limit }, at) =>
    `${number(limit)}${at === 0 ? " requests" : ""} ${SPAN_WORDS[span]}`
  );
  return (
    <section class="card">
      <h2>Rate limits</h2>
      {limits.length === 0 ? null : (
        <ul class="bars">
          {limits.map(({ key, window: { span, used, limit } }) => {
            const name = key === undefined ? "All keys of this account" : labels.get(key.id)!;
            const words = `${number(used)} of ${number(limit)} ${SPAN_WORDS[span]}`;
            return (
              <li class="limit">
                <Name text={name} />
                <span class="number">{words}</span>
                <meter
                  {...levelsOf(limit)}
                  value={Math.min(used, limit)}
                  aria-label={`${name}: ${words}`}
                />
              </li>
            );
          })}
        </ul>
      )}
      <p class="quiet">
        {tier.length === 0
          ? credits.balance > 0
            ? "No limits apply at this balance."
            : pools.length === 0
            ? "Requests are rejected while the balance is 0."
            : "Requests with keys of your own are rejected while your balance is 0."
          : (
            <>
              Each key may send up to {each.join(", ")}, counted in{" "}
              <Term word="window">windows</Term> of UTC. {limits.length === 0
                ? "Nothing was sent just now."
                : "Keys that sent nothing are left out."}
            </>
          )}
      </p>
    </section>
  );
}
