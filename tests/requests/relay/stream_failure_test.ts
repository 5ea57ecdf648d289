import { DatabaseError } from "../../../src/ground/database/mod.ts";
import { Refusal } from "../../../src/ground/refusal.ts";
import { isAsked, streamRefusal } from "../../../src/requests/relay/stream_failure.ts";
import { ExchangeFailed, TransportFault } from "../../../src/requests/upstreams/mod.ts";
import { assertEquals } from "../../assert.ts";

const LONG = new Refusal("request_invalid", "too long");
const BUSY = new Refusal("rate_exceeded", "busy");

/** What a stream failed with, the reason that its client gets, and whether it may have asked for it. */
const CASES: readonly (readonly [error: unknown, reason: string, isAsked: boolean])[] = [
  [new TransportFault("broken", "reset"), "upstream_unavailable", false],
  [new TransportFault("no_reply", "late"), "upstream_unavailable", false],
  [new TransportFault("broken", "too large", { isLimit: true }), "upstream_unavailable", true],
  [new ExchangeFailed(LONG, { attempts: 1 }, undefined), "request_invalid", true],
  [new ExchangeFailed(BUSY, { attempts: 1 }, undefined), "rate_exceeded", false],
  [LONG, "request_invalid", true],
  [BUSY, "rate_exceeded", false],
  [new Refusal("upstream_unavailable", "away"), "upstream_unavailable", false],
  [
    Object.assign(new Refusal("upstream_unavailable", "large"), { ofThisRequest: true }),
    "upstream_unavailable",
    true,
  ],
  [new DatabaseError("SQLITE_BUSY", "in use"), "gateway_unavailable", false],
  [new TypeError("a fault of the gateway"), "internal", false],
];

Deno.test("a stream that fails says why, and of a gateway that stops that alone", () => {
  for (const [error, reason, asked] of CASES) {
    const { signal } = new AbortController();
    const refusal = streamRefusal(error, signal);
    assertEquals([refusal.reason, isAsked(error, refusal)], [reason, asked], String(error));
    const stopping = streamRefusal(error, AbortSignal.abort());
    assertEquals(stopping.reason, "gateway_unavailable", String(error));
    assertEquals(stopping.message, "The gateway is stopping. Please try again.");
  }
});
