/** What a failed attempt means: for the next target, for the circuit, and for the key. */

import { Refusal } from "../../../src/ground/refusal.ts";
import { CANCELLED, failureOf } from "../../../src/requests/upstreams/failure.ts";
import { TransportFault } from "../../../src/requests/upstreams/transport.ts";
import { ReportedError, tooMuch } from "../../../src/wire/dialects/upstream_error.ts";
import { assertEquals, assertThrows } from "../../assert.ts";

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
