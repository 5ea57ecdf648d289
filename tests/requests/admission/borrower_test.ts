import { borrowerIdOf, isBorrowerOf } from "../../../src/requests/admission/borrower.ts";
import { assertEquals } from "../../assert.ts";

Deno.test("a borrower is an account, or one of its keys, and no account whose ID only begins alike", () => {
  const [account, key] = [false, true].map((byKey) =>
    borrowerIdOf({ accountId: "acc", keyId: "key", byKey })
  );
  assertEquals([account, borrowerIdOf({ accountId: "acc", keyId: "key" })], ["acc", "acc"]);
  assertEquals(key === account, false);
  const other = borrowerIdOf({ accountId: "acc2", keyId: "key", byKey: true });
  const borrowers = [account!, key!, "acc2", other];
  assertEquals(borrowers.map((id) => isBorrowerOf("acc", id)), [true, true, false, false]);
});
