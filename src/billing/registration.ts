import { z } from "zod";
import { type Account, AccountError, type Accounts } from "../accounts/mod.ts";
import type { Database, Statement } from "../database/mod.ts";
import { grantStatements } from "../ledger/mod.ts";
import { onlyIfActive } from "./sales.ts";

/** Credits that are given away (`credits` of the settings). */
export interface Bonuses {
  /** To a new account. */
  readonly signup: number;
  /** To whose invite code a new account came with. */
  readonly inviteSignup: number;
  /** To the same, at that account's first payment. */
  readonly inviteFirstPayment: number;
  /** To the owner, at the first start. */
  readonly ownerGrant: number;
}

/** Somebody who came with an invite code. */
export interface Invitation {
  readonly email: string;
  readonly joinedAtMs: number;
  /** Credits that it earned whose code it was, less what was taken back of them. */
  readonly earned: number;
}

const invitationRow = z.object({
  email: z.string(),
  created_at_ms: z.int(),
  earned: z.int(),
}).transform((row): Invitation => ({
  email: row.email,
  joinedAtMs: row.created_at_ms,
  earned: row.earned,
}));

const INVITED = `
  select email, accounts.created_at_ms, coalesce(sum(lots.granted - coalesce(
    (select sum(credits) from take_backs where lot_id = lots.id), 0)), 0) as earned
  from accounts left join lots
    on lots.id in ('lot_invite_' || accounts.id, 'lot_payment_' || accounts.id)
  where invited_by = ? group by accounts.id order by accounts.created_at_ms, accounts.id`;

/** New accounts, with the credits that go with them. */
export class Registration {
  readonly #database: Database;
  readonly #accounts: Accounts;
  readonly #bonuses: Bonuses;

  constructor(database: Database, accounts: Accounts, bonuses: Bonuses) {
    this.#database = database;
    this.#accounts = accounts;
    this.#bonuses = bonuses;
  }

  /** Creates an account with its first credits. Throws {@linkcode AccountError}. */
  async register(
    { email, name, inviteCode }: {
      readonly email: string;
      readonly name?: string | undefined;
      readonly inviteCode?: string | undefined;
    },
  ): Promise<Account> {
    const inviter = await this.inviterOf(inviteCode);
    return await this.#accounts.create(
      { email, ...(name !== undefined && { name }), ...(inviter && { invitedBy: inviter.id }) },
      (made) => [
        ...this.#signup(made),
        ...(inviter === undefined ? [] : grantStatements({
          lotId: `lot_invite_${made.id}`,
          accountId: inviter.id,
          source: "invite_signup",
          credits: this.#bonuses.inviteSignup,
          expiresAtMs: null,
          atMs: made.createdAtMs,
          onlyIf: onlyIfActive(inviter.id),
        })),
      ],
    );
  }

  /** Whose invite code it is; nobody's without one. Throws {@linkcode AccountError} for a wrong one. */
  async inviterOf(inviteCode: string | undefined): Promise<Account | undefined> {
    if (inviteCode === undefined) return undefined;
    const inviter = await this.#accounts.byInviteCode(inviteCode);
    if (inviter !== undefined) return inviter;
    throw new AccountError(
      `Unknown invite code ${
        JSON.stringify(inviteCode.slice(0, 40))
      }. Check it, or ask for a new one`,
    );
  }

  /** The owner's account; the first call makes it, and gives it its credits. */
  async owner(email: string): Promise<Account> {
    const owner = await this.#accounts.owner() ?? await this.#makeOwner(email);
    // once, whenever it is done: databases from before there were credits have an owner already
    await this.#database.batch(this.#ownerGrant(owner));
    return owner;
  }

  async #makeOwner(email: string): Promise<Account> {
    try {
      return await this.#accounts.create({ email, name: "Owner", role: "owner" });
    } catch (error) {
      const other = await this.#accounts.owner(); // another gateway of this database was first
      if (other === undefined) throw error;
      return other;
    }
  }

  /** Who came with an account's invite code, oldest first. */
  async invitations(account: Account): Promise<Invitation[]> {
    return (await this.#database.all(INVITED, [account.id])).map((row) => invitationRow.parse(row));
  }

  /** Whom each account brought, those that brought nobody left out. */
  async inviters(): Promise<{ readonly email: string; readonly joined: readonly Invitation[] }[]> {
    const all = await this.#accounts.inviters();
    return await Promise.all(
      all.map(async (one) => ({ email: one.email, joined: await this.invitations(one) })),
    );
  }

  #ownerGrant(owner: Account): Statement[] {
    return grantStatements({
      lotId: `lot_owner_${owner.id}`,
      accountId: owner.id,
      source: "owner",
      credits: this.#bonuses.ownerGrant,
      expiresAtMs: null,
      atMs: owner.createdAtMs,
    });
  }

  #signup(account: Account): Statement[] {
    return grantStatements({
      lotId: `lot_signup_${account.id}`,
      accountId: account.id,
      source: "signup",
      credits: this.#bonuses.signup,
      expiresAtMs: null,
      atMs: account.createdAtMs,
    });
  }
}
