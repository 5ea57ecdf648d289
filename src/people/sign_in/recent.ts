import type { Session } from "../accounts/mod.ts";
import { SignInError } from "./sign_in_error.ts";

/**
 * Checks that somebody has signed in a short while ago. What adds a way to sign in outlives the session, and is not for who finds it open.
 *
 * @param what It takes that to do, for the message.
 * @throws {SignInError} If nobody has.
 */
export function checkRecent({ isRecent }: Pick<Session, "isRecent">, what: string): void {
  if (!isRecent) throw new SignInError(`Sign in again to ${what}`);
}
