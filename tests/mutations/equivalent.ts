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
    file: "src/people/accounts/group_grants.ts",
    line: "where account_id = accounts.id and kind = '${kind}' and name = ?)`;",
    kind: "a clause is left out",
    was: "and kind = '${kind}'",
    because:
      "The names of roles, teams and budgets are never the same: the clause only has an index read less.",
  },
  {
    file: "src/people/accounts/group_grants.ts",
    line: "where account_id = ${account} and kind = 'team' and name = ${team} and provider <> ?)`;",
    kind: "a clause is left out",
    was: "and kind = 'team'",
    because:
      "The names of roles, teams and budgets are never the same: the clause only has an index read less.",
  },
  {
    file: "src/people/accounts/group_grants.ts",
    line: "select 1 from group_grants as others where others.account_id = group_grants.account_id",
    kind: "a clause is left out",
    was: "and others.kind = 'team'",
    because:
      "The names of roles, teams and budgets are never the same: the clause only has an index read less.",
  },
  {
    file: "src/people/accounts/group_grants.ts",
    line: 'sql: "delete from group_grants where account_id = ? and kind = ? and name = ?",',
    kind: "a clause is left out",
    was: "and kind = ?",
    because:
      "The names of roles, teams and budgets are never the same: the clause only has an index read less.",
  },
  {
    file: "src/people/accounts/group_grants.ts",
    line: "where account_id in ${THESE}",
    kind: "a clause is left out",
    was: "and (account_id, team_id) in (select account_id, name from group_grants where ${gone})",
    because:
      "In a team that has not gone, what other providers give is no more than the role that there is: the clause has fewer rows written.",
  },
  {
    file: "src/money/ledger/account_status.ts",
    line: "where account_id = ?1 and remaining > 0 and expires_at_ms <= ?7",
    kind: "a clause is left out",
    was: "and remaining > 0",
    because: "A lot without credits adds nothing: the clause is what the partial index asks for.",
  },
  {
    file: "src/money/ledger/whole_credits.ts",
    line: 'if (typeof value === "number" && Number.isInteger(value) && value >= 0) return value;',
    kind: "only the right part",
    was: 'typeof value === "number" && Number.isInteger(value)',
    because: "Nothing but a number is an integer: the left part is for the type.",
  },
  {
    file: "src/money/ledger/periods.ts",
    line: "if (before === after) return date - before;",
    kind: "the condition never holds",
    because:
      "The search finds that clocks were set at the end of its range, behind the date: the condition only saves it.",
  },
  {
    file: "src/money/ledger/periods.ts",
    line: 'if (zone === "UTC") return atMs;',
    kind: "the condition never holds",
    because: "The local time of UTC is the same: the condition only saves its format.",
  },
  {
    file: "src/money/payments/payments.ts",
    line: ": stripe && isKnown",
    kind: "only the right part",
    because: "A key that is known is one of the settings: the left part is for the type.",
  },
  {
    file: "src/money/payments/top_up.ts",
    line: "if (offer.credits !== null && belowCredits > offer.credits) {",
    kind: "only the right part",
    because:
      "A package without a number of credits has no price online either, and is refused before: the left part is for the type.",
  },
  {
    file: "src/money/payments/codes.ts",
    line: "where id = ? and redeemed_by = ? and redeemed_at_ms = ?)`,",
    kind: "a clause is left out",
    was: "and redeemed_at_ms = ?",
    because: "Who redeems a code again would make the same lot, which is there already.",
  },
  {
    file: "src/people/accounts/key_ring.ts",
    line: "if (this.#lastSeenMs - this.#recentSinceTick > RECENT_MS) this.#forgetRecent();",
    kind: "the condition always holds",
    because: "A key that is not kept as it was presented is found by its digest.",
  },
  {
    file: "src/people/accounts/key_ring.ts",
    line: "if (this.#lastSeenMs - this.#recentSinceTick > RECENT_MS) this.#forgetRecent();",
    kind: "flipped",
    because: "A key that is not kept as it was presented is found by its digest.",
  },
  {
    file: "src/people/accounts/passwords.ts",
    line: "return right && account !== undefined && this.mayUse(account);",
    kind: "only the left part",
    was: "right && account !== undefined",
    because: "No password is right for an account that does not exist: the check is for the type.",
  },
  {
    file: "src/money/ledger/rules/admit.ts",
    line:
      "where lots.account_id = new.account_id and models is not null and remaining > 0 and not ${PAYS}",
    kind: "a clause is left out",
    was: "and models is not null",
    because: "A lot that is not bound pays for every model: the clause is what the index asks for.",
  },
  {
    file: "src/money/ledger/rules/admit.ts",
    line:
      "where lots.account_id = new.account_id and models is not null and remaining > 0 and not ${PAYS}",
    kind: "a clause is left out",
    was: "and remaining > 0",
    because:
      "A lot without free credits adds nothing, and nothing is taken from it: the clause is what the index asks for.",
  },
  {
    file: "src/money/ledger/rules/sql/lots.ts",
    line: "where lots.account_id = balances.account_id and models is not null and remaining > 0",
    kind: "a clause is left out",
    was: "and remaining > 0",
    because:
      "A lot without free credits adds nothing, and nothing is taken from it: the clause is what the index asks for.",
  },
  {
    file: "src/money/ledger/rules/sql/lots.ts",
    line: "where account_id = new.account_id and remaining > 0 and expires_at_ms <= new.at_ms",
    kind: "a clause is left out",
    because:
      "The rule of expiries takes only what has expired: the clauses only have it asked less.",
  },
  {
    file: "src/money/ledger/rules/sql/lots.ts",
    line: "from lots where account_id = new.account_id and remaining > 0 and ${from}",
    kind: "a clause is left out",
    was: "and remaining > 0",
    because:
      "A lot without free credits adds nothing, and nothing is taken from it: the clause is what the index asks for.",
  },
  {
    file: "src/money/ledger/rules/sql/lots.ts",
    line:
      "from lots where account_id = new.account_id and models is not null and remaining > reserved",
    kind: "a clause is left out",
    was: "and remaining > reserved",
    because:
      "A lot without free credits adds nothing, and nothing is taken from it: the clause is what the index asks for.",
  },
  {
    file: "src/money/ledger/rules/settle_set.ts",
    line: "from lots where remaining > 0 and models is null",
    kind: "a clause is left out",
    was: "and account_id in (select account_id from settling)",
    because: "The accounts are those that it is joined to: the clause only has fewer lots read.",
  },
  {
    file: "src/money/ledger/rules/return_loan.ts",
    line:
      "where account_id = new.account_id and gateway_id = new.gateway_id and loan_id = new.loan_id)",
    kind: "a clause is left out",
    because:
      "The budgets of other keys would be locked as well, where several transactions write at a time.",
  },
  {
    file: "src/people/accounts/key_ring.ts",
    line: "if (known === undefined) return undefined;",
    kind: "the condition never holds",
    because: "Nothing is found under it either: a place among the recent ones is taken.",
  },
  {
    file: "src/money/ledger/rules/pay_order.ts",
    line: "where orders.id = new.order_id and invited_by is not null union",
    kind: "a clause is left out",
    was: "and invited_by is not null",
    because: "Only existing accounts are locked: nobody is none of them.",
  },
  {
    file: "src/money/ledger/rules/pay_order.ts",
    line: "from order_credits where cause = 'paid:' || new.payment_id and kind = 'repaid'",
    kind: "a clause is left out",
    was: "and account_id = (select account_id from orders where id = new.order_id)",
    because: "A payment pays off debts of its own account: the clause is what the index asks for.",
  },
  {
    file: "src/money/ledger/rules/adjust_order.ts",
    line: "where id in ${LOTS} and remaining > 0",
    kind: "a clause is left out",
    was: "and remaining > 0",
    because: "A lot without free credits adds nothing, and nothing is taken from it.",
  },
  {
    file: "src/money/ledger/rules/adjust_order.ts",
    line:
      "where cause = new.cause and order_id = new.order_id and role = new.role and kind = 'taken'`,",
    kind: "a clause is left out",
    was: "and order_id = new.order_id",
    because: "A cause is of one order.",
  },
  {
    file: "src/money/ledger/rules/adjust_order.ts",
    line:
      "where cause = new.cause and order_id = new.order_id and role = new.role and kind = 'taken'`,",
    kind: "a clause is left out",
    was: "and kind = 'taken'",
    because: "What else a cause books is booked later.",
  },
  {
    file: "src/money/ledger/rules/adjust_order.ts",
    line: "where payment_facts.id = new.fact_id and orders.id = new.order_id",
    kind: "a clause is left out",
    was: "and orders.id = new.order_id",
    because: "A payment pays one order, and it is asked of that one.",
  },
  {
    file: "src/money/ledger/rules/adjust_order.ts",
    line: "where account_id = lots.account_id and at_ms >= lots.expires_at_ms",
    kind: "a clause is left out",
    was: "and at_ms >= lots.expires_at_ms",
    because: "What expires does so at its end or later: the clause is what the index asks for.",
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
