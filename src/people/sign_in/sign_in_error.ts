import type { Account } from "../accounts/mod.ts";

/** Thrown if somebody cannot be signed in. The message says why, for people, without a final full stop. */
export class SignInError extends Error {
  override readonly name = "SignInError";
  /** Whether the provider cannot be used just now, rather than that it said no or what it said is not to be trusted. */
  readonly isDown: boolean;
  /** The account that the provider had signed in before, and does no more. */
  readonly refused: Account | undefined;

  constructor(message: string, { isDown = false, refused, ...options }: ErrorOptions & {
    readonly isDown?: boolean;
    readonly refused?: Account | undefined;
  } = {}) {
    super(message, options);
    this.isDown = isDown;
    this.refused = refused;
  }
}
