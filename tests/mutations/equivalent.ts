import type { Fault } from "./faults.ts";

/** Faults made by rule that nothing can notice, and why. A line is named by its text, so that it is found after other lines have moved. */
export const EQUIVALENT: readonly {
  readonly file: string;
  /** The line without the spaces around it. */
  readonly line: string;
  readonly kind: string;
  /** What stood there, without the spaces around it, of a line with several faults of the kind. */
  readonly was?: string;
  readonly because: string;
}[] = [
  {
    file: "src/money/ledger/rules/sql/budgets.ts",
    line: "where account_id in ${accounts} and key_id in ${keys}",
    kind: "a clause is left out",
    was: "and started_at_ms between ${fromMs} - ${DAY_MS} and ${untilMs} + ${DAY_MS}",
    because:
      "A request waits for less than a day, as the audit checks: the clause only has an index read less.",
  },
  {
    file: "src/money/ledger/rules/sql/budgets.ts",
    line:
      "where key_id in ${keys} and hour_at_ms between ${fromMs} - ${DAY_MS} and ${untilMs} + ${DAY_MS}",
    kind: "a clause is left out",
    was: "and hour_at_ms between ${fromMs} - ${DAY_MS} and ${untilMs} + ${DAY_MS}",
    because:
      "A request waits for less than a day, as the audit checks: the clause only has an index read less.",
  },
  {
    file: "src/money/ledger/rules/lend.ts",
    line: "where keys.account_id = new.account_id and keys.budgets > 0 and budgets.owner <> 'key'",
    kind: "a clause is left out",
    was: "and keys.budgets > 0",
    because:
      "The number is that of the rows that are joined: the clause only has fewer keys joined.",
  },
  {
    file: "src/money/ledger/credits.ts",
    line:
      "where remaining > 0 and expires_at_ms < ${NEVER} and expires_at_ms <= ? order by account_id`,",
    kind: "a clause is left out",
    because:
      "The rule of expiries takes only what has expired; the first clause is what the partial index asks for, the second has fewer accounts looked at.",
  },
  {
    file: "src/money/ledger/settle.ts",
    line: 'if (row === undefined) throw new TypeError("a request was not settled");',
    kind: "the condition never holds",
    because: "Reading the row throws a TypeError as well, which only says less.",
  },
  {
    file: "src/money/payments/codes.ts",
    line: "where id = ? and redeemed_by = ? and redeemed_at_ms = ?)`,",
    kind: "a clause is left out",
    was: "and redeemed_by = ?",
    because:
      "Of two that redeem a code in one millisecond the second would make the same lot, which is there already.",
  },
  {
    file: "src/people/accounts/permissions.ts",
    line: "(teamRole !== undefined && allowed.includes(teamRole)) ||",
    kind: "only the right part",
    was: "teamRole !== undefined && allowed.includes(teamRole)",
    because: "No list of roles has undefined: the left part is for the type.",
  },
  {
    file: "src/doors/http/cross_origin.ts",
    line: 'if (origin === null || !origins.includes(origin)) return { vary: "Origin" };',
    kind: "only the right part",
    because: "No list of origins has null: the left part is for the type.",
  },
  {
    file: "src/doors/http/arrivals.ts",
    line: "if (this.#found(peer) !== undefined) return;",
    kind: "the condition never holds",
    because: "A connection that is known is found once more, after a look at those before it.",
  },
  {
    file: "src/doors/http/connections.ts",
    line: "for (let step = 0; step < GRACE_STEPS && all.length > 0; step++) {",
    kind: "flipped",
    was: "<",
    because: "It waits for one step more, of twenty milliseconds, before what is idle is closed.",
  },
  {
    file: "src/requests/upstreams/probe.ts",
    line: "if (!isObject(parsed)) return undefined;",
    kind: "the condition never holds",
    because:
      "What is no object has no data, and reading it of null throws, which is no list either: the check is for the type.",
  },
  {
    file: "src/requests/upstreams/verdict.ts",
    line: 'const busy = rest.length > 0 && rest.every(({ kind }) => kind === "busy");',
    kind: "only the right part",
    because: "Without a failure there is none to choose, whatever the condition says.",
  },
  {
    file: "src/requests/upstreams/verdict.ts",
    line: 'const busy = rest.length > 0 && rest.every(({ kind }) => kind === "busy");',
    kind: "flipped",
    was: ">",
    because: "Without a failure there is none to choose, whatever the condition says.",
  },
  {
    file: "src/doors/http/sockets.ts",
    line: "if (localPort !== undefined) yield { descriptor, localPort, peer };",
    kind: "the condition always holds",
    because: "What has another end has one of its own: the check is for the type.",
  },
  {
    file: "src/doors/http/credits.ts",
    line: "if (hasBudget) await openPeriodsOfKey(database, keyId, nowMs);",
    kind: "the condition always holds",
    because: "A key without a budget has no period to open: the condition only saves the look.",
  },
  {
    file: "src/requests/admission/loans.ts",
    line: "if (known?.isOpen === false) return;",
    kind: "the condition never holds",
    because:
      "What a loan that is closed grows by is returned with it: the condition only saves the question.",
  },
  {
    file: "src/requests/admission/loans.ts",
    line: "if (loan.takeCharged()) read.set(loan.accountId, this.#charged(loan.accountId));",
    kind: "the condition always holds",
    because:
      "A balance that is read without a charge is the one that is known: the condition has fewer read.",
  },
  {
    file: "src/requests/relay/generation.ts",
    line: "if (multiple === undefined) return this.#reached([first], first.opened.opened);",
    kind: "the condition never holds",
    because:
      "A dialect without several choices asks for one, which every reply has: the check is for the type.",
  },
  {
    file: "src/people/accounts/teams.ts",
    line: "else if (statements.length > 0) await this.#database.batch(statements);",
    kind: "the condition always holds",
    because: "A transaction of no statements changes nothing.",
  },
  {
    file: "src/people/accounts/key_ring.ts",
    line: "if (recent !== undefined) return recent;",
    kind: "the condition never holds",
    because: "It is among all that are known as well: only a digest is made once more.",
  },
  {
    file: "src/requests/upstreams/routing.ts",
    line: "const shared = byWeight.filter(({ weight }) => weight > 0);",
    kind: "flipped",
    because:
      "A target without weight takes a turn only where all with weight rest, and then it is tried before them anyway.",
  },
  {
    file: "src/doors/http/arrivals.ts",
    line: "if (peer === undefined || this.#port === undefined) return;",
    kind: "only the right part",
    because: "No connection is of no peer: the first part is for the type.",
  },
  {
    file: "src/doors/console/format.ts",
    line: 'const text = (usd < 1 ? Number(usd.toPrecision(3)) : usd).toLocaleString("en-US", {',
    kind: "flipped",
    because: "A dollar is itself with three digits, too.",
  },
  {
    file: "src/doors/console/format.ts",
    line: "maximumFractionDigits: usd < 1 ? 10 : 2,",
    kind: "flipped",
    because: "A dollar has no more digits, however many it may have.",
  },
  {
    file: "src/doors/console/request_price.tsx",
    line:
      "if (minimum > sum) add(`up to the minimum of ${number(prices.minimum)}`, minimum - sum);",
    kind: "flipped",
    because: "A line of nothing is not added.",
  },
  {
    file: "src/operating/alerts/outbox.ts",
    line:
      "where receiver = ? and state = 'waiting' and claim = ? order by alerts.created_at_ms, alerts.id`;",
    kind: "a clause is left out",
    was: "and state = 'waiting'",
    because: "What was just claimed waits: the clause has the index of what waits be used.",
  },
];

/** Whether a fault is noted. */
export function isEquivalent(
  file: string,
  { kind, line, was }: Pick<Fault, "kind" | "line" | "was">,
  lines: readonly string[],
): boolean {
  return EQUIVALENT.some((one) =>
    one.file === file && one.line === lines[line - 1]?.trim() && one.kind === kind &&
    (one.was === undefined || one.was === was.trim())
  );
}
