import { InputEstimates } from "../../../src/requests/relay/input_estimates.ts";
import { assert, assertEquals } from "../../assert.ts";

const ROUTE = { id: "r", targets: [{ upstream: "u", model: "m" }] };
const of = (accountId: string) => ({ accountId, route: "r", upstream: "u" });

Deno.test("what an upstream reports above the count raises an account's next holds, up to four times", () => {
  const estimates = new InputEstimates();
  estimates.learn(of("one"), { countedTokens: 1_000, reportedTokens: 1_500 });
  assertEquals(estimates.factor("one", ROUTE), 1.5);
  assertEquals(estimates.factor("other", ROUTE), 1);
  estimates.learn(of("one"), { countedTokens: 1_000, reportedTokens: 1_000_000 });
  assertEquals(estimates.factor("one", ROUTE), 4);
  for (let at = 0; at < 100; at++) {
    estimates.learn(of("one"), { countedTokens: 1_000, reportedTokens: 900 });
  }
  assertEquals(estimates.factor("one", ROUTE), 1, "a hold is never lowered");
  assert(estimates.ratio("one", ROUTE) < 1);
});

Deno.test("short inputs say nothing of how an upstream counts", () => {
  const estimates = new InputEstimates();
  estimates.learn(of("one"), { countedTokens: 499, reportedTokens: 1_900 });
  assertEquals(estimates.factor("one", ROUTE), 1);
});
