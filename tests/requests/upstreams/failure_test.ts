/** What a failed attempt means: for the next target, for the circuit, and for the key. */

import { Refusal } from "../../../src/ground/refusal.ts";
import {
  CANCELLED,
  type Failure,
  failureOf,
  statusFailure,
} from "../../../src/requests/upstreams/failure.ts";
import { TransportFault } from "../../../src/requests/upstreams/transport.ts";
import { ReportedError, tooMuch } from "../../../src/wire/dialects/upstream_error.ts";
import { assert, assertEquals, assertThrows } from "../../assert.ts";

const UPSTREAM = { redact: (text: string) => text.replaceAll("secret", "…") };

Deno.test("whom a failure blames, whether others are tried, and whether it trips a circuit (table)", () => {
  const [limited, unusable] = ["rate_exceeded", "upstream_unavailable"] as const;
  const own = ["context_exceeded", "gateway_unavailable", "credits_short", "internal"] as const;
  const cases: readonly (readonly [error: Error, expected: string])[] = [
    // before an answer: nothing was generated, so that others may be asked
    [new ReportedError(limited, ""), "busy, blamed, trips: over its rate limit, key limited"],
    [new ReportedError(unusable, ""), "again, blamed, trips: reported an error"],
    [new ReportedError("context_exceeded", ""), "final: input too long"],
    // an answer that cannot be used was generated
    [new Refusal(limited, ""), "final, blamed, trips: over its rate limit"],
    [new Refusal(unusable, ""), "final, blamed, trips: unusable response"],
    [tooMuch(""), "final, blamed: unusable response"],
    ...own.map((reason) =>
      [
        new Refusal(reason, ""),
        `final: ${reason === "context_exceeded" ? "input too long" : "given up"}`,
      ] as const
    ),
    [new TransportFault("not_sent", ""), "again, blamed, trips: no connection"],
    [
      new TransportFault("not_sent", "", { timedOut: true }),
      "again, blamed, trips, late: no connection in time",
    ],
    [new TransportFault("no_reply", ""), "elsewhere, blamed, trips, late: timed out"],
    [new TransportFault("broken", ""), "final, blamed, trips: connection lost"],
    [
      new TransportFault("broken", "", { timedOut: true }),
      "final, blamed, trips, late: timed out",
    ],
    [new TransportFault("left", ""), `final: ${CANCELLED}`],
  ];
  for (const [error, expected] of cases) {
    const { kind, blame, trips, timedOut, outcome, ofKey, status } = failureOf(error, UPSTREAM);
    const marks = [kind, blame && "blamed", trips && "trips", timedOut && "late"].filter(Boolean);
    const key = ofKey === undefined ? "" : `, key ${ofKey}`;
    assertEquals(`${marks.join(", ")}: ${outcome}${key}`, expected);
    assertEquals(status, undefined);
  }
});

Deno.test("what a failed connection says is kept without secrets; a bug is no failure of the upstream", () => {
  const { detail, words, refusal } = failureOf(new TransportFault("broken", "at secret"), UPSTREAM);
  assertEquals([detail, words, refusal.reason].join(" ").includes("secret"), false);
  assertEquals(detail, "broken: at …");
  assertThrows(() => failureOf(new TypeError("a bug"), UPSTREAM), TypeError, "a bug");
});

/** What services say beside a status; the words that may not be shown are masked. */
const SAID = {
  nothing: {},
  model: { code: "model_not_found", message: "secret" },
  tooLong: { code: "context_length_exceeded", message: "secret" },
  contents: { message: "flagged by moderation" },
  quota: { type: "insufficient_quota" },
  rate: { code: "rate_limit_exceeded" },
  rateOfLong: { code: "rate_limit_exceeded", message: "prompt is too long: 9 tokens > 5 maximum" },
  rateOfLarge: { code: "rate_limit_exceeded", message: "Request too large for secret" },
  key: { message: "Invalid API key" },
} as const;
const STATUSES = [302, 400, 401, 402, 403, 404, 408, 413, 422, 429, 500, 503] as const;

/** What becomes of each status that comes with something; without a row it is what it is with nothing. */
const OF_STATUS: Readonly<Record<keyof typeof SAID, Readonly<Record<string, string>>>> = {
  nothing: {
    "302 404": "elsewhere, blamed: status; upstream_unavailable",
    "400 413 422": "final: rejected the request; request_invalid",
    "401": "elsewhere, blamed: rejected the key, key rejected; upstream_unavailable",
    "402": "elsewhere, blamed: the key is out of credits, key forbidden; upstream_unavailable",
    "403": "elsewhere, blamed: refused the key or the request, key forbidden; upstream_unavailable",
    "408 500 503": "again, blamed, trips: status; upstream_unavailable",
    "429": "busy, blamed, trips: over its rate limit, key limited; rate_exceeded",
  },
  model: { "400 404 413 422": "elsewhere: unknown model; model_unknown" },
  tooLong: { "400 413 422 500 503": "final: input too long; context_exceeded" },
  contents: { "403": "elsewhere: refused the key or the request, key forbidden; request_invalid" },
  quota: {
    "402 403": "elsewhere, blamed: the key is out of credits, key exhausted; upstream_unavailable",
    "429": "busy, blamed, trips: the key is out of credits, key exhausted; rate_exceeded",
  },
  rate: {
    "400 422": "busy, blamed, trips: over its rate limit, key limited; rate_exceeded",
    "413": "elsewhere: over its rate limit, key limited; request_invalid",
  },
  rateOfLong: {
    "400 422": "busy, blamed, trips: over its rate limit, key limited; rate_exceeded",
    "413": "elsewhere: over its rate limit, key limited; request_invalid",
    "500 503": "final: input too long; context_exceeded",
  },
  rateOfLarge: {
    "400 422 429":
      "busy, blamed, trips: refused the key or the request, key forbidden; rate_exceeded",
    "413": "elsewhere: refused the key or the request, key forbidden; request_invalid",
  },
  key: {
    "400 413 422":
      "elsewhere, blamed: refused the key or the request, key forbidden; upstream_unavailable",
  },
};

/** A failure by a reply of an upstream. */
function failed(
  status: number,
  error: object,
  headers: Record<string, string> = {},
): Promise<Failure> {
  const left = [new TextEncoder().encode(JSON.stringify({ error }))];
  const body = { read: () => Promise.resolve(left.shift()) };
  return statusFailure({ status, headers, body, discard() {}, drain() {} }, UPSTREAM, 0);
}

Deno.test("what a status means for the next target, the circuit, the key and the caller, by what is said beside it (table)", async () => {
  const expected = (name: keyof typeof SAID, status: number) =>
    Object.entries(OF_STATUS[name]).find(([all]) => all.split(" ").includes(String(status)))?.[1];
  for (const [name, said] of Object.entries(SAID) as [keyof typeof SAID, object][]) {
    for (const status of STATUSES) {
      const failure = await failed(status, said);
      const { kind, blame, trips, timedOut, outcome, ofKey, refusal } = failure;
      const marks = [kind, blame && "blamed", trips && "trips", timedOut && "late"].filter(Boolean);
      const words = outcome.replace(` (status ${status})`, "").replace(
        `status ${status}`,
        "status",
      );
      const key = ofKey === undefined ? "" : `, key ${ofKey}`;
      const text = `${marks.join(", ")}: ${words}${key}; ${refusal.reason}`;
      assertEquals(
        text,
        expected(name, status) ?? expected("nothing", status),
        `${name} ${status}`,
      );
      assertEquals(failure.status, status);
      assert(!JSON.stringify([failure, refusal.message]).includes("secret"), `${name} ${status}`);
    }
  }
});

Deno.test("the time to wait is that of the header in milliseconds, of Retry-After, or of the error, in this order", async () => {
  const waits = async (headers: Record<string, string>, error: object = {}) =>
    (await failed(429, error, headers)).retryAfterMs;
  const error = { details: [{ "@type": "x/google.rpc.RetryInfo", retryDelay: "7s" }] };
  const [ms, after] = [{ "retry-after-ms": "1500" }, { "retry-after": "3" }];
  assertEquals(await waits({ ...ms, ...after }, error), 1_500);
  assertEquals(await waits(after, error), 3_000);
  assertEquals(await waits({}, error), 7_000);
  assertEquals(await waits({}), undefined);
  for (const no of ["", "-1", "1.5", "123456789", "soon"]) {
    assertEquals(await waits({ "retry-after-ms": no, ...after }), 3_000, no);
  }
  const dates = ["Thu, 01 Jan 1970 00:00:09 GMT", "Wed, 31 Dec 1969 23:59:59 GMT"];
  assertEquals(await Promise.all(dates.map((date) => waits({ "retry-after": date }))), [9_000, 0]);
  assertEquals(await waits({ "retry-after": "99999999" }), 86_400_000);
  assertEquals((await failed(429, {}, after)).refusal.retryAfterMs, 3_000);
  assertEquals((await failed(503, {}, after)).refusal.retryAfterMs, 3_000);
});
