import type { AccountLoan } from "../../../src/requests/admission/account_loan.ts";
import { LoanIndex } from "../../../src/requests/admission/loan_index.ts";
import { assertEquals } from "../../assert.ts";

/** A loan of a borrower, as far as an index looks at it. */
function loanOf(borrowerId: string): AccountLoan {
  let balance = 100;
  return {
    accountId: borrowerId.split(" ")[0],
    borrowerId,
    charge: (credits: number) => balance -= credits,
  } as unknown as AccountLoan;
}

Deno.test("loans are found by borrower and by account, and all of an account take note of a charge", () => {
  const index = new LoanIndex();
  const [own, key, other] = [loanOf("acc"), loanOf("acc key"), loanOf("other")];
  for (const loan of [own, key, other]) index.add(loan);
  assertEquals([index.size, index.find("acc") === own, index.find("nobody")], [3, true, undefined]);
  assertEquals([...index.ofAccount("acc")], [own, key]);
  assertEquals([index.charge("acc", 30), index.charge("nobody", 30)], [70, undefined]);
  // one that another has taken the place of
  index.remove(loanOf("acc"));
  assertEquals([index.size, index.find("acc") === own], [3, true]);
  index.remove(own);
  assertEquals([index.find("acc"), [...index.ofAccount("acc")]], [undefined, [key]]);
  assertEquals(index.charge("acc", 30), 40, "the one that is left took note of both");
  index.remove(key);
  assertEquals([index.size, index.ofAccount("acc").size], [1, 0]);
  assertEquals([index.charge("acc", 30), index.charge("other", 1)], [undefined, 99]);
  index.add(own);
  assertEquals([...index.ofAccount("acc")], [own]);
});
