import {
  type Account,
  AccountError,
  type Accounts,
  hasFewInvited,
  hasFewSignups,
  invitedBy,
  isActive,
  noteSignup,
} from "../../people/accounts/mod.ts";
import { allOf, type Condition, type Database, type Statement } from "../../ground/database/mod.ts";
import { grantStatements, keptGrants } from "../ledger/mod.ts";
import { hasNotPaid } from "../payments/mod.ts";

/** Free credits (`credits` in the settings). */
export interface Bonuses {
  /** For a new account. */
  readonly signup: number;
  /** For the account whose invite code a new account used. */
  readonly inviteSignup: number;
  /** For the same inviter, at the new account's first payment. */
  readonly inviteFirstPayment: number;
  /** For the owner, at the first start. */
  readonly ownerGrant: number;
  /** Registrations of a network within a day that get credits. */
  readonly signupsPerNetwork: number;
  /** Accounts invited by one that have not paid, up to which another one earns a bonus. */
  readonly unpaidInvites: number;
}

/** An account that registered with an invite code. */
export interface Invitation {
  readonly email: string;
  readonly joinedAtMs: number;
  /** Credits that the inviter earned by it, without those taken back. */
  readonly earned: number;
}

/** The lot that an account earns its inviter by joining; its id makes it one. */
function signupBonusOf(accountId: string): string {
  return `lot_invite_${accountId}`;
}

/** The lot that an account's first payment earns its inviter. The rules that make it and take it back know it by its id. */
function paymentBonusOf(accountId: string): string {
  return `lot_payment_${accountId}`;
}

/** Registers accounts and gives them their first credits. */
export class Registration {
  readonly #database: Database;
  readonly #accounts: Accounts;
  readonly #bonuses: Bonuses;

  constructor(database: Database, accounts: Accounts, bonuses: Bonuses) {
    this.#database = database;
    this.#accounts = accounts;
    this.#bonuses = bonuses;
  }

  /**
   * Creates an account with its signup credits, and gives the inviter a bonus.
   *
   * Email addresses are not verified, so that free credits are bounded: by the network that an account is registered from,
   * and by how many accounts of an inviter have not paid.
   *
   * @param account Email address, name, kind (default: `person`), the invite code that was used, and the network of a visitor
   *   who registers.
   * @param also Statements for the same transaction.
   * @throws {AccountError} If the address or name is invalid, the address in use, or the invite code unknown.
   */
  async register(
    { id, email, name, kind = "person", inviteCode, network }: {
      /** ID of the new account. Default: a new one. */
      readonly id?: string | undefined;
      readonly email: string;
      readonly name?: string | undefined;
      readonly kind?: "person" | "service";
      readonly inviteCode?: string | undefined;
      readonly network?: string | undefined;
    },
    also: (made: Account) => readonly Statement[] = () => [],
  ): Promise<Account> {
    const inviter = await this.inviterOf(inviteCode);
    return await this.#accounts.create(
      {
        id,
        email,
        kind,
        ...(name !== undefined && { name }),
        ...(inviter && { invitedBy: inviter.id }),
      },
      (made) => [
        ...this.#signup(made, this.#isFew(network, made.createdAtMs)),
        ...(inviter === undefined ? [] : grantStatements({
          lotId: signupBonusOf(made.id),
          accountId: inviter.id,
          source: "invite_signup",
          credits: this.#bonuses.inviteSignup,
          expiresAtMs: null,
          atMs: made.createdAtMs,
          onlyIf: allOf([
            isActive(inviter.id),
            this.#isFew(network, made.createdAtMs),
            // the new account is one of them; those that operators create are not limited
            ...network === undefined ? [] : [
              hasFewInvited(inviter.id, this.#bonuses.unpaidInvites, hasNotPaid("accounts.id")),
            ],
          ]),
        })),
        ...(network === undefined ? [] : noteSignup(made.id, network, made.createdAtMs)),
        ...also(made),
      ],
    );
  }

  /**
   * Finds the account of an invite code.
   *
   * @returns The inviter, or `undefined` without a code.
   * @throws {AccountError} If the code is unknown.
   */
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

  /**
   * Gets the owner's account. The first call creates it and grants its credits.
   *
   * @param email Email address for a new owner's account.
   */
  async owner(email: string): Promise<Account> {
    const owner = await this.#accounts.owner() ?? await this.#makeOwner(email);
    // Idempotent: databases from before credits existed already have an owner. An account that became an owner later
    // gets nothing.
    const first = await this.#accounts.first();
    if (owner.id === first?.id) await this.#database.batch(this.#ownerGrant(owner));
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

  /**
   * Lists the accounts that registered with an account's invite code.
   *
   * @returns Invitations, oldest first.
   */
  async invitations(account: Account): Promise<Invitation[]> {
    const joined = await invitedBy(this.#database, account);
    const lotIds = joined.map(({ id }) => [signupBonusOf(id), paymentBonusOf(id)]);
    const kept = await keptGrants(this.#database, lotIds.flat());
    return joined.map(({ email, createdAtMs }, at) => ({
      email,
      joinedAtMs: createdAtMs,
      earned: lotIds[at]!.reduce((sum, lotId) => sum + (kept.get(lotId) ?? 0), 0),
    }));
  }

  /**
   * Lists all accounts whose invite code was used, with their invitations.
   *
   * @returns Inviters by email address, oldest first.
   */
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

  #isFew(network: string | undefined, nowMs: number): Condition {
    return network === undefined
      ? { sql: "true", args: [] }
      : hasFewSignups(network, this.#bonuses.signupsPerNetwork, nowMs);
  }

  #signup(account: Account, onlyIf: Condition): Statement[] {
    return grantStatements({
      lotId: `lot_signup_${account.id}`,
      accountId: account.id,
      source: "signup",
      credits: this.#bonuses.signup,
      expiresAtMs: null,
      atMs: account.createdAtMs,
      onlyIf,
    });
  }
}
