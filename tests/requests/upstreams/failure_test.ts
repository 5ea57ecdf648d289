/** What a failed attempt means: for the next target, for the circuit, and for the key. */

import { Refusal } from "../../../src/ground/refusal.ts";
import {
  CANCELLED,
  type Failure,
  failureOf,
  readText,
  statusFailure,
} from "../../../src/requests/upstreams/failure.ts";
import { TransportFault } from "../../../src/requests/upstreams/transport.ts";
import { ReportedError, tooMuch } from "../../../src/wire/dialects/upstream_error.ts";
import { assert, assertEquals, assertThrows } from "../../assert.ts";
import { sleep } from "../../fake/temp.ts";

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

Deno.test("an error that came with status 200 is what it would have been with its own (table)", () => {
  const reportedAs = (ownStatus: number | undefined, said: object | undefined) =>
    Object.assign(new ReportedError("rate_exceeded", "in short", { retryAfterMs: 7 }), {
      ownStatus,
      said: said as ReportedError["said"],
    });
  const [model, words] = [{ code: "model_not_found", message: "secret" }, { message: "no secret" }];
  for (
    const [ownStatus, said, expected] of [
      [404, model, "elsewhere 404 undefined: does not have this model: …"],
      [400, words, "final 400 undefined: no …"],
      [400, {}, "final 400 undefined: The upstream refused the request."],
      [401, words, "elsewhere 401 undefined: The upstream is unavailable."],
      [499, words, "elsewhere 499 undefined: The upstream is unavailable."],
      [500, words, "busy undefined 7: in short"],
      [429, words, "busy undefined 7: in short"],
      [undefined, words, "busy undefined 7: in short"],
      [404, undefined, "busy undefined 7: in short"],
    ] as const
  ) {
    const { kind, status, retryAfterMs, refusal } = failureOf(
      reportedAs(ownStatus, said),
      UPSTREAM,
    );
    assertEquals(`${kind} ${status} ${retryAfterMs}`, expected.split(":")[0], expected);
    const end = expected.slice(expected.indexOf(": ") + 2);
    assert(refusal.message.includes(end), `${expected}, not ${refusal.message}`);
  }
  const long = failureOf(reportedAs(400, { message: "x".repeat(20_000) }), UPSTREAM);
  assertEquals(long.refusal.message.length, 16_000);
});

/** A failure by the text of a reply. */
function failedWith(
  status: number,
  pieces: readonly (string | Promise<string>)[],
  headers: Record<string, string | string[]> = {},
) {
  const left = [...pieces];
  const gone = Promise.withResolvers<never>();
  gone.promise.catch(() => {});
  const read = async () => {
    const piece = await Promise.race([left.shift(), gone.promise]);
    return piece === undefined ? undefined : new TextEncoder().encode(piece);
  };
  const discard = () => gone.reject(new Error("discarded"));
  const reply = { status, headers, body: { read }, discard, drain() {} };
  return { reply, failure: () => statusFailure(reply, UPSTREAM, 0) };
}

Deno.test("what an upstream says of a request is passed on: its words, but no page, no secret, and no more than is read (table)", async () => {
  const REFUSED = "The upstream refused the request.";
  const said = (error: object) => JSON.stringify({ error });
  for (
    const [status, body, message, param] of [
      [400, "no such field", "no such field", undefined],
      [400, " \n", REFUSED, undefined],
      [400, "", REFUSED, undefined],
      [400, " <html>no", REFUSED, undefined],
      [400, said({ message: "no secret", param: "secret.x" }), "no …", "….x"],
      [400, said({ message: "x".repeat(20_000) }), "x".repeat(16_000), undefined],
      [400, said({ message: "no", param: "p".repeat(300) }), "no", "p".repeat(200)],
      [404, said({ code: "model_not_found" }), "The upstream does not have this model.", "model"],
      [
        404,
        said({ code: "model_not_found", message: "m?" }),
        "The upstream does not have this model: m?",
        "model",
      ],
      [
        400,
        said({ code: "context_length_exceeded", message: "prompt is too long: 9 tokens > 5" }),
        "prompt is too long: 9 tokens > 5",
        "messages",
      ],
    ] as const
  ) {
    const { refusal } = await failedWith(status, [body]).failure();
    assertEquals([refusal.message, refusal.param], [message, param], body.slice(0, 60));
  }
  const { refusal } = await failedWith(400, [
    said({ code: "context_length_exceeded", message: "too many" }),
  ]).failure();
  assert(/^prompt is too long.* \(too many\)$/.test(refusal.message), refusal.message);
  const quota = await failedWith(429, [said({ code: "insufficient_quota" })]).failure();
  assertEquals(quota.ofKey, "exhausted");
  const twice = failedWith(429, ["{}"], { "retry-after": ["3", "4"] });
  assertEquals((await twice.failure()).retryAfterMs, undefined);
});

Deno.test("the details of an error are waited for less long where its status says all, and no more of it is read than is enough", async () => {
  const late = () => sleep(500).then(() => JSON.stringify({ error: { code: "some_code" } }));
  const details = await Promise.all(
    [400, 401, 429, 500, 503].map(async (status) => {
      const { detail } = await failedWith(status, [late()]).failure();
      return detail.endsWith(", some_code");
    }),
  );
  assertEquals(details, [true, true, false, false, false]);
  await sleep(300); // what was not waited for

  const { reply } = failedWith(400, ["12345", "67890", "more"]);
  assertEquals(await readText(reply, 1_000, 10), "1234567890");
  const rest = failedWith(400, ["1234", "5678", "90ab", "more"]).reply;
  assertEquals(await readText(rest, 1_000, 10), "1234567890ab");
  assertEquals(await readText(failedWith(400, ["a", "b"]).reply, 1_000), "ab");
});
