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
    kind: "only the left part",
    because: "Nothing is left open still where nothing is closed: the part only saves the wait.",
  },
  {
    file: "src/doors/http/connections.ts",
    line: "for (let step = 0; step < GRACE_STEPS && all.length > 0; step++) {",
    kind: "flipped",
    was: ">",
    because: "Nothing is left open still where nothing is closed: the part only saves the wait.",
  },
  {
    file: "src/doors/http/connections.ts",
    line: "if (idle.length === 0) return;",
    kind: "the condition never holds",
    because: "Of none there is none to close.",
  },
  {
    file: "src/doors/http/connections.ts",
    line: "for (let at = 0; at < all.length; at += PER_TURN) {",
    kind: "flipped",
    because: "Of none there is none to close.",
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
    file: "src/requests/upstreams/attempts.ts",
    line: "if (!walk.ended(failure) || failure === undefined) return result;",
    kind: "only the left part",
    because: "A success ends the way through the keys: the second part is for the type.",
  },
  {
    file: "src/requests/upstreams/attempts.ts",
    line: "if (bounds.length === 0) result = await send(UNBOUNDED);",
    kind: "the condition never holds",
    because: "The turn of no bounds ends nothing: the condition saves a step for each piece read.",
  },
  {
    file: "src/requests/upstreams/attempts.ts",
    line: "if (!(error instanceof Refusal)) throw error;",
    kind: "the condition never holds",
    because: "A turn is refused, or its client has left: the check is for the type.",
  },
  {
    file: "src/requests/upstreams/attempts.ts",
    line: "const keyName = key && keysOfPlan(plan)?.nameOf(key);",
    kind: "only the right part",
    because: "A request without a key has none of several: the first part is for the type.",
  },
  {
    file: "src/requests/upstreams/upstream.ts",
    line:
      "const part = (most: number | undefined) => most && Math.max(1, Math.floor(most / threads));",
    kind: "only the right part",
    because: "Nothing is above the part of what has no bound: the check is for the type.",
  },
  {
    file: "src/requests/upstreams/model_lists.ts",
    line: "this.#lists = new Map([...lists].toSorted(([a], [b]) => a < b ? -1 : 1));",
    kind: "flipped",
    because: "No two lists are of one name.",
  },
  {
    file: "src/requests/upstreams/probe.ts",
    line: "if (!isObject(one) || name === undefined) return [];",
    kind: "only the right part",
    because: "What is no object has no name: the first part is for the type.",
  },
  {
    file: "src/requests/upstreams/probe.ts",
    line: 'return typeof found === "number" && found > 0 ? found : undefined;',
    kind: "only the right part",
    because: "What is found is a whole number or nothing: the first part is for the type.",
  },
  {
    file: "src/requests/upstreams/own_keys.ts",
    line: 'if (ownKeys.length === 0 && ownKeyUse !== "only" && shared.length > 0) return shared;',
    kind: "the condition never holds",
    because:
      "The same plans are put into the same order: the condition saves it for most requests.",
  },
  {
    file: "src/requests/upstreams/own_keys.ts",
    line: "if (stored === undefined || key === undefined || !upstream.takesKeys) return undefined;",
    kind: "only the right part",
    was: "stored === undefined || key === undefined",
    because: "Of what is not stored there is no key: the first part is for the type.",
  },
  {
    file: "src/requests/upstreams/failure.ts",
    line: "if (error instanceof ReportedError && error.said !== undefined) {",
    kind: "only the right part",
    because: "No other refusal has what an upstream said: the first part is for the type.",
  },
  {
    file: "src/doors/http/partial_input.ts",
    line: 'if (bytes <= held) return "fine";',
    kind: "flipped",
    because: "Of nothing more a share of nothing is taken.",
  },
  {
    file: "src/doors/http/arrivals.ts",
    line: "if (peer === undefined || this.#port === undefined) {",
    kind: "only the right part",
    because: "No connection is of no peer: the first part is for the type.",
  },
  {
    file: "src/doors/http/arrivals.ts",
    line: "if (found === undefined || received === undefined) {",
    kind: "only the right part",
    because: "Of what was not found nothing is received: the first part is for the type.",
  },
  {
    file: "src/doors/http/arrivals.ts",
    line: "if (this.#options.sockets !== undefined && peer !== undefined) this.#endSoon(peer);",
    kind: "only the left part",
    because: "No connection is of no peer: the second part is for the type.",
  },
  {
    file: "src/doors/http/arrivals.ts",
    line: "if (bytes > 0 && !isOthers) many.push([watched, bytes]);",
    kind: "only the right part",
    because: "Of which nothing counts is cut last, when the others are as little as they may be.",
  },
  {
    file: "src/doors/http/arrivals.ts",
    line: "if (bytes > 0 && !isOthers) many.push([watched, bytes]);",
    kind: "flipped",
    because: "Of which nothing counts is cut last, when the others are as little as they may be.",
  },
  {
    file: "src/doors/http/response_socket.ts",
    line: "if (!isComplete && turn.previousId !== undefined) recent.forget(turn.previousId);",
    kind: "only the left part",
    because: "Nothing is remembered that has no ID: the second part is for the type.",
  },
  {
    file: "src/doors/http/packed_body.ts",
    line: "if (at >= packed.byteLength) controller.close();",
    kind: "flipped",
    because: "An empty piece is unpacked to nothing.",
  },
  {
    file: "src/doors/http/callers.ts",
    line: "if (error instanceof AccountDisabled) state.caller = error.caller;",
    kind: "the condition always holds",
    because: "No other error has a caller: the check is for the type.",
  },
  {
    file: "src/doors/http/peer.ts",
    line: 'if (address === undefined || !("hostname" in address)) return undefined;',
    kind: "only the left part",
    because: "What has no host name has no IP address either: the second part is for the type.",
  },
  {
    file: "src/doors/http/body.ts",
    line: "if (size > counted) received(size - counted);",
    kind: "flipped",
    because: "Of nothing more nothing is counted.",
  },
  {
    file: "src/doors/http/admin.ts",
    line: "if (key !== null && !IDEMPOTENCY_KEY.test(key)) {",
    kind: "only the right part",
    because: "The text of null is a key that is allowed: the first part is for the type.",
  },
  {
    file: "src/doors/http/peer.ts",
    line:
      "if (IPV4.test(hostname)) return `${port} ${hostname}`; // the usual case, of thousands at once",
    kind: "the condition never holds",
    because: "Its bytes make the same text: the condition saves to read them.",
  },
  {
    file: "src/doors/http/arrivals.ts",
    line: "if (peer === undefined || this.#port === undefined) return;",
    kind: "only the right part",
    because: "No connection is of no peer: the first part is for the type.",
  },
  {
    file: "src/requests/relay/lifecycle.ts",
    line: "return error instanceof Refusal &&",
    kind: "only the right part",
    because: "What is no refusal has no such reason: the left part is for the type.",
  },
  {
    file: "src/requests/relay/failed_end.ts",
    line: "const isUpstreams = wasSent && (status >= 500 || status === 429) &&",
    kind: "flipped",
    was: ">=",
    because:
      "Only a fault of the gateway's own has the status 500, and that is no upstream's anyway.",
  },
  {
    file: "src/requests/relay/fingerprint.ts",
    line: "if (byRoute === undefined) known.set(target, byRoute = new Map());",
    kind: "the condition always holds",
    because: "The hash is made once more, of the same text.",
  },
  {
    file: "src/requests/relay/fingerprint.ts",
    line: "if (fingerprint === undefined) {",
    kind: "the condition always holds",
    because: "The hash is made once more, of the same text.",
  },
  {
    file: "src/requests/relay/followed_replies.ts",
    line: "if (left > 0) this.#byAccount.set(accountId, left);",
    kind: "flipped",
    because: "A number of none is what an account has that is not known.",
  },
  {
    file: "src/requests/relay/input_estimates.ts",
    line: "if (Math.abs(factor - known) > TOLD_CHANGE) this.send?.({ key, factor });",
    kind: "flipped",
    because: "No two factors differ by exactly a hundredth, which is no binary fraction.",
  },
  {
    file: "src/requests/relay/pump.ts",
    line: "const hasLeft = this.#hasDelivered && life.hasLeft();",
    kind: "only the right part",
    because:
      "It counts only for what is charged, which was delivered: the left part saves a look at all connections.",
  },
  {
    file: "src/requests/relay/read_vectors.ts",
    line: "for (let at = 0; at < piece.byteLength; at += PIECE_BYTES) {",
    kind: "flipped",
    because: "An empty part of a piece adds nothing.",
  },
  {
    file: "src/requests/admission/loan_index.ts",
    line: "if (ofAccount.size === 0) this.#byAccount.delete(loan.accountId);",
    kind: "the condition never holds",
    because: "An empty set says the same as none.",
  },
  {
    file: "src/requests/relay/reply_limits.ts",
    line: "if (logprobs === 0) return limits;",
    kind: "the condition never holds",
    because: "Without log probabilities nothing is added: the limits are the same.",
  },
  {
    file: "src/requests/upstreams/quirks/anthropic.ts",
    line: "if (taken !== schema && JSON.stringify(taken) !== JSON.stringify(schema)) {",
    kind: "only the right part",
    because: "The same schema is the same as JSON: the left part saves writing it.",
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
    file: "src/requests/relay/pump.ts",
    line: 'if (this.#state !== "cancelled") this.#state = "over";',
    kind: "the condition always holds",
    because:
      "Nothing is sent in either state, and whether the body is to be ended was asked before.",
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
  {
    file: "src/money/ledger/audit/budgets.ts",
    line: "where request_id >= 'req_' || ${paddedHex(FIRST_MS, 12)}",
    kind: "a clause is left out",
    because: "What is charged is joined to the keys of budgets: the clause only has less summed.",
  },
  {
    file: "src/money/ledger/audit/tags.ts",
    line: "where tags is not null and tag.key <> '${UNSUMMED_TAG}'",
    kind: "a clause is left out",
    was: "and tag.key <> '${UNSUMMED_TAG}'",
    because: "No day tells that tag apart: the clause only has it asked less.",
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
