import type { Mutation } from "../mutation.ts";

const CIRCUIT = "src/upstreams/circuit.ts";
const CIRCUITS = "tests/upstreams/circuit_flow_test.ts";
const BROKEN_STREAMS = "tests/upstreams/broken_streams_test.ts";
const BOUNDS = "tests/relay/reply_bounds_test.ts";

/** Failover, circuits, replies on the wire. */
export const UPSTREAMS: readonly Mutation[] = [
  {
    name: "circuit-lets-all-probe",
    file: CIRCUIT,
    find: "    this.#probing = true;\n",
    replace: "",
    tests: [{ file: CIRCUITS, filter: "does hang: once it is known" }],
    why: "After each cooldown all waiting requests would meet a target that still hangs.",
  },
  {
    name: "circuit-probe-never-ends",
    file: CIRCUIT,
    find: "if (isProbe) this.#probing = false;",
    replace: "",
    tests: [{ file: CIRCUITS, filter: "brings the traffic back" }],
    why: "A target that failed once would never be asked again.",
  },
  {
    name: "circuit-timeouts-count-as-one",
    file: CIRCUIT,
    find: "atOnce || ++this.#failures",
    replace: "++this.#failures",
    tests: [{ file: CIRCUITS, filter: "does hang: once it is known" }],
    why: "Five requests would wait for a target that hangs before it is known.",
  },
  {
    name: "circuit-cooldown-does-not-grow",
    file: CIRCUIT,
    find: "this.#open(2 * this.#cooldownMs);",
    replace: "this.#open(this.#cooldownMs);",
    tests: [{ file: CIRCUITS, filter: "is longer than the one before" }],
    why: "A target that stays away would cost a request every five seconds forever.",
  },
  {
    name: "circuit-cooldown-grows-without-bound",
    file: CIRCUIT,
    find: "Math.min(cooldownMs, this.#cooldowns.maxCooldownMs)",
    replace: "cooldownMs",
    tests: [{ file: CIRCUITS, filter: "is longer than the one before" }],
    why: "A target that was away for a day would not be asked for the next.",
  },
  {
    name: "circuit-never-opens",
    file: CIRCUIT,
    find: "const FAILURES_TO_OPEN = 5;",
    replace: "const FAILURES_TO_OPEN = Infinity;",
    tests: [{ file: CIRCUITS, filter: "does reset: once it is known" }],
    why: "Each request would try a target that fails.",
  },
  {
    name: "broken-streams-never-open",
    file: CIRCUIT,
    find: "if (++this.#brokenStreams < FAILURES_TO_OPEN",
    replace: "if (this.#brokenStreams < FAILURES_TO_OPEN",
    tests: [{ file: BROKEN_STREAMS, filter: "is rested" }],
    why: "Each stream would go to a target that begins every one and completes none.",
  },
  {
    name: "slow-client-opens-the-circuit",
    file: "src/relay/pump.ts",
    find: "return isBreak && !this.#keptWaiting &&",
    replace: "return isBreak &&",
    tests: [{ file: BROKEN_STREAMS, filter: "caused by the client" }],
    why: "A client could move everybody to another target by reading slowly.",
  },
  {
    name: "key-rejected-is-asked-again",
    file: "src/upstreams/key_pool.ts",
    find: `        pass.failed(true);
        return true;`,
    replace: `        pass.abandoned();
        return true;`,
    tests: [{ file: "tests/flow/key_pools_test.ts", filter: "a key that gets 401" }],
    why: "A revoked key would cost every other request a round trip.",
  },
  {
    name: "key-forbidden-by-a-request-rests",
    file: "src/upstreams/key_pool.ts",
    find: "this.#judgeForbidden(false);",
    replace: "this.#judgeForbidden(true);",
    tests: [{ file: "tests/upstreams/key_pool_test.ts", filter: "a 403 that another key" }],
    why: "A client could put all keys to rest with a request that moderation forbids.",
  },
  {
    name: "conversation-of-another-account",
    file: "src/relay/relay.ts",
    find: "identifyConversation([caller.accountId, route.id]",
    replace: "identifyConversation([route.id]",
    tests: [{ file: "tests/flow/weights_test.ts", filter: "a session that the client names" }],
    why: "One account could steer which upstream another's conversations are sent to.",
  },
  {
    name: "affinity-grows-without-bound",
    file: "src/upstreams/affinity.ts",
    find: "if (!isIdle && this.#entries.size <= this.#limits.conversations) break;",
    replace: "if (!isIdle) break;",
    tests: [{ file: "tests/upstreams/affinity_test.ts", filter: "used longest ago" }],
    why: "A client that begins conversations all the time would take the gateway's memory.",
  },
  {
    name: "keys-not-redacted",
    file: "src/upstreams/upstream.ts",
    find: "...keys.map((key) => key.reveal()), ...Object.values(headers)",
    replace: 'keys[0]?.reveal() ?? "", ...Object.values(headers)',
    tests: [{ file: "tests/flow/key_pools_test.ts", filter: "every key's text" }],
    why: "An upstream that repeats a key in its error would show it to callers.",
  },
  {
    name: "error-bodies-waited-for",
    file: "src/upstreams/failure.ts",
    find: "const timer = setTimeout(discard, patienceMs);",
    replace: "const timer = setTimeout(() => {}, patienceMs);",
    tests: [{ file: "tests/flow/failover_test.ts", filter: "503 whose body begins and stalls" }],
    why: "An error whose body stalls would block failover for minutes.",
  },
  {
    name: "error-bodies-that-drip-waited-for",
    file: "src/upstreams/failure.ts",
    find: "const timer = setTimeout(discard, patienceMs);",
    replace: `let timer = setTimeout(discard, patienceMs);
  const { read } = body;
  body.read = async () => {
    const bytes = await read.call(body);
    clearTimeout(timer);
    timer = setTimeout(discard, patienceMs);
    return bytes;
  };`,
    tests: [{ file: "tests/flow/failover_test.ts", filter: "a 400 whose body drips" }],
    why: "An error whose body drips would hold its caller for long.",
  },
  {
    name: "headers-waited-for-although-another-could-answer",
    file: "src/upstreams/attempts.ts",
    find: "const patience = canFailOver ? this.#patience(exchange, upstream) : undefined;",
    replace:
      "const patience = canFailOver && plan === undefined ? this.#patience(exchange, upstream) : undefined;",
    tests: [{ file: CIRCUITS, filter: "that hangs while many ask it at once" }],
    why: "A first target that hangs would be an outage although the second is healthy.",
  },
  {
    name: "headers-timeout-without-another-target",
    file: "src/upstreams/attempts.ts",
    find: "const patience = canFailOver ?",
    replace: "const patience = true ?",
    tests: [{ file: CIRCUITS, filter: "is for failover" }],
    why: "A slow upstream would be given up although nobody else can answer.",
  },
  {
    name: "sent-again-after-it-was-worked-on",
    file: "src/upstreams/failure.ts",
    find: `: "final",
    detail: upstream.redact(`,
    replace: `: "again",
    detail: upstream.redact(`,
    tests: [{ file: "tests/upstreams/call_test.ts", filter: "a pooled connection that dies" }],
    why: "A request whose connection died could be generated, and paid for, twice.",
  },
  {
    name: "interim-responses-unbounded",
    file: "src/upstreams/incoming_reply.ts",
    find: "const MAX_ANNOUNCEMENTS = 32;",
    replace: "const MAX_ANNOUNCEMENTS = Infinity;",
    tests: [{ file: BOUNDS, filter: "interim responses" }],
    why: "A flood of interim responses would keep the event loop busy for seconds.",
  },
  {
    name: "reply-time-unbounded",
    file: "src/upstreams/incoming_reply.ts",
    find: "this.#dismissTotal = timers.after(totalMs, () => {",
    replace: "this.#dismissTotal = timers.after(1e9, () => {",
    tests: [{ file: BOUNDS, filter: "bound of time" }],
    why: "An answer that never ends would hold its caller and its credits forever.",
  },
];
