import type { Command } from "commander";
import { SCOPES } from "../../people/accounts/mod.ts";
import {
  AT_ONCE,
  KEEP_SECONDS,
  KEY_CREATE,
  KEY_GET,
  KEY_LIST,
  KEY_REVOKE,
  KEY_ROTATE,
  KEY_UPDATE,
  type ReplyOf,
  TEAM_GET,
} from "../../operating/operations/mod.ts";
import {
  budgetChange,
  budgetsText,
  CHANGED_BUDGET,
  NEW_BUDGET,
  newBudget,
} from "./budget_options.ts";
import { type CommandContext, UsageError } from "./context.ts";
import { option } from "./define_command.ts";
import { commandText, parseCount, parseDuration, table, time } from "./format.ts";
import { lifetime, models, operationCommand } from "./operation_command.ts";

const ID = ["<id>", "key ID (key_…)"] as const;
const COPY = "\n\nCopy the key now: you won't be able to see it again.";

/** `sluice key …` */
export function keyCommand(program: Command, context: CommandContext): void {
  const key = program.command("key").description("manage API keys");

  operationCommand(key, context, KEY_CREATE, {
    name: "create",
    description: "create an API key; it is shown once",
    fields: {
      account: ["--account <email>", "account email (default: owner)"],
      team: ["--team <team>", "name or ID of the team whose key it is, instead of an account"],
      member: [
        "--member <email>",
        "with --team: the member who uses it (default: the whole team)",
      ],
      scopes: [
        "--scopes <scopes>",
        `comma-separated: ${SCOPES.join(", ")} (default: inference)`,
      ],
      name: ["--name <name>", "display name"],
      expires_at: [
        "--expires <duration>",
        "lifetime, e.g. 12h, 30d, 8w (default: never expires)",
        lifetime,
      ],
      models: ["--models <ids>", "comma-separated model IDs; 'all' (default)", models],
      at_once: ["--at-once <n>", "max requests in flight; 'any' (default)", atOnce],
    },
    options: [
      option("--budget <credits>", "credits the key may spend (default: no limit)"),
      ...NEW_BUDGET,
    ],
    unnamed: "owner",
    help:
      "\nExample:\n  sluice key create --account ada@example.com --name laptop --expires 30d --models svc-k2,svc-k3\n  sluice key create --name ci --budget 500 --reset monthly --zone Europe/Berlin",
    opens: "new database",
    given({ options }) {
      const { member, team } = options;
      if (member !== undefined && team === undefined) {
        throw new UsageError("--member: member goes with team");
      }
      return { budgets: newBudget(options) };
    },
    text: ({ key, id }) => `${key}${COPY} Its ID is ${id}.\n`,
  });

  operationCommand(key, context, KEY_LIST, {
    name: "list",
    description: "list the keys of an account or a team",
    fields: {
      account: ["--account <email>", "account email (default: owner)"],
      team: ["--team <team>", "name or ID of a team, instead of an account"],
      all: ["--all", "revoked and expired keys as well"],
    },
    unnamed: "owner",
    async text({ data }, { input, options, parts, perform }) {
      const members = data.flatMap(({ member_id }) => member_id ?? []);
      const emails = await parts.accounts.byIds([...new Set(members)]);
      const { team } = options;
      const rows = data.map((one) => {
        const { id, ...more } = row(one, parts.clock.now());
        // a team's keys often have the same name
        const member = team === undefined ? {} : { member: emails.get(one.member_id ?? "")?.email };
        return { id, ...member, ...more, spent: one.spent };
      });
      if (options.all !== undefined) return table(rows);
      const all = await perform(KEY_LIST, { ...input, all: "true" });
      const hidden = all.data.length - data.length;
      if (hidden === 0) return table(rows);
      const named = team !== undefined
        ? { team: (await perform(TEAM_GET, { team })).name }
        : options.account === undefined
        ? {}
        : { account: options.account };
      return `${table(rows)}\n${hidden} revoked or expired: ${
        commandText("sluice key list --all", { options: named })
      }\n`;
    },
  });

  operationCommand(key, context, KEY_UPDATE, {
    name: "update",
    description: "change a key's name, models, expiry, requests at once or budgets",
    fields: {
      key: ID,
      name: ["--name <name>", "display name"],
      expires_at: [
        "--expires <duration>",
        "lifetime from now, e.g. 12h, 30d, 8w; 'never'",
        lifetime,
      ],
      models: ["--models <ids>", "comma-separated model IDs; 'all'", models],
      at_once: ["--at-once <n>", "max requests in flight; 'any'", atOnce],
    },
    options: CHANGED_BUDGET,
    help: "\nExamples:\n  sluice key update key_… --budget 500 --reset monthly\n" +
      "  sluice key update key_… --reset monthly --raise 200 --until 2d\n" +
      "  sluice key update key_… --budget none",
    async carryOut({ key, ...changes }, run) {
      const { id, revoked_at } = await run.perform(KEY_GET, { key });
      const change = await budgetChange(run, { owner: "key", owner_id: id });
      if (Object.keys(changes).length > 0 || revoked_at !== null) {
        await run.perform(KEY_UPDATE, { key, ...changes });
      }
      await change();
      return await run.perform(KEY_GET, { key });
    },
    text: (one, { parts }) => table([row(one, parts.clock.now())]),
  });

  operationCommand(key, context, KEY_ROTATE, {
    name: "rotate",
    description: "give a key another secret; it is shown once",
    fields: {
      key: ID,
      keep_seconds: [
        "--keep <duration>",
        "how long the present secret stays valid, e.g. 12h, 7d (default: not at all)",
        (text, flag) => parseDuration(flag, text, KEEP_SECONDS.max / 86_400) / 1_000,
      ],
      end_earlier: [
        "--end-earlier",
        "do not ask whether a secret that is still valid from before ends now",
      ],
    },
    help:
      "\nThe key's ID, restrictions, budgets and usage stay. Only one previous secret is kept: a second rotation" +
      "\nwith --keep asks whether the earlier one ends.\n\nExample:\n  sluice key rotate key_… --keep 24h",
    async input({ options, parts, perform }) {
      const { previous_valid_until: until } = await perform(KEY_GET, { key: options.id });
      const untilMs = until === null ? 0 : Date.parse(until);
      const isAsked = options.keep !== undefined && options.endEarlier === undefined &&
        untilMs > parts.clock.now();
      return isAsked && context.confirm(
            `The secret before this one is valid until ${time(untilMs)}. End it now?`,
          ) === true
        ? { end_earlier: true }
        : {};
    },
    text: ({ key, previous_valid_until: until }, { options }) =>
      `${key}${COPY} The previous one ` +
      (options.keep === undefined || until === null
        ? "stops working within a second.\n"
        : `is valid until ${time(Date.parse(until))}.\n`),
  });

  operationCommand(key, context, KEY_REVOKE, {
    name: "revoke",
    description: "revoke a key permanently",
    fields: { key: ID },
    text: ({ id }) => `Revoked ${id}. A running gateway rejects it within a second.\n`,
  });
}

function atOnce(text: string, flag: string): number | null {
  return text === "any" ? null : parseCount(flag, text, AT_ONCE);
}

function row(key: ReplyOf<typeof KEY_GET>, nowMs: number) {
  const ms = (at: string | null) => at === null ? null : Date.parse(at);
  return {
    id: key.id,
    key: key.hint,
    name: key.name || null,
    state: key.revoked_at !== null
      ? "revoked"
      : (ms(key.expires_at) ?? Infinity) <= nowMs
      ? "expired"
      : "active",
    models: key.models ?? "all",
    budget: budgetsText(key.budgets),
    "at once": key.at_once ?? "any",
    "last used": time(ms(key.last_used_at)) ?? "never",
    created: time(ms(key.created_at)),
    expires: time(ms(key.expires_at)),
  };
}
