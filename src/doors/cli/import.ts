import type { Command } from "commander";
import type { Account } from "../../people/accounts/mod.ts";
import { Catalog, describeTargets } from "../../settings/catalog/mod.ts";
import { type Config, databaseFile, type SettingsEditor } from "../../settings/config/mod.ts";
import {
  type AccountParts,
  type ImportPlan,
  type Notice,
  Notices,
  placeAccounts,
  type PlacedAccounts,
  type PlacedSettings,
  placeSettings,
  readConfig,
  readKeys,
  readNewApi,
} from "../../operating/importers/mod.ts";
import { resolvePath } from "../../ground/std/mod.ts";
import { recordStatement } from "../../people/operation_log/mod.ts";
import { type CommandContext, type CommandParts, UsageError } from "./context.ts";
import { argument, CREATE, defineCommand, option } from "./define_command.ts";
import { table, time } from "./format.ts";
import { shellBy } from "./operate.ts";
import { readNamed } from "./read_named.ts";
import { confirmNew, exists, type PlaceOptions } from "./settings.ts";
import { editSettings, writeSettings } from "./settings_edit.ts";

interface ImportOptions extends PlaceOptions {
  readonly write?: boolean;
  readonly join?: boolean;
  readonly domain: string;
}

/** What was, or would be, imported. */
interface Report extends PlacedSettings {
  readonly source: string;
  readonly written: boolean;
  readonly settings_file: string;
  readonly accounts: PlacedAccounts["accounts"];
  readonly keys: PlacedAccounts["keys"];
  readonly notices: readonly Notice[];
}

const COMMON = (domain: string) => [
  option("--write", "write the settings, accounts and keys (default: only show them)"),
  option("--join", "add keys and credits to accounts that exist already with the same address"),
  option("--domain <name>", "domain of the addresses of users without one", domain),
  CREATE,
];
const ABOUT =
  "\nShows what it would do; with --write, it does it. What is here already is not changed, so " +
  "that it may be\nrepeated. The source is only read. What cannot be imported is named at the end.\n";

/** `sluice import litellm` and `sluice import new-api` */
export function importCommand(program: Command, context: CommandContext): void {
  const group = program.command("import").description(
    "take over models, prices, accounts and keys of another gateway",
  );

  defineCommand<ImportOptions & { file: string; keys?: string[] }>(group, context, {
    name: "litellm",
    description: "import LiteLLM's config.yaml, and its virtual keys",
    arguments: [argument("<file>", "LiteLLM's config.yaml")],
    options: [
      option(
        "--keys <files...>",
        "replies of /key/list?return_full_object=true or /key/info, and of /team/list",
      ),
      ...COMMON("litellm.invalid"),
    ],
    help: ABOUT +
      "\nLiteLLM keeps its keys in a database. Ask its API for them, page by page:\n" +
      '  curl -H "Authorization: Bearer $LITELLM_MASTER_KEY" \\\n' +
      '    "http://localhost:4000/key/list?return_full_object=true&size=100&page=1" > keys.json\n' +
      "They go on working: LiteLLM and Sluice store the same digest of a key. What keys of teams may use is in\n" +
      "http://localhost:4000/team/list.\n" +
      "\nExample:\n  sluice import litellm config.yaml --keys keys.json --write",
    opens: "settings",
    serving: false,
    async run({ options, config, print }) {
      const notices = new Notices();
      const { creditsPerUsd, nowMs } = common(config, context);
      const read = (path: string) => readNamed(context, path);
      const plan = await readConfig(await read(options.file), {
        env: context.env,
        creditsPerUsd,
        notices,
      });
      const replies = await Promise.all((options.keys ?? []).map(async (path) => {
        try {
          return parseReplies(await read(path));
        } catch (error) {
          if (!(error instanceof SyntaxError)) throw error;
          throw new Error(`${path} is not valid JSON`); // its text may hold keys
        }
      }));
      const keys = readKeys(replies.flat(), { creditsPerUsd, nowMs, notices });
      const source = { name: "LiteLLM", plan: { ...plan, ...keys }, notices };
      await run(context, { options, config, print, source });
    },
  });

  defineCommand<ImportOptions & { database: string; group: string }>(group, context, {
    name: "new-api",
    description: "import the SQLite database of New-API or One-API",
    arguments: [argument("<database>", "the SQLite file, such as one-api.db; it may be in use")],
    options: [
      option("--group <name>", "group whose channels and prices are imported", "default"),
      ...COMMON("new-api.invalid"),
    ],
    help: ABOUT + "\nExample:\n  sluice import new-api data/one-api.db --write",
    opens: "settings",
    serving: false,
    async run({ options, config, print }) {
      const notices = new Notices();
      const plan = await readNewApi(resolvePath(context.directory, options.database), {
        ...common(config, context),
        group: options.group,
        notices,
      });
      await run(context, {
        options,
        config,
        print,
        source: { name: "New-API", plan, notices },
      });
    },
  }).alias("one-api");
}

function common({ settings }: Config, { now }: CommandContext) {
  return { creditsPerUsd: settings.credits.perUsd, nowMs: now() };
}

/** One reply, or one a line, as a loop over pages writes them. */
function parseReplies(text: string): unknown[] {
  try {
    return [JSON.parse(text)];
  } catch (error) {
    const lines = text.split("\n").filter((line) => line.trim() !== "");
    if (lines.length < 2) throw error;
    return lines.map((line) => JSON.parse(line));
  }
}

async function run(
  context: CommandContext,
  { options, config, print, source: { name, plan, notices } }: {
    readonly options: ImportOptions;
    readonly config: Config;
    readonly print: <T>(value: T, text: (value: T) => string) => void;
    readonly source: {
      readonly name: string;
      readonly plan: ImportPlan;
      readonly notices: Notices;
    };
  },
): Promise<void> {
  const { write = false } = options;
  if (!/^[a-z0-9]([a-z0-9.-]*[a-z0-9])?\.[a-z]{2,}$/i.test(options.domain)) {
    throw new UsageError(`invalid domain '${options.domain}'`);
  }
  const file = databaseFile(config.settings);
  if (write && plan.accounts.length > 0 && file !== undefined && !await exists(file)) {
    confirmNew(context, options, file);
  }
  const editor = await editSettings(config);
  const placed = placeSettings(plan, editor, notices);
  if (write && editor.changed) await writeSettings(context, editor);
  const { accounts, keys, fault } = await accountsOf(context, config, {
    options,
    editor,
    plan,
    notices,
  });
  const report: Report = {
    source: name,
    written: write,
    settings_file: editor.path,
    ...placed,
    variables: placed.variables.filter((variable) => !context.env[variable]),
    accounts,
    keys,
    notices: notices.all,
  };
  print(report, textOf); // before a fault is thrown: new keys are shown once
  if (fault !== undefined) throw fault;
}

async function accountsOf(
  context: CommandContext,
  config: Config,
  { options: { write = false, join = false, domain }, editor, plan, notices }: {
    readonly options: ImportOptions;
    readonly editor: SettingsEditor;
    readonly plan: ImportPlan;
    readonly notices: Notices;
  },
): Promise<PlacedAccounts> {
  if (plan.accounts.length === 0) return { accounts: [], keys: [], fault: undefined };
  const ids = new Set([...plan.routes.map(({ id }) => id), ...editor.names("routes")]);
  const catalog = new Catalog(config.settings);
  const routesFor = (model: string): readonly string[] => {
    if (ids.has(model)) return [model];
    if (model.endsWith("*")) {
      const found = [...ids].filter((id) => id.startsWith(model.slice(0, -1)));
      if (found.length > 0) return found;
    }
    const route = plan.aliases.get(model) ?? catalog.find(model)?.id;
    if (route !== undefined) return [route];
    notices.check(`model ${model}`, "keys may use it, and no route is imported for it");
    return [model];
  };
  const place = (parts?: AccountParts, owner: () => Promise<Account> = nobody) =>
    placeAccounts(plan, {
      parts,
      owner,
      write,
      join,
      domain: domain.toLowerCase(),
      routesFor,
      notices,
    });
  const file = databaseFile(config.settings);
  if (!write && file !== undefined && !await exists(file)) return await place();
  await using parts = await context.openParts(config);
  if (write) await parts.owner(); // a new database has its owner first
  const placed = await place(parts, () => parts.owner());
  if (write) await recordImport(parts, placed);
  return placed;
}

/** Records an import in the log. */
async function recordImport(
  { database, clock }: CommandParts,
  { accounts, keys }: PlacedAccounts,
): Promise<void> {
  await database.batch([
    recordStatement(shellBy(), {
      operation: "import",
      about: {},
      atMs: clock.now(),
      after: { accounts: accounts.length, keys: keys.length },
    }),
  ]);
}

function nobody(): Promise<never> {
  return Promise.reject(new TypeError("No database is open"));
}

function textOf(report: Report): string {
  const { source, written, upstreams, routes, aliases, accounts, keys, notices } = report;
  const parts = [
    heading("Upstreams", upstreams, ({ name, url, dialect, keys, state }) => ({
      upstream: name,
      url,
      dialect,
      key: keys,
      state,
    })),
    heading("Models", routes, ({ id, targets, prices, prices_from, state }) => ({
      model: id,
      targets: describeTargets(targets),
      "in/cached/out per M": `${prices.input} / ${prices.cached} / ${prices.output}`,
      prices: prices_from,
      state,
    })),
    heading("Aliases", aliases, (alias) => ({ ...alias })),
    heading("Accounts", accounts, (account) => ({ ...account, name: account.name || null })),
    heading("Keys", keys, (key) => ({
      account: key.account,
      name: key.name || null,
      key: key.hint,
      models: key.models ?? "all",
      budget: key.budget_period === null ? key.budget : `${key.budget} a ${key.budget_period}`,
      expires: key.expires_at === null ? null : time(Date.parse(key.expires_at)),
      state: key.state,
    })),
    newKeys(keys),
    noticesText("Check", notices.filter(({ kind }) => kind === "check")),
    noticesText("Not imported", notices.filter(({ kind }) => kind === "not imported")),
    written
      ? afterwards(report)
      : `Nothing was written. To import this from ${source}, add --write\n`,
  ];
  return parts.filter((part) => part !== "").join("\n");
}

function heading<T>(
  name: string,
  rows: readonly T[],
  row: (one: T) => Record<string, unknown>,
): string {
  return rows.length === 0 ? "" : `${name}\n\n${table(rows.map(row))}`;
}

function newKeys(keys: PlacedAccounts["keys"]): string {
  const issued = keys.filter(({ key }) => key !== undefined);
  if (issued.length === 0) return "";
  return `New keys. Copy them now: you won't be able to see them again.\n\n${
    table(issued.map(({ account, name, key }) => ({ account, name: name || null, key })))
  }`;
}

function noticesText(name: string, notices: readonly Notice[]): string {
  return notices.length === 0
    ? ""
    : `${name}\n\n${notices.map(({ subject, text }) => `  ${subject}: ${text}\n`).join("")}`;
}

function afterwards({ settings_file, variables, accounts }: Report): string {
  const poor = accounts.some(({ state, credits }) => state === "new" && credits === 0);
  return `Imported into ${settings_file}${accounts.length === 0 ? "" : " and the database"}.\n` +
    (variables.length === 0
      ? ""
      : `Set these environment variables for the gateway: ${variables.join(", ")}\n`) +
    (poor
      ? "Accounts without credits can send no requests. Grant some with: sluice credits grant\n"
      : "") +
    "Check it with: sluice config check && sluice doctor\n" +
    "A running gateway applies it with: sluice reload\n";
}
