import {
  type Account,
  AccountError,
  type Accounts,
  forgetPerson,
  giveAccess,
  isNoOwner,
  isStillDisabled,
  renamed,
  takeAccess,
} from "../../people/accounts/mod.ts";
import { type By, guardStatement, recordStatement } from "../../people/operation_log/mod.ts";
import {
  type Attributes,
  deleteUser,
  Directory,
  type DirectoryUser,
  insertUser,
  isSameUser,
  readUser,
  ScimError,
  updateUser,
  type UserDocument,
  userDocument,
} from "../../people/scim/mod.ts";
import { forgetWays, Identities } from "../../people/sign_in/mod.ts";
import { topUpOff } from "../../money/payments/mod.ts";
import { DatabaseError, type Statement } from "../../ground/database/mod.ts";
import { nameFrom, newId } from "../../ground/platform/mod.ts";
import { DirectoryRights, type DirectoryRightsParts, undisturbed } from "./directory_rights.ts";
import { type ChangedBy, missing, mustMatch } from "./resource_errors.ts";

/** Dependencies of {@linkcode UserProvisioning}. */
export interface UserProvisioningParts extends DirectoryRightsParts {
  readonly accounts: Accounts;
}

/** A user with its account. */
export interface ProvisionedUser {
  readonly user: DirectoryUser;
  readonly account: Account;
}

/**
 * Carries out what a company's directory says of users: they are accounts.
 *
 * What a directory gave goes with it; what was given or taken by hand stays so. It makes nobody an owner, and takes nothing from one.
 */
export class UserProvisioning {
  readonly #parts: UserProvisioningParts;
  readonly #directory: Directory;
  readonly #rights: DirectoryRights;
  readonly #identities: Identities;

  constructor(parts: UserProvisioningParts) {
    this.#parts = parts;
    this.#directory = new Directory(parts.database);
    this.#rights = new DirectoryRights(parts);
    this.#identities = new Identities(parts);
  }

  /**
   * Creates a user: with the account that signs in by its external ID, the one that has its address of a claimed domain, or a new one.
   *
   * @throws {ScimError} `uniqueness` if there is such a user, or an account that a directory must not take over.
   */
  async createUser(sent: Attributes, by: By): Promise<ProvisionedUser> {
    const document = readUser(sent);
    const { accounts, now } = this.#parts;
    const { email } = document;
    if (email === undefined) {
      throw new ScimError("invalidValue", "userName or one of the emails must be an address.");
    }
    const id = newId("scim");
    const nowMs = now();
    const statements = (account: Account, before: DirectoryUser | undefined): Statement[] => {
      const access = accessOf({ account, before, isActive: document.active, nowMs });
      return [
        guardStatement(isNoOwner(account.id)),
        ...access.statements,
        ...insertUser({
          ...document,
          id,
          accountId: account.id,
          disabledAtMs: access.disabledAtMs,
          nowMs,
        }),
        userRecord(by, "scim_user.create", { account, nowMs, ...document }),
      ];
    };
    await undisturbed(async () => {
      const found = await this.#accountFor(document, email);
      if (found === undefined) {
        await accounts.create(
          { email, name: nameFrom(document.name) },
          (made) => statements(made, undefined),
        );
        return;
      }
      const { account, before, isAnother } = found;
      await this.#parts.database.batch([
        // an operator may let in the one before meanwhile
        ...(isAnother ? [guardStatement(isStillDisabled(account))] : []),
        ...statements(account, before),
        ...(isAnother ? forgetAll(account.id, nowMs) : []),
        ...this.#rename(account, document),
      ]);
    }).catch((error) => {
      const isTaken = error instanceof DatabaseError && error.isDuplicate ||
        error instanceof AccountError && error.fault === "conflict";
      throw isTaken ? taken({ cause: error }) : error;
    });
    await this.#rights.evaluate(by, [id]);
    return await this.user(id);
  }

  /** Finds a user. @throws {ScimError} 404. */
  async user(id: string): Promise<ProvisionedUser> {
    const user = await this.#directory.user(id);
    const account = user && await this.#parts.accounts.byId(user.accountId);
    if (account === undefined) throw missing("User", id);
    return { user: user!, account };
  }

  /**
   * Changes a user.
   *
   * @param edit Returns the attributes that it is to have; it may be asked again.
   */
  async changeUser(
    id: string,
    edit: (attributes: Attributes) => Attributes,
    { by, ifMatch }: ChangedBy,
  ): Promise<ProvisionedUser> {
    const change = async () => {
      const { user, account } = await this.user(id);
      mustMatch(user.version, ifMatch);
      const isActive = account.disabledAtMs === null;
      // whom an operator has disabled, the directory has not
      const wasActive = !isOutByDirectory(account, user);
      const before = userDocument({ ...user, active: wasActive });
      const document = readUser(edit(before), wasActive);
      const nowMs = this.#parts.now();
      if (isActive && !document.active) mustNotBeOwner(account);
      const access = accessOf({ account, before: user, isActive: document.active, nowMs });
      const names = this.#rename(account, document, user);
      const isSame = access.statements.length === 0 && names.length === 0 &&
        JSON.stringify(userDocument({ ...document, active: true })) ===
          JSON.stringify({ ...before, active: true });
      if (isSame) return;
      await this.#parts.database.batch([
        guardStatement(isSameUser(user)),
        ...(isActive && !document.active ? [guardStatement(isNoOwner(account.id))] : []),
        ...access.statements,
        ...names,
        updateUser(id, document, { disabledAtMs: access.disabledAtMs, nowMs }),
        userRecord(by, "scim_user.update", { account, nowMs, ...document }),
      ]);
    };
    await undisturbed(change).catch((error) => {
      throw error instanceof DatabaseError && error.isDuplicate ? taken({ cause: error }) : error;
    });
    await this.#rights.evaluate(by, [id]);
    return await this.user(id);
  }

  /** Deletes a user: its account loses all access and what the directory gave it; its usage stays. */
  async deleteUser(
    id: string,
    { by, ifMatch }: ChangedBy,
  ): Promise<void> {
    await undisturbed(async () => {
      const { user, account } = await this.user(id);
      mustMatch(user.version, ifMatch);
      mustNotBeOwner(account);
      const nowMs = this.#parts.now();
      const access = accessOf({ account, before: user, isActive: false, nowMs });
      await this.#parts.database.batch([
        guardStatement(isSameUser(user)),
        guardStatement(isNoOwner(account.id)),
        // also where it was disabled by hand: enabling it gives back no key
        ...takeAccess(account.id, nowMs),
        ...deleteUser(id, { disabledAtMs: access.disabledAtMs, nowMs }),
        userRecord(by, "scim_user.delete", { account, nowMs, ...user, active: false }),
      ]);
    });
    await this.#rights.evaluate(by, [id]);
  }

  /**
   * The account that a new user is to have, if there is one already, with the user that it was before; `isAnother` if that was somebody
   * else, who had the same address.
   */
  async #accountFor(
    { externalId }: UserDocument,
    email: string,
  ): Promise<
    | {
      readonly account: Account;
      readonly before: DirectoryUser | undefined;
      readonly isAnother: boolean;
    }
    | undefined
  > {
    const { accounts, providers } = this.#parts;
    const [only] = providers;
    const linked = providers.length !== 1 || externalId === null
      ? undefined
      : await this.#identities.accountOf(only!.issuer, externalId);
    const account = linked === undefined ? await accounts.find(email) : await accounts.byId(linked);
    if (account === undefined) return undefined;
    if (account.kind !== "person" || account.role === "owner") {
      throw new ScimError(
        "uniqueness",
        `${email} is ${
          account.role === "owner" ? "an owner" : "not a person"
        } here: directories do not manage such accounts.`,
      );
    }
    const before = await this.#directory.userOf(account.id);
    if (before?.deletedAtMs === null) throw taken();
    if (linked !== undefined) return { account, before, isAnother: false };
    // an address is a label: that of somebody who has left may be given to the next one
    const isAnother = externalId !== null && (before?.externalId ?? externalId) !== externalId;
    if (before !== undefined && (!isAnother || isOutByDirectory(account, before))) {
      return { account, before, isAnother };
    }
    const domain = email.slice(email.lastIndexOf("@") + 1);
    const claiming = providers.filter(({ domains }) => domains.includes(domain));
    const ways = await this.#identities.ownWays(account);
    // an address that no provider has verified may be anybody's, and so may the account that was registered with it
    const isVouchedFor = (await this.#identities.list(account)).some(({ provider }) =>
      claiming.some(({ name }) => name === provider)
    );
    const isHeld = ways.includes("group") || ways.length > 0 && !isVouchedFor;
    if (claiming.length > 0 && !isHeld) return { account, before, isAnother: false };
    throw new ScimError(
      "uniqueness",
      `${email} has an account here already, ` +
        (claiming.length === 0
          ? "and signIn.oidc[].domains does not claim its domain."
          : "which somebody has other ways to sign in to: have them link their identity on the page Account."),
    );
  }

  /** Gives the account the user's name, if that is another than before. */
  #rename(account: Account, { name: sent }: UserDocument, before?: DirectoryUser): Statement[] {
    const name = nameFrom(sent);
    const isNew = before === undefined ||
      nameFrom(readUser(userDocument({ ...before, active: true })).name) !== name;
    return isNew && name !== "" && name !== account.name ? [renamed(account.id, name)] : [];
  }
}

/**
 * What becomes of an account's access. What was disabled by hand is not enabled: the account was disabled at another time than the
 * directory's user says.
 */
function accessOf(
  { account, before, isActive, nowMs }: {
    readonly account: Account;
    readonly before: DirectoryUser | undefined;
    readonly isActive: boolean;
    readonly nowMs: number;
  },
): { readonly disabledAtMs: number | null; readonly statements: readonly Statement[] } {
  const { id, disabledAtMs: isDisabledAtMs } = account;
  const byDirectoryAtMs = before?.disabledAtMs ?? null;
  if (isActive) {
    return byDirectoryAtMs === null || byDirectoryAtMs !== isDisabledAtMs
      ? { disabledAtMs: null, statements: [] }
      : { disabledAtMs: null, statements: [giveAccess(id, byDirectoryAtMs)] };
  }
  if (isDisabledAtMs === null) {
    return { disabledAtMs: nowMs, statements: takeAccess(id, nowMs) };
  }
  return {
    disabledAtMs: byDirectoryAtMs,
    // whom an operator has disabled gets back no key when an operator enables the account
    statements: byDirectoryAtMs === isDisabledAtMs ? [] : takeAccess(id, nowMs),
  };
}

/** What an account had as that of one person: by what they signed in, what they were, and what they would have gone on paying. */
function forgetAll(accountId: string, nowMs: number): Statement[] {
  return [...forgetPerson(accountId), ...forgetWays(accountId), topUpOff(accountId, nowMs)];
}

/** Whether the directory has deactivated or deleted a user, and nobody has enabled the account since. */
function isOutByDirectory(
  { disabledAtMs }: Pick<Account, "disabledAtMs">,
  user: Pick<DirectoryUser, "disabledAtMs">,
): boolean {
  return disabledAtMs !== null && user.disabledAtMs === disabledAtMs;
}

function userRecord(
  by: By,
  operation: string,
  { account, nowMs, userName, externalId, active }:
    & Pick<UserDocument, "userName" | "externalId" | "active">
    & { readonly account: Account; readonly nowMs: number },
): Statement {
  return recordStatement(by, {
    operation,
    about: { accountId: account.id, objectId: account.id },
    atMs: nowMs,
    after: { user_name: userName, external_id: externalId, active },
  });
}

function mustNotBeOwner({ role, email }: Account): void {
  if (role !== "owner") return;
  throw new ScimError(
    403,
    `${email} is an owner here, whom a directory cannot deactivate: have another owner take that role first.`,
  );
}

function taken(options?: ErrorOptions): ScimError {
  return new ScimError("uniqueness", "There is a user of this name or account already.", options);
}
