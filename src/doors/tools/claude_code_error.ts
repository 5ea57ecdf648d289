import type { Reason, Refusal } from "../../ground/refusal.ts";
import { STATUS_CODE } from "../../ground/std/mod.ts";

/** An error as Claude Code reads it. */
export interface ClaudeCodeError {
  readonly status: number;
  /** `error.type` in the body. */
  readonly type: string;
  /** Whether what the caller may spend is spent. */
  readonly isBlocked?: boolean;
}

const BILLING: ClaudeCodeError = {
  status: STATUS_CODE.TooManyRequests,
  type: "billing_error",
  isBlocked: true,
};

/** Where the protocol has other words than the messages dialect. */
const ERRORS: Partial<Readonly<Record<Reason, ClaudeCodeError>>> = {
  // of these it shows the sentence as it is, and sends nothing again
  budget_spent: BILLING,
  credits_short: BILLING,
  permission_denied: { status: STATUS_CODE.Forbidden, type: "permission_error" },
};
const TOO_LARGE = { status: STATUS_CODE.ContentTooLarge, type: "request_too_large" };

/**
 * A refusal as a signed-in Claude Code reads it ("Errors" of the protocol that `claude gateway` 2.1.329 serves at `/protocol`).
 *
 * @returns undefined where the messages dialect has it as well.
 */
export function claudeCodeError(
  { reason, isTooLarge }: Pick<Refusal, "reason" | "isTooLarge">,
): ClaudeCodeError | undefined {
  return isTooLarge ? TOO_LARGE : ERRORS[reason];
}
