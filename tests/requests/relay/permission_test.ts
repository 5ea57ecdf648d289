import { Refusal } from "../../../src/ground/refusal.ts";
import { checkPermission } from "../../../src/requests/relay/permission.ts";
import { assertEquals, assertThrows } from "../../assert.ts";

const ROUTE = { id: "m" } as Parameters<typeof checkPermission>[1];

/** What a key for some models is told; null for all of them. */
function told(models: readonly string[] | null): string {
  const caller = { models: models && new Set(models) } as Parameters<typeof checkPermission>[0];
  const { reason, param, message } = assertThrows(() => checkPermission(caller, ROUTE), Refusal);
  assertEquals([reason, param], ["permission_denied", "model"]);
  return message;
}

Deno.test("a key may use the models that it is for, and all if it is for none in particular", () => {
  for (const models of [null, new Set(["m"]), new Set(["a", "m"])]) {
    checkPermission({ models } as Parameters<typeof checkPermission>[0], ROUTE);
  }
  assertEquals(told(["a", "b"]), "This API key may not use the model 'm'. It may use: a, b.");
  assertEquals(
    told([]),
    "This API key may not use the model 'm'. It may use: none, as its team allows none of them.",
  );
});
