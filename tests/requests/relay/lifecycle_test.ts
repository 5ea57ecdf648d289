/** How a request is recorded that fails before its response, and what is thrown for it, by who ended it and why. */

import { Refusal } from "../../../src/ground/refusal.ts";
import {
  type AdmissionTerms,
  type IncomingRequest,
  Lifecycle,
  type LifecycleParts,
} from "../../../src/requests/relay/lifecycle.ts";
import { ExchangeFailed } from "../../../src/requests/upstreams/mod.ts";
import { assert, assertEquals } from "../../assert.ts";

/**
 * Opens a request over a database that takes everything, and notes how it is recorded.
 *
 * @param more What it wants to be admitted for.
 * @param errors With which it is not admitted, one after the other.
 */
async function opened(more: Partial<AdmissionTerms> = {}, errors: readonly unknown[] = []) {
  const recorded: Record<string, unknown>[] = [];
  const asked: AdmissionAsked[] = [];
  const left = [...errors];
  const cutOff = new AbortController();
  let [inFlight, over] = [0, 0];
  let cut: () => void = () => {};
  let disconnect: () => void = () => {};
  const trace = { begin: () => ({ end: () => {} }) };
  const parts = {
    database: {
      write: (_write: unknown, item: Record<string, unknown>) => {
        recorded.push(item);
        return Promise.resolve({ charged: 0, balance: 5 });
      },
    },
    log: { info: () => {}, warn: () => {}, error: () => {} },
    metrics: { request: () => {} },
    now: () => 0,
    admission: {
      admit: (asking: AdmissionAsked) => {
        asked.push(asking);
        if (left.length > 0) return Promise.reject(left.shift());
        return Promise.resolve({
          hold: { charge: () => 0, end: () => {}, admittedAtMs: null },
          permittedOutput: 1,
        });
      },
    },
    inFlight: {
      cutOff: cutOff.signal,
      begin(_request: unknown, end: () => void) {
        inFlight++;
        cut = end;
        return () => void inFlight--;
      },
    },
  } as unknown as LifecycleParts;
  const incoming = {
    requestId: "req_1",
    caller: { accountId: "acc", keyId: "key", email: "" },
    trace,
    startedTick: 0,
    leaving: {
      watch: (disconnected: () => void) => {
        disconnect = disconnected;
        return () => {};
      },
      hasLeft: () => false,
    },
    onStatus: () => {},
    over: () => void over++,
  } as unknown as IncomingRequest;
  const terms = {
    route: { id: "m", prices: { input: 1, cached: 1, output: 1, minimum: 0 } },
    dialect: "chat",
    streamed: false,
    used: { asked: {}, tools: {}, factor: 1, writeFactor: 1, maxCalls: 0 },
    inputTokens: 1,
    permittedOutput: 1,
    choices: 1,
    ownKeys: "none",
    ...more,
  } as unknown as AdmissionTerms;
  const counts = () => ({ inFlight, over });
  const opening = Lifecycle.open(parts, incoming, terms);
  const refused = await opening.then(() => undefined, (error) => ({ error, asked, counts }));
  if (refused !== undefined) throw refused;
  return {
    lifecycle: await opening,
    recorded,
    asked,
    left: () => disconnect(),
    stopped() {
      cutOff.abort();
      cut();
    },
    counts,
  };
}

/** What admission is asked for, as far as it is looked at. */
type AdmissionAsked = Parameters<LifecycleParts["admission"]["admit"]>[0];

const REFUSAL = new Refusal("request_invalid", "It cannot be read.");
const UPSTREAMS = new Refusal("upstream_unavailable", "None of them replied.");
const ERRORS = {
  refusal: REFUSAL,
  exchange: new ExchangeFailed(UPSTREAMS, { attempts: 2 }, { upstream: "up", model: "m" }),
  bug: new TypeError("a fault of the gateway"),
} as const;
type ErrorName = keyof typeof ERRORS;

/** Who ended the request, with which error; how it is recorded, and the reason of what is thrown: "same" is the error itself. */
const CASES: readonly (readonly [
  by: "nobody" | "client" | "gateway",
  error: ErrorName,
  ending: string,
  failure: string,
  thrown: string,
])[] = [
  ["nobody", "refusal", "refused", "request_invalid", "same"],
  ["nobody", "exchange", "upstream_failed", "upstream_unavailable", "upstream_unavailable"],
  ["nobody", "bug", "refused", "internal", "same"],
  ["client", "refusal", "client_left", "client_disconnected", "same"],
  ["client", "exchange", "client_left", "client_disconnected", "upstream_unavailable"],
  // a bug that shows as its client disconnects is most often the disconnect itself
  ["client", "bug", "client_left", "client_disconnected", "gateway_unavailable"],
  ["gateway", "refusal", "refused", "gateway_unavailable", "gateway_unavailable"],
  ["gateway", "exchange", "refused", "gateway_unavailable", "gateway_unavailable"],
  ["gateway", "bug", "refused", "gateway_unavailable", "gateway_unavailable"],
];

Deno.test("a request that fails is recorded once as who ended it, and what is thrown says why", async () => {
  for (const [by, name, ending, failure, thrown] of CASES) {
    const { lifecycle, recorded, left, stopped, counts } = await opened();
    assertEquals(counts(), { inFlight: 1, over: 0 });
    if (by === "client") left();
    if (by === "gateway") stopped();
    const told = await lifecycle.fail(ERRORS[name]);
    lifecycle.end(); // which ends nothing a second time
    const what = `${by}, ${name}`;
    const [one, ...more] = recorded;
    assert(one !== undefined && more.length === 0, what);
    assertEquals([what, one.ending, one.reason], [what, ending, failure]);
    assertEquals([one.attempts, one.upstream], name === "exchange" ? [2, "up"] : [0, null], what);
    if (thrown === "same") assertEquals(told === ERRORS[name], true, what);
    else assertEquals([what, told instanceof Refusal && told.reason], [what, thrown]);
    assertEquals(counts(), { inFlight: 0, over: 1 }, what);
  }
});

Deno.test("what was sent before a failure that is no upstream's stays on the record", async () => {
  const { lifecycle, recorded } = await opened();
  const target = { upstream: "up", model: "m" };
  lifecycle.sent({ target, attempts: 3, outcomes: undefined, changed: ["seed"] });
  await lifecycle.fail(ERRORS.bug);
  const [{ attempts, upstream, ignored } = {}] = recorded;
  assertEquals([attempts, upstream, ignored], [3, "up", "seed"]);
});

/** A credit for each token, half of that with a key of the caller's own; nine for each of a long input. */
const PRICED = {
  id: "m",
  minimum: 10,
  ownKeyShare: 0.5,
  prices: { input: 1_000_000, cached: 1_000_000, output: 1_000_000 },
  row: { name: "r", when: 0, units: { input: [1_000_000, 200, 9_000_000], output: 1_000_000 } },
} as unknown as AdmissionTerms["route"];
const SHORT = new Refusal("credits_short", "short");
const SPENT = new Refusal("budget_spent", "spent");
const BUSY = new Refusal("rate_exceeded", "busy");

Deno.test("a request with keys of its own for some targets holds credits for all, and if they are short for those alone", async () => {
  const whole = [10, 1_000_000, true] as const;
  const plain = [10, 1_000_000, false] as const;
  const own = [5, 500_000, false] as const;
  const rows: readonly (readonly [
    ownKeys: AdmissionTerms["ownKeys"],
    errors: readonly unknown[],
    asked: readonly (readonly [minimum: number, output: number, isWhole: boolean])[],
    isOwnOnly: boolean | undefined,
  ])[] = [
    ["none", [], [plain], false],
    ["some", [], [whole], false],
    ["all", [], [own], true],
    ["some", [SHORT], [whole, own], true],
    ["some", [SPENT], [whole, own], true],
    ["some", [BUSY], [whole], undefined],
    ["some", [ERRORS.bug], [whole], undefined],
    ["some", [SHORT, SPENT], [whole, own], undefined],
    ["none", [SHORT], [plain], undefined],
    ["all", [SHORT], [own], undefined],
  ];
  for (const [ownKeys, errors, expected, isOwnOnly] of rows) {
    const what = `${ownKeys}, ${errors}`;
    const result = await opened({ ownKeys, route: PRICED }, errors).catch((refused) => refused);
    const { asked, lifecycle, error, counts } = result;
    const seen = (asked as AdmissionAsked[])
      .map(({ route: { minimum, prices }, isWhole }) => [minimum, prices.output, isWhole]);
    assertEquals(seen, expected.map((one) => [...one]), what);
    assertEquals(lifecycle?.isOwnOnly, isOwnOnly, what);
    assertEquals(error, isOwnOnly === undefined ? errors.at(-1) : undefined, what);
    const isOver = isOwnOnly === undefined;
    assertEquals(counts(), { inFlight: isOver ? 0 : 1, over: isOver ? 1 : 0 }, what);
  }
});

Deno.test("a hold is priced by a quarter more input than is counted, and what may come on top of it", async () => {
  for (
    const [inputTokens, openInput, price, reserved] of [
      [160, undefined, 1, 0],
      [161, undefined, 9, 0],
      [100, 75, 1, 150],
      [100, 76, 9, 9 * 152],
      // what nobody can tell is charged as it is reported
      [160, Infinity, 1, Infinity],
    ] as const
  ) {
    const more = { inputTokens, openInput, choices: 2, route: PRICED };
    const { asked: [asked], lifecycle } = await opened(more);
    assertEquals([asked!.route.prices.input, asked!.reserved], [price * 1_000_000, reserved]);
    await lifecycle.fail(REFUSAL);
  }
});
