import { Hold } from "../../../src/requests/admission/hold.ts";
import { assert, assertEquals, assertRejects } from "../../assert.ts";
import { routeOf } from "../../fake/routes.ts";

Deno.test("a step that failed ahead of time is asked for again when it is needed", async () => {
  const route = await routeOf("svc-k3");
  const asked: number[] = [];
  const hold = new Hold(
    { route, inputTokens: 0, maxOutput: 100_000, choices: 1, admittedAtMs: 0 },
    11,
    (wanted) => {
      asked.push(wanted);
      return asked.length === 2 ? Promise.reject(new Error("locked")) : Promise.resolve(wanted);
    },
    () => {},
  );
  const paid = hold.outputTokens;
  hold.lookAhead(paid - 2_000);
  assertEquals(asked, [], "there is time yet");
  hold.lookAhead(paid - 500);
  hold.lookAhead(paid - 400);
  assertEquals(await hold.extend(paid), hold.outputTokens);
  assertEquals(asked.length, 1, "the step that was under way is enough");

  const more = hold.outputTokens;
  assert(more > paid);
  hold.lookAhead(more - 500); // fails, and nobody waits for it
  assert(await hold.extend(more) > more);
  assertEquals(asked.length, 3);
  asked.length = 1;
  await assertRejects(() => hold.extend(hold.outputTokens), Error, "locked");
});
