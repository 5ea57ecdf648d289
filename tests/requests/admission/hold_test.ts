import { Hold } from "../../../src/requests/admission/hold.ts";
import { Catalog } from "../../../src/settings/catalog/mod.ts";
import { loadConfig } from "../../../src/settings/config/mod.ts";
import { assert, assertEquals, assertRejects } from "../../assert.ts";
import { tempDir } from "../../fake/temp.ts";

Deno.test("a step that failed ahead of time is asked for again when it is needed", async () => {
  await using dir = await tempDir();
  const { settings } = await loadConfig({ env: {}, directory: dir.path });
  const route = new Catalog(settings).resolve("svc-k3");
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
