import type { Rule } from "../../../ground/database/mod.ts";
import { takeFromLots } from "./sql/lots.ts";
import { createView, type Intake } from "./intake.ts";

/** Expiries of an account's lots at a moment. */
export const EXPIRIES = {
  view: "expiries",
  columns: ["account_id", "at_ms", "cause_id"],
} as const satisfies Intake;

/**
 * What is left of an account's lots that have reached their date leaves its balance, except for credits that
 * in-flight requests hold: those expire when they are released.
 */
export const EXPIRE: Rule = {
  name: "expire",
  sql: [
    createView(EXPIRIES),
    `create trigger expiries_take_credits instead of insert on expiries begin
    ${
      takeFromLots({
        kind: "expire",
        causeId: "new.cause_id",
        atMs: "new.at_ms",
        from: "expires_at_ms <= new.at_ms",
      })
    }
  end`,
  ],
};
