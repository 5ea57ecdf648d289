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

/** Opens a request over a database that takes everything, and notes how it is recorded. */
async function opened() {
  const recorded: Record<string, unknown>[] = [];
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
      admit: () =>
        Promise.resolve({
          hold: { charge: () => 0, end: () => {}, admittedAtMs: null },
          permittedOutput: 1,
        }),
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
    used: { asked: {}, tools: {} },
    inputTokens: 1,
    permittedOutput: 1,
    choices: 1,
    ownKeys: "none",
  } as unknown as AdmissionTerms;
  const lifecycle = await Lifecycle.open(parts, incoming, terms);
  return {
    lifecycle,
    recorded,
    left: () => disconnect(),
    stopped() {
      cutOff.abort();
      cut();
    },
    counts: () => ({ inFlight, over }),
  };
}

const REFUSAL = new Refusal("request_invalid", "It cannot be read.");
const UPSTREAMS = new Refusal("upstream_unavailable", "None of them replied.");
const ERRORS = {
  refusal: REFUSAL,
  exchange: new ExchangeFailed(UPSTREAMS, { attempts: 2 }, undefined),
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
    await lifecycle[Symbol.asyncDispose](); // which ends nothing a second time
    const what = `${by}, ${name}`;
    const [one, ...more] = recorded;
    assert(one !== undefined && more.length === 0, what);
    assertEquals([what, one.ending, one.reason], [what, ending, failure]);
    if (thrown === "same") assertEquals(told === ERRORS[name], true, what);
    else assertEquals([what, told instanceof Refusal && told.reason], [what, thrown]);
    assertEquals(counts(), { inFlight: 0, over: 1 }, what);
  }
});
