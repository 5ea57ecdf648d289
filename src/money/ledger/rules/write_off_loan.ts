import { CLOCK_MS, type Rule } from "../../../ground/database/mod.ts";

/**
 * A loan whose gateway is gone ends when it is written off, and what is lent is free again (P4). Only a loan that may not be spent
 * any more is: its lease has ended. What its gateway sold on it and reports later is charged as far as the balance has it free.
 */
export const WRITE_OFF_LOAN: Rule = {
  name: "write_off_loan",
  objects: [
    {
      trigger: "loan_write_offs_insert_is_due",
      event: "before insert",
      on: "loan_write_offs",
      when: `not exists (
      select 1 from loans
      where account_id = new.account_id and gateway_id = new.gateway_id and loan_id = new.loan_id
        and credits = new.credits and lease_until_ms = new.lease_until_ms
        and lease_until_ms < ${CLOCK_MS}
    )`,
      refuses: "only a loan whose lease has ended is written off",
    },
    {
      trigger: "loan_write_offs_insert_ends_loan",
      event: "after insert",
      on: "loan_write_offs",
      statements: [
        `update balances set written_off = written_off + new.credits
    where account_id = new.account_id`,
        `delete from loans
    where account_id = new.account_id and gateway_id = new.gateway_id and loan_id = new.loan_id`,
      ],
    },
  ],
};
