import type { Command } from "commander";
import { AccountError, type Key, type Scope, SCOPES } from "../../people/accounts/mod.ts";
import type { Catalog } from "../../settings/catalog/mod.ts";
import type { Config } from "../../settings/config/mod.ts";
import { type Budget, budgetsOf, budgetsOfKeys, budgetText } from "../../money/ledger/mod.ts";
import {
  describeKey,
  describeKeys,
  isoOf,
  KEY_CREATE,
  KEY_REVOKE,
  KEY_ROTATE,
  KEY_UPDATE,
} from "../../operating/operations/mod.ts";
import { servedCatalog } from "./served_catalog.ts";
import { type CommandContext, type CommandParts, UsageError } from "./context.ts";
import { argument, defineCommand, option } from "./define_command.ts";
import {
  type BudgetOptions,
  changeBudget,
  CHANGED_BUDGET,
  NEW_BUDGET,
  newBudget,
} from "./budget_options.ts";
import { commandText, parseDuration, parseList, table, time } from "./format.ts";
import { operate } from "./operate.ts";
import { accountOrOwner, activeAccount } from "./settings.ts";

interface CreateOptions extends BudgetOptions {
  readonly account?: string;
  readonly team?: string;
  readonly member?: string;
  readonly scopes?: string;
  readonly name: string;
  readonly expires?: string;
  readonly models?: string;
}

interface UpdateOptions extends BudgetOptions {
  readonly id: string;
  readonly name?: string;
  readonly expires?: string;
  readonly models?: string;
}

/** `sluice key …` */
export function keyCommand(program: Command, context: CommandContext): void {
  const key = program.command("key").description("manage API keys");

  defineCommand<CreateOptions>(key, context, {
    name: "create",
    description: "create an API key; it is shown once",
    options: [
      option("--account <email>", "account email (default: owner)"),
      option("--team <team>", "name or ID of the team whose key it is, instead of an account"),
      option("--member <email>", "with --team: the member who uses it (default: the whole team)"),
      option("--scopes <scopes>", `comma-separated: ${SCOPES.join(", ")} (default: inference)`),
      option("--name <name>", "display name", ""),
      option("--expires <duration>", "lifetime, e.g. 12h, 30d, 8w (default: never expires)"),
      option("--models <ids>", "comma-separated model IDs; 'all' (default)"),
      option("--budget <credits>", "credits the key may spend (default: no limit)"),
      ...NEW_BUDGET,
    ],
    help:
      "\nExample:\n  sluice key create --account ada@example.com --name laptop --expires 30d --models svc-k2,svc-k3\n  sluice key create --name ci --budget 500 --reset monthly --zone Europe/Berlin",
    opens: "new database",
    async run({ options, parts, config, print }) {
      const models = await modelsOption(options.models, config, context);
      const { team, scopes } = options;
      if (team === undefined ? options.member !== undefined : options.account !== undefined) {
        throw new UsageError("--member goes with --team, and --account without it");
      }
      if (team !== undefined && scopes !== undefined) {
        throw new UsageError("keys of a team have the scope inference: omit --scopes");
      }
      const nowMs = parts.clock.now();
      const whose = team === undefined
        ? {
          account: (await activeAccount(parts, options.account)).id,
          ...(scopes === undefined ? {} : { scopes: parseScopes(scopes) }),
        }
        : {
          team: (await parts.teams.get(team)).id,
          ...(options.member === undefined
            ? {}
            : { member: (await parts.accounts.get(options.member)).id }),
        };
      const reply = await operate({ context, parts, config }, KEY_CREATE, {
        ...whose,
        name: options.name,
        models: models ?? null,
        expires_at: expiryOf(options.expires, parts.clock.now()) ?? null,
        budgets: newBudget(options),
      });
      const made = (await parts.keys.byId(String(reply.id)))!;
      const owner = { owner: "key", ownerId: made.id } as const;
      const budgets = await budgetsOf(parts.database, owner, nowMs);
      print(
        { ...describeKey(made, budgets), key: String(reply.key) },
        (value) =>
          `${value.key}\n\nCopy the key now: you won't be able to see it again. Its ID is ${value.id}.\n`,
      );
    },
  });

  defineCommand<{ account?: string; team?: string; all?: boolean }>(key, context, {
    name: "list",
    description: "list the keys of an account or a team",
    options: [
      option("--account <email>", "account email (default: owner)"),
      option("--team <team>", "name or ID of a team, instead of an account"),
      option("--all", "revoked and expired keys as well"),
    ],
    opens: "database",
    async run({ options, parts, print }) {
      if (options.account !== undefined && options.team !== undefined) {
        throw new UsageError("pass either --account or --team");
      }
      const { keys, teams, teamKeys, database } = parts;
      const nowMs = parts.clock.now();
      const team = options.team === undefined ? undefined : await teams.get(options.team);
      const whose = team ?? await accountOrOwner(parts, options.account);
      const found = team === undefined ? await keys.list(whose) : await teamKeys.list(team);
      const shown = options.all ? found : found.filter((one) => isActive(one, nowMs));
      const described = await describeKeys({ keys, database, nowMs }, shown);
      const budgets = await budgetsOfKeys(
        database,
        shown.map(({ id }) => id),
        nowMs,
      );
      const hidden = found.length - shown.length;
      const members = shown.flatMap(({ memberId }) => memberId ?? []);
      const emails = await parts.accounts.byIds([...new Set(members)]);
      const named = team !== undefined
        ? { team: team.name }
        : options.account === undefined
        ? {}
        : { account: options.account };
      print(
        described,
        () =>
          table(shown.map((one, at) => {
            const { last_used_at: used, spent } = described[at]!;
            const usedAtMs = used === null ? null : Date.parse(used);
            const { id, ...more } = row(one, budgets.get(one.id), usedAtMs, nowMs);
            // a team's keys often have the same name
            const member = team === undefined
              ? {}
              : { member: emails.get(one.memberId ?? "")?.email };
            return { id, ...member, ...more, spent };
          })) +
          (hidden === 0
            ? ""
            : `\n${hidden} revoked or expired: ${
              commandText("sluice key list --all", { options: named })
            }\n`),
      );
    },
  });

  defineCommand<UpdateOptions>(key, context, {
    name: "update",
    description: "change a key's name, models, expiry or budgets",
    arguments: [argument("<id>", "key ID (key_…)")],
    options: [
      option("--name <name>", "display name"),
      option("--expires <duration>", "lifetime from now, e.g. 12h, 30d, 8w; 'never'"),
      option("--models <ids>", "comma-separated model IDs; 'all'"),
      ...CHANGED_BUDGET,
    ],
    help: "\nExamples:\n  sluice key update key_… --budget 500 --reset monthly\n" +
      "  sluice key update key_… --reset monthly --raise 200 --until 2d\n" +
      "  sluice key update key_… --budget none",
    opens: "database",
    async run({ options, parts, config, print }) {
      const { id, name, models, expires } = options;
      const known = await keyOf(parts, id);
      const changes = {
        name,
        models: await modelsOption(models, config, context),
        expires_at: expiryOf(expires, parts.clock.now()),
      };
      const isChanged = Object.values(changes).some((one) => one !== undefined);
      if (isChanged || known.revokedAtMs !== null) {
        await operate({ context, parts, config }, KEY_UPDATE, { key: id, ...changes });
      }
      const changed = await keyOf(parts, id);
      const owner = { owner: "key", ownerId: changed.id } as const;
      const budgets = await changeBudget({ context, parts, config }, owner, options);
      const { keys, database, clock } = parts;
      const [described] = await describeKeys({ keys, database, nowMs: clock.now() }, [changed]);
      const usedAt = described!.last_used_at;
      print(
        described!,
        () =>
          table([
            row(changed, budgets, usedAt === null ? null : Date.parse(usedAt), clock.now()),
          ]),
      );
    },
  });

  defineCommand<{ id: string; keep?: string; endEarlier?: true }>(key, context, {
    name: "rotate",
    description: "give a key another secret; it is shown once",
    arguments: [argument("<id>", "key ID (key_…)")],
    options: [
      option(
        "--keep <duration>",
        "how long the present secret stays valid, e.g. 12h, 7d (default: not at all)",
      ),
      option(
        "--end-earlier",
        "do not ask whether a secret that is still valid from before ends now",
      ),
    ],
    help:
      "\nThe key's ID, restrictions, budgets and usage stay. Only one previous secret is kept: a second rotation" +
      "\nwith --keep asks whether the earlier one ends.\n\nExample:\n  sluice key rotate key_… --keep 24h",
    opens: "database",
    async run({ options: { id, keep, endEarlier = false }, parts, config, print }) {
      const { previousUntilMs } = await keyOf(parts, id);
      const isPromised = keep !== undefined && (previousUntilMs ?? 0) > parts.clock.now();
      const ends = endEarlier || isPromised && context.confirm(
              `The secret before this one is valid until ${time(previousUntilMs)}. End it now?`,
            ) === true;
      const { key: secret } = await operate({ context, parts, config }, KEY_ROTATE, {
        key: id,
        keep_seconds: keep === undefined ? 0 : parseDuration("--keep", keep, 90) / 1_000,
        end_earlier: ends,
      });
      const rotated = await keyOf(parts, id);
      const owner = { owner: "key", ownerId: id } as const;
      const budgets = await budgetsOf(parts.database, owner, parts.clock.now());
      print(
        { ...describeKey(rotated, budgets), key: String(secret) },
        (value) =>
          `${value.key}\n\nCopy the key now: you won't be able to see it again. The previous one ` +
          (keep === undefined
            ? "stops working within a second.\n"
            : `is valid until ${time(rotated.previousUntilMs)}.\n`),
      );
    },
  });

  defineCommand<{ id: string }>(key, context, {
    name: "revoke",
    description: "revoke a key permanently",
    arguments: [argument("<id>", "key ID (key_…)")],
    opens: "database",
    async run({ options: { id }, parts, config, print }) {
      await keyOf(parts, id);
      await operate({ context, parts, config }, KEY_REVOKE, { key: id });
      print(
        describeKey(await keyOf(parts, id), undefined),
        (value) => `Revoked ${value.id}. A running gateway rejects it within a second.\n`,
      );
    },
  });
}

/** @throws {AccountError} If there is no such key. */
async function keyOf({ keys }: CommandParts, id: string): Promise<Key> {
  const key = await keys.byId(id);
  if (key !== undefined) return key;
  throw new AccountError(`Key ${JSON.stringify(id)} not found. List keys with: sluice key list`);
}

/** When a lifetime ends; `null` for one that never does. */
function expiryOf(text: string | undefined, nowMs: number): string | null | undefined {
  if (text === undefined) return undefined;
  if (text === "never") return null;
  return isoOf(nowMs + parseDuration("--expires", text));
}

function parseScopes(text: string): Scope[] {
  return parseList(text).map((name) => {
    const scope = SCOPES.find((one) => one === name);
    if (scope === undefined) {
      throw new UsageError(`unknown scope '${name}'. Scopes: ${SCOPES.join(", ")}`);
    }
    return scope;
  });
}

function isActive({ revokedAtMs, expiresAtMs }: Key, nowMs: number): boolean {
  return revokedAtMs === null && (expiresAtMs === null || expiresAtMs > nowMs);
}

/**
 * Reads `--models`: route IDs that are served, aliases resolved.
 *
 * @returns `null` for `all`, `undefined` if the option was not given.
 * @throws {UsageError} If a model is unknown, or `all` is also the name of one.
 */
export async function modelsOption(
  text: string | undefined,
  config: Config,
  context: CommandContext,
): Promise<readonly string[] | null | undefined> {
  if (text?.trim() !== "all") {
    return text === undefined
      ? undefined
      : routeIds(parseList(text), await servedCatalog(config, context));
  }
  if (!Object.hasOwn(config.settings.routes, "all")) return null;
  throw new UsageError(
    "'all' means every model, and a route has the name 'all': name models, or rename it",
  );
}

function routeIds(names: readonly string[], catalog: Catalog): string[] {
  return names.map((name) => {
    const route = catalog.find(name);
    if (route === undefined) {
      const known = catalog.routes.map(({ id }) => id).join(", ");
      throw new UsageError(`unknown model '${name}'. Available models: ${known}`);
    }
    return route.id;
  });
}

function row(
  key: Key,
  budgets: readonly Budget[] = [],
  lastUsedAtMs: number | null,
  nowMs: number,
) {
  const expired = key.expiresAtMs !== null && key.expiresAtMs <= nowMs;
  return {
    id: key.id,
    key: key.hint,
    name: key.name || null,
    state: key.revokedAtMs !== null ? "revoked" : expired ? "expired" : "active",
    models: key.models ?? "all",
    budget: budgets.length === 0 ? null : budgets.map(budgetText).join("; "),
    "last used": time(lastUsedAtMs) ?? "never",
    created: time(key.createdAtMs),
    expires: time(key.expiresAtMs),
  };
}
