import { replyHeaders } from "../../../src/requests/relay/reply_headers.ts";
import type { OwnKey, TargetPlan, UpstreamReply } from "../../../src/requests/upstreams/mod.ts";
import { assertEquals } from "../../assert.ts";

Deno.test("headers say how a reply came about, and nothing of what did not happen", () => {
  const headersOf = (ownKey?: OwnKey, headers = {}, changed = {}) =>
    replyHeaders({
      plan: { target: { upstream: "up", model: "m" }, ownKey } as Partial<TargetPlan> as TargetPlan,
      reply: { headers } as Partial<UpstreamReply> as UpstreamReply,
      ...changed,
    });
  assertEquals(headersOf(), { "x-sluice-upstream": "up" });
  assertEquals(headersOf(undefined, {}, { dropped: [], adjusted: [] }), headersOf());
  assertEquals(
    headersOf({ owner: "team" } as OwnKey, { "x-sluice-simulated": "true" }, {
      dropped: ["seed", "n"],
      adjusted: ["top_p=1", "user"],
    }),
    {
      "x-sluice-upstream": "up",
      "x-sluice-own-key": "team",
      "x-sluice-simulated": "true",
      "x-sluice-ignored": "seed, n",
      "x-sluice-adjusted": "top_p=1, user",
    },
  );
});
