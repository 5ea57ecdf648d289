/**
 * Replies that are read to their end although their client has left, for their usage. An account has a few at a time: each keeps
 * an upstream busy that nobody listens to.
 */
export class FollowedReplies {
  readonly #byAccount = new Map<string, number>();

  /**
   * Begins to follow a reply.
   *
   * @param max Replies of one account at a time.
   * @returns Ends it; undefined if the account has that many already.
   */
  begin(accountId: string, max: number): (() => void) | undefined {
    const count = this.#byAccount.get(accountId) ?? 0;
    if (count >= max) return undefined;
    this.#byAccount.set(accountId, count + 1);
    let isOver = false;
    return () => {
      if (isOver) return;
      isOver = true;
      const left = this.#byAccount.get(accountId)! - 1;
      if (left > 0) this.#byAccount.set(accountId, left);
      else this.#byAccount.delete(accountId);
    };
  }
}
