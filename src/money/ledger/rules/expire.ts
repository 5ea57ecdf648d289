import type { Rule } from "../../../ground/database/mod.ts";
import { locks, OF_ACCOUNT } from "./sql/locks.ts";
import { takeFromLots } from "./sql/lots.ts";
import type { Intake } from "./intake.ts";

/** Expiries of an account's lots at a moment. */
export const EXPIRIES = {
  view: "expiries",
  columns: { account_id: "text", at_ms: "integer", cause_id: "text" },
} as const satisfies Intake;

/**
 * What is left of an account's lots that have reached their date leaves its balance, except for credits that
 * in-flight requests hold: those expire when they are released.
 */
export const EXPIRE: Rule = {
  name: "expire",
  objects: [
    EXPIRIES,
    {
      trigger: "expiries_take_credits",
      event: "instead of insert",
      on: EXPIRIES.view,
      locks: locks({ accounts: OF_ACCOUNT }),
      statements: [
        takeFromLots({
          kind: "expire",
          causeId: "new.cause_id",
          atMs: "new.at_ms",
          from: "expires_at_ms <= new.at_ms",
        }),
      ],
    },
  ],
};
