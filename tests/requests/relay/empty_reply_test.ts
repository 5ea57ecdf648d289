import { Refusal } from "../../../src/ground/refusal.ts";
import { type CheckedRequest, emptyReply } from "../../../src/requests/relay/empty_reply.ts";
import type { RelayParts, RelayRequest } from "../../../src/requests/relay/request.ts";
import { assertEquals, assertRejects, assertStringIncludes } from "../../assert.ts";
import { parseResponses, SEALER } from "../../wire/dialects/ends.ts";

Deno.test("a request that is only checked gets an empty reply for nothing, if its model has a target", async () => {
  const heard: unknown[] = [];
  const parts = {
    admission: { accountStatus: () => Promise.resolve({ balance: 7, windows: [] }) },
    now: () => 5_000,
  } as unknown as RelayParts;
  const incoming = {
    dialect: "responses",
    requestId: "req_1",
    onStatus: ({ balance }: { readonly balance: number }) => heard.push(balance),
    over: () => heard.push("over"),
  } as unknown as RelayRequest;
  const reply = (upstreams: readonly string[]) =>
    emptyReply(parts, incoming, {
      request: parseResponses({ model: "m", stream: true, input: "Hi" }),
      route: { id: "m", targets: upstreams.map((upstream) => ({ upstream, model: "m" })) },
      sealer: SEALER,
      inputTokens: 3,
    } as unknown as CheckedRequest);
  const { reason } = await assertRejects(() => reply([]), Refusal, "Unknown model 'm'.");
  assertEquals([reason, heard], ["model_unknown", []]);
  const { body, settled, headers } = await reply(["up"]);
  assertEquals([heard, settled, headers], [[7, "over"], undefined, {}]);
  assertStringIncludes(await new Response(body).text(), "response.completed");
});
