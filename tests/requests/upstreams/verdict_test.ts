import fc from "fast-check";
import { type Reason, Refusal } from "../../../src/ground/refusal.ts";
import type { Failure } from "../../../src/requests/upstreams/failure.ts";
import { verdict, verdictOfKeys } from "../../../src/requests/upstreams/verdict.ts";
import { assert, assertEquals } from "../../assert.ts";

const failure: fc.Arbitrary<Failure> = fc.record({
  kind: fc.constantFrom("again", "busy", "elsewhere", "final"),
  isUnknown: fc.boolean(),
  retryAfterMs: fc.option(fc.integer({ min: 0, max: 120_000 }), { nil: undefined }),
  ofKey: fc.constantFrom("rejected", "forbidden", "exhausted", "limited", undefined),
}).map(({ kind, isUnknown, retryAfterMs, ofKey }) => {
  const reason = isUnknown
    ? "model_unknown"
    : kind === "busy"
    ? "rate_exceeded"
    : "upstream_unavailable";
  return {
    kind,
    detail: "",
    words: "",
    outcome: "",
    status: 500,
    retryAfterMs,
    refusal: new Refusal(reason, `${kind} ${retryAfterMs}`),
    blame: true,
    trips: true,
    timedOut: false,
    ofKey,
  };
});

Deno.test("verdict(): 404 if no target has the model, 429 if all others were busy, the shortest Retry-After (property)", () => {
  fc.assert(fc.property(fc.array(failure, { minLength: 1, maxLength: 6 }), (failures) => {
    const { reason, message, retryAfterMs } = verdict(failures);
    const others = failures.filter(({ refusal }) => refusal.reason !== "model_unknown");
    if (others.length === 0) return assertEquals(reason, "model_unknown");
    const isBusy = others.every(({ kind }) => kind === "busy");
    assertEquals(reason, isBusy ? "rate_exceeded" : "upstream_unavailable");
    const last = others.findLast(({ kind }) => isBusy || kind !== "busy")!;
    assertEquals(message, last.refusal.message, "what was no limit is said rather than a limit");
    const told = failures.flatMap((one) =>
      one.retryAfterMs === undefined ? [] : [one.retryAfterMs]
    );
    assertEquals(retryAfterMs, Math.min(60_000, told.length === 0 ? 5_000 : Math.min(...told)));
  }));
});

Deno.test("verdict() without an attempt: nothing is available, in five seconds maybe", () => {
  const { reason, retryAfterMs } = verdict([]);
  assertEquals([reason, retryAfterMs], ["upstream_unavailable", 5_000]);
});

Deno.test("verdict(): what every target says of the request is said of it; what only some say is not", () => {
  const [one] = fc.sample(failure, 1);
  const of = (reason: Reason) => ({
    ...one!,
    kind: "elsewhere" as const,
    refusal: new Refusal(reason, reason),
  });
  const rows: [reasons: Reason[], said: Reason][] = [
    [["request_invalid"], "request_invalid"],
    [["model_unknown", "request_invalid"], "request_invalid"],
    [["request_invalid", "model_unknown"], "model_unknown"],
    [["request_invalid", "upstream_unavailable"], "upstream_unavailable"],
    [["model_unknown", "upstream_unavailable"], "upstream_unavailable"],
  ];
  for (const [reasons, said] of rows) {
    assertEquals(verdict(reasons.map(of)).reason, said, reasons.join(", "));
  }
});

Deno.test("verdictOfKeys(): the key that may be used soonest, or what was not busy (property)", () => {
  fc.assert(fc.property(fc.array(failure, { minLength: 1, maxLength: 6 }), (failures) => {
    const chosen = verdictOfKeys(failures);
    const limited = failures.filter(({ ofKey }) => ofKey === "limited");
    if (limited.length > 0) {
      const waits = limited.map((one) => one.retryAfterMs ?? Infinity);
      assertEquals(chosen.ofKey, "limited");
      return assertEquals(chosen.retryAfterMs ?? Infinity, Math.min(...waits));
    }
    const first = failures.find(({ kind }) => kind !== "busy");
    assert(chosen === (first ?? failures.at(-1)));
  }));
});
