import fc from "fast-check";
import { Refusal } from "../../../src/ground/refusal.ts";
import type { Failure } from "../../../src/requests/upstreams/failure.ts";
import {
  canRepeat,
  RETRY_POLICY,
  sleep,
  waitBefore,
} from "../../../src/requests/upstreams/retry_policy.ts";
import { assert, assertEquals } from "../../assert.ts";

function failure(kind: Failure["kind"], retryAfterMs?: number): Failure {
  return {
    kind,
    detail: "",
    words: "",
    outcome: "",
    status: 500,
    retryAfterMs,
    refusal: new Refusal("upstream_unavailable", ""),
    blame: true,
    trips: true,
    timedOut: false,
    ofKey: undefined,
  };
}

Deno.test("the same target is asked again for what may pass, unless it says to wait longer than one waits here", () => {
  const { patienceMs } = RETRY_POLICY;
  for (
    const [kind, unsaid, patient, late] of [
      ["again", true, true, false],
      ["busy", false, true, false],
      ["elsewhere", false, false, false],
      ["final", false, true, false],
    ] as const
  ) {
    assertEquals(canRepeat(failure(kind), RETRY_POLICY), unsaid, kind);
    assertEquals(canRepeat(failure(kind, 0), RETRY_POLICY), patient, kind);
    assertEquals(canRepeat(failure(kind, patienceMs), RETRY_POLICY), patient, kind);
    assertEquals(canRepeat(failure(kind, patienceMs + 1), RETRY_POLICY), late, kind);
  }
});

Deno.test("a round waits for the shortest Retry-After, and at least the backoff, which doubles (property)", () => {
  const waits = fc.array(fc.option(fc.integer({ min: 0, max: 120_000 }), { nil: undefined }), {
    maxLength: 5,
  });
  fc.assert(fc.property(fc.integer({ min: 1, max: 6 }), waits, (round, told) => {
    const waitMs = waitBefore(round, told.map((ms) => failure("again", ms)), RETRY_POLICY);
    const most = RETRY_POLICY.firstWaitMs * 2 ** (round - 1);
    const shortest = Math.min(...told.filter((ms) => ms !== undefined));
    assert(waitMs >= most / 2, `${waitMs}`);
    if (shortest === Infinity || shortest < most / 2) assert(waitMs <= most, `${waitMs}`);
    else assert(waitMs >= shortest && waitMs <= Math.max(shortest, most), `${waitMs}`);
  }));
});

Deno.test("a wait is over when its time is, or when the client disconnects or has disconnected", async () => {
  assertEquals(await sleep(1, new AbortController().signal), true);
  assertEquals(await sleep(5_000, AbortSignal.abort()), false);
  const leaving = new AbortController();
  const waiting = sleep(5_000, leaving.signal);
  leaving.abort();
  assertEquals(await waiting, false);
});
