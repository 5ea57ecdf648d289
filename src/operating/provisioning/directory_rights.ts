import { type Account, GroupGrants, type Teams } from "../../people/accounts/mod.ts";
import { type By, guardStatement } from "../../people/operation_log/mod.ts";
import { Directory, type DirectoryGroup, evaluated, haveChanges } from "../../people/scim/mod.ts";
import { type Rights, rightsOf } from "../../people/sign_in/mod.ts";
import { type Database, DatabaseError } from "../../ground/database/mod.ts";
import type { Log } from "../../ground/telemetry/mod.ts";
import type { OidcSettings } from "../../settings/config/mod.ts";
import { applyGroups } from "./apply_groups.ts";
import { digestOf } from "../../ground/platform/mod.ts";

/** Dependencies of {@linkcode DirectoryRights}. */
export interface DirectoryRightsParts {
  readonly database: Database;
  readonly teams: Pick<Teams, "list">;
  /** The providers of the settings, whose groups say what a directory's groups give. */
  readonly providers: readonly OidcSettings[];
  readonly now: () => number;
  readonly log: Log;
}

/** In marks of what groups gave; no provider of the settings can have this name. */
const DIRECTORY = "SCIM";
/** Users whose rights a request evaluates besides those that it is about. */
const EVALUATED_BESIDES = 200;
/** Users that one transaction gives their rights. Others' writes wait for it, a few hundredths of a second. */
const PIECE = 100;
const MAX_ATTEMPTS = 10;

/** Gives users what the groups of a company's directory give by the settings, and takes what those no longer give. */
export class DirectoryRights {
  readonly #parts: DirectoryRightsParts;
  readonly #directory: Directory;
  readonly #grants: GroupGrants;

  constructor(parts: DirectoryRightsParts) {
    const { database, now } = parts;
    this.#parts = parts;
    this.#directory = new Directory(database);
    this.#grants = new GroupGrants(database, now);
  }

  /**
   * Gives users what their groups give, and takes what those no longer give: those that are named, and some others that are due because
   * the settings or teams have changed or a gateway stopped before it came to them.
   */
  async evaluate(by: By, userIds: readonly string[] = []): Promise<void> {
    const { providers, teams } = this.#parts;
    const groups = providers.map((one) => one.groups);
    // a team that the settings name may be made later
    const settings = digestOf(JSON.stringify([
      groups,
      (await teams.list()).map(({ id, name }) => [id, name]),
    ])).slice(0, 16);
    const due = [
      ...await this.#directory.due(settings, { of: userIds, limit: userIds.length }),
      ...await this.#directory.due(settings, { limit: EVALUATED_BESIDES }),
    ];
    const users = [...new Map(due.map((user) => [user.id, user])).values()];
    const groupsOf = await this.#directory.groupsOf(users.map(({ id }) => id));
    // many are in groups of which the settings know nothing
    const alike = users.filter(({ id, rights }) =>
      rights === digestOfRights(this.#rightsOf(groupsOf.get(id)), settings)
    );
    if (alike.length > 0) {
      await this.#parts.database.batch([evaluated(alike, { settings })]);
    }
    const others = [...new Set(users).difference(new Set(alike))].map(({ id }) => id);
    for (let at = 0; at < others.length; at += PIECE) {
      const piece = others.slice(at, at + PIECE);
      await undisturbed(() => this.#evaluatePiece(by, piece, settings));
    }
  }

  /** The same for the user that an account is, if it is one. */
  async evaluateAccount(by: By, { id }: Pick<Account, "id">): Promise<void> {
    const user = await this.#directory.userOf(id);
    if (user !== undefined) await this.evaluate(by, [user.id]);
  }

  #rightsOf(groups: readonly DirectoryGroup[] = []): Rights {
    const names = groups.flatMap(({ displayName, externalId }) => [displayName, externalId ?? ""]);
    return rightsOf(names, ...this.#parts.providers.map((one) => one.groups));
  }

  /** Evaluates users, in a transaction for all those whose groups give the same. */
  async #evaluatePiece(by: By, ids: readonly string[], settings: string): Promise<void> {
    const { database, teams, now, log } = this.#parts;
    const users = await this.#directory.due(settings, { of: ids, limit: ids.length });
    const groupsOf = await this.#directory.groupsOf(users.map(({ id }) => id));
    const due = users.map((user) => ({ user, rights: this.#rightsOf(groupsOf.get(user.id)) }));
    const alike = Map.groupBy(due, ({ rights }) => digestOfRights(rights, settings));
    for (const [digest, some] of alike) {
      const { rights } = some[0]!;
      const users = some.map(({ user }) => user);
      const { unknownTeams } = await applyGroups({ database, teams, grants: this.#grants, now }, {
        accountIds: users.map(({ accountId }) => accountId),
        provider: DIRECTORY,
        rights,
        by,
        also: [
          guardStatement(haveChanges(users)),
          evaluated(users, { settings, rights: digest }),
        ],
      });
      if (unknownTeams.length > 0) {
        log.warn("SCIM: the settings name teams that there are none of", {
          teams: unknownTeams.join(", "),
        });
      }
    }
  }
}

/** By what rights are known, and the settings that they were evaluated by. */
function digestOfRights({ role, teams, budgets }: Rights, settings: string): string {
  return digestOf(JSON.stringify([settings, role, [...teams], [...budgets]])).slice(0, 16);
}

/** Does something that a guard lets fail if another change came in between; then it is done again, on what is there now. */
export async function undisturbed(work: () => Promise<void>): Promise<void> {
  for (let attempt = 1;; attempt++) {
    try {
      return await work();
    } catch (error) {
      const isGuard = error instanceof DatabaseError && error.kind === "rule";
      if (!isGuard || attempt === MAX_ATTEMPTS) throw error;
    }
  }
}
