import { type Reason, REASONS, Refusal } from "../../../src/ground/refusal.ts";
import { failedEnd } from "../../../src/requests/relay/failed_end.ts";
import { assertEquals } from "../../assert.ts";

Deno.test("a failure is the upstream's if that was away or busy; all others are the client's or the gateway's", () => {
  for (const reason of Object.keys(REASONS) as Reason[]) {
    const failure = new Refusal(reason, "why");
    const isUpstreams = reason === "upstream_unavailable" || reason === "rate_exceeded";
    const ending = isUpstreams ? "upstream_failed" : "refused";
    assertEquals(failedEnd(failure), { ending, status: failure.status, failure }, reason);
  }
});
