import { type By, guardStatement, recordStatement } from "../../people/operation_log/mod.ts";
import {
  type Attributes,
  changeMembers,
  deleteGroup,
  Directory,
  type DirectoryGroup,
  type GroupDocument,
  groupDocument,
  insertGroup,
  isSameGroup,
  readGroup,
  ScimError,
  updateGroup,
} from "../../people/scim/mod.ts";
import type { Statement } from "../../ground/database/mod.ts";
import { newId } from "../../ground/platform/mod.ts";
import { DirectoryRights, type DirectoryRightsParts, undisturbed } from "./directory_rights.ts";
import { type ChangedBy, missing, mustMatch } from "./resource_errors.ts";

/** Members that a row of the log names. */
const LOGGED_MEMBERS = 100;

/** Carries out what a company's directory says of groups: they give their members what the settings say that they give. */
export class GroupProvisioning {
  readonly #parts: DirectoryRightsParts;
  readonly #directory: Directory;
  readonly #rights: DirectoryRights;

  constructor(parts: DirectoryRightsParts) {
    this.#parts = parts;
    this.#directory = new Directory(parts.database);
    this.#rights = new DirectoryRights(parts);
  }

  /** Creates a group. @returns Its ID. */
  async createGroup(sent: Attributes, by: By): Promise<string> {
    const id = newId("scim");
    const document = readGroup(sent);
    const accounts = await this.#accountsOf(document.members, []);
    const nowMs = this.#parts.now();
    const change = { added: document.members, removed: [] };
    await this.#parts.database.batch([
      insertGroup(id, document, nowMs),
      ...changeMembers(id, change),
      this.#groupRecord(by, "scim_group.create", { id, nowMs, document, accounts, ...change }),
    ]);
    await this.#rights.evaluate(by, document.members);
    return id;
  }

  /** Finds a group. @throws {ScimError} 404. */
  async group(id: string): Promise<DirectoryGroup> {
    const group = await this.#directory.group(id);
    if (group === undefined) throw missing("Group", id);
    return group;
  }

  /**
   * Changes a group.
   *
   * @param edit Returns the attributes that it is to have; it may be asked again.
   */
  async changeGroup(
    id: string,
    edit: (attributes: Attributes) => Attributes,
    { by, ifMatch }: ChangedBy,
  ): Promise<void> {
    const concerned = new Set<string>();
    await undisturbed(async () => {
      const { group, members } = await this.#groupWithMembers(id, ifMatch);
      const document = readGroup(edit(groupDocument({ ...group, members })));
      const [before, after] = [new Set(members), new Set(document.members)];
      const added = document.members.filter((one) => !before.has(one));
      const removed = members.filter((one) => !after.has(one));
      const isRenamed = group.displayName !== document.displayName ||
        group.externalId !== document.externalId;
      if (!isRenamed && added.length === 0 && removed.length === 0) return;
      const accounts = await this.#accountsOf(added, removed);
      const nowMs = this.#parts.now();
      for (const one of isRenamed ? [...members, ...added] : [...added, ...removed]) {
        concerned.add(one);
      }
      await this.#parts.database.batch([
        guardStatement(isSameGroup(group)),
        ...updateGroup(id, document, nowMs),
        ...changeMembers(id, { added, removed }),
        this.#groupRecord(by, "scim_group.update", {
          ...{ id, nowMs, document, accounts, added, removed },
        }),
      ]);
    });
    await this.#rights.evaluate(by, [...concerned]);
  }

  /** Deletes a group: what it gave its members goes. */
  async deleteGroup(
    id: string,
    { by, ifMatch }: ChangedBy,
  ): Promise<void> {
    const concerned = new Set<string>();
    await undisturbed(async () => {
      const { group, members } = await this.#groupWithMembers(id, ifMatch);
      for (const one of members) concerned.add(one);
      const accounts = await this.#accountsOf([], members);
      const nowMs = this.#parts.now();
      const document = { ...group, members: [] };
      await this.#parts.database.batch([
        guardStatement(isSameGroup(group)),
        ...deleteGroup(id),
        this.#groupRecord(by, "scim_group.delete", {
          ...{ id, nowMs, document, accounts, added: [], removed: members },
        }),
      ]);
    });
    await this.#rights.evaluate(by, [...concerned]);
  }

  async #groupWithMembers(id: string, ifMatch: ChangedBy["ifMatch"]) {
    const group = await this.group(id);
    mustMatch(group.version, ifMatch);
    const members = (await this.#directory.membersOf([id])).get(id) ?? [];
    return { group, members: members.map((one) => one.id) };
  }

  /** Accounts of users who come into a group or leave it. @throws {ScimError} If an ID of the first is not of a user. */
  async #accountsOf(added: readonly string[], removed: readonly string[]) {
    const accounts = await this.#directory.accountsOf([...added, ...removed]);
    const unknown = added.find((id) => !accounts.has(id));
    if (unknown === undefined) return accounts;
    throw new ScimError(
      "invalidValue",
      `No user has the ID ${JSON.stringify(unknown.slice(0, 100))}: send users before groups.`,
    );
  }

  #groupRecord(
    by: By,
    operation: string,
    { id, nowMs, document: { displayName, externalId, members }, accounts, added, removed }: {
      readonly id: string;
      readonly nowMs: number;
      readonly document: GroupDocument;
      /** IDs of accounts by those of users: the log is of accounts. */
      readonly accounts: ReadonlyMap<string, string>;
      readonly added: readonly string[];
      readonly removed: readonly string[];
    },
  ): Statement {
    const some = (ids: readonly string[]) =>
      ids.slice(0, LOGGED_MEMBERS).flatMap((one) => accounts.get(one) ?? []);
    return recordStatement(by, {
      operation,
      about: { objectId: id },
      atMs: nowMs,
      after: {
        display_name: displayName,
        external_id: externalId,
        members: members.length,
        added: some(added),
        removed: some(removed),
      },
    });
  }
}
