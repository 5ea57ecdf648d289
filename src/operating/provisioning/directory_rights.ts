import { type Account, digestOf, GroupGrants, type Teams } from "../../people/accounts/mod.ts";
import { type By, guardStatement } from "../../people/operation_log/mod.ts";
import { Directory, type DirectoryGroup } from "../../people/scim/mod.ts";
import { type Rights, rightsOf } from "../../people/sign_in/mod.ts";
import { type Database, DatabaseError } from "../../ground/database/mod.ts";
import type { Log } from "../../ground/telemetry/mod.ts";
import type { OidcSettings } from "../../settings/config/mod.ts";
import { applyGroups } from "./apply_groups.ts";

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
      await this.#parts.database.batch([this.#directory.evaluatedAlike(alike, settings)]);
    }
    for (const { id } of new Set(users).difference(new Set(alike))) {
      await undisturbed(() => this.#evaluateOne(by, id, settings));
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

  async #evaluateOne(by: By, id: string, settings: string): Promise<void> {
    const { database, teams, now, log } = this.#parts;
    const [user] = await this.#directory.due(settings, { of: [id], limit: 1 });
    if (user === undefined) return;
    const rights = this.#rightsOf((await this.#directory.groupsOf([id])).get(id));
    const { unknownTeams } = await applyGroups({ database, teams, grants: this.#grants, now }, {
      account: { id: user.accountId },
      provider: DIRECTORY,
      rights,
      by,
      also: [
        guardStatement(this.#directory.hasChanges(user)),
        this.#directory.evaluated(
          { ...user, rights: digestOfRights(rights, settings) },
          settings,
        ),
      ],
    });
    if (unknownTeams.length > 0) {
      log.warn("SCIM: the settings name teams that there are none of", {
        teams: unknownTeams.join(", "),
      });
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
      const isGuard = error instanceof DatabaseError && !error.isDuplicate &&
        error.code.startsWith("SQLITE_CONSTRAINT");
      if (!isGuard || attempt === MAX_ATTEMPTS) throw error;
    }
  }
}
