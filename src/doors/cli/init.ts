import type { Command } from "commander";
import { BUILTIN_ROUTES, Catalog, type Target } from "../../settings/catalog/mod.ts";
import {
  defaultSettingsPlace,
  proxiesIn,
  settings,
  settingsJsonSchema,
  upstreamSettings,
} from "../../settings/config/mod.ts";
import { checkTarget, writeFile } from "../../ground/files/mod.ts";
import { basename, dirname, joinPath, resolvePath } from "../../ground/std/mod.ts";
import { type Discovered, discoverUpstreams, probeUpstream } from "../../requests/upstreams/mod.ts";
import { type CommandContext, UsageError } from "./context.ts";
import { defineCommand, option } from "./define_command.ts";
import { table } from "./format.ts";
import { modelRow } from "./models.ts";
import { exists } from "./settings.ts";

interface Options {
  readonly yes?: boolean;
  readonly force?: boolean;
  readonly here?: boolean;
}

const FILE = "sluice.jsonc";
const SERVICE_PATIENCE_MS = 10_000;
/** Models that are shown before the file is written. */
const MAX_SHOWN = 20;
const SCHEMA_FILE = "sluice.schema.json";

/** `sluice init` */
export function initCommand(program: Command, context: CommandContext): void {
  defineCommand<Options>(program, context, {
    name: "init",
    description: "find upstreams and write them to the settings file",
    options: [
      option("--yes", "do not ask: use every upstream found"),
      option("--force", "replace an existing settings file"),
      option("--here", "write into this directory instead of your own settings directory"),
    ],
    help:
      "\nLooks for Ollama, vLLM and LM Studio on their default local ports, and for API keys of all known\n" +
      "providers in the variables that their own tools read, such as OPENAI_API_KEY: sluice providers.\n" +
      "Keys stay in the environment: the file refers to the variables by name.\n" +
      "\nExample:\n  sluice init --yes && sluice doctor",
    json: false,
    run: ({ options }) => run(context, options),
  });
}

async function run(context: CommandContext, options: Options): Promise<void> {
  const { env, now, out } = context;
  const file = await settingsPath(context, options);
  const directory = dirname(file);
  if (!options.force && await exists(file)) {
    throw new Error(`${file} already exists: edit it, or replace it with --force`);
  }
  await checkTarget(file);
  const found = await discoverUpstreams({ env, now });
  for (const one of found) out(`Found ${describe(one)}.\n`);
  if (found.length === 0) {
    out(
      "No upstreams found. The file contains an example; until you edit it, the simulator replies.\n",
    );
  }
  const agreedOn = found.filter((one) => agreed(context, options, `Use ${one.preset.title}?`));
  const taken = await Promise.all(agreedOn.map((one) => withModels(one, env, now)));
  out(servedText(taken));
  if (!agreed(context, options, `Write ${basename(file)} and ${SCHEMA_FILE} into ${directory}?`)) {
    return;
  }
  await Deno.mkdir(directory, { recursive: true, mode: 0o700 });
  await writeFile(file, settingsText(taken), { mode: 0o666 });
  await writeFile(
    joinPath(directory, SCHEMA_FILE),
    `${JSON.stringify(settingsJsonSchema(), null, 2)}\n`,
    { mode: 0o666 },
  );
  out(
    `Wrote ${file}. Next: sluice reload if a gateway is running, otherwise sluice; then sluice doctor\n`,
  );
}

/** The file that commands started in this directory read, or would read if it existed. */
async function settingsPath(
  { directory, env }: CommandContext,
  { here }: Options,
): Promise<string> {
  if (here) return resolvePath(directory, FILE);
  const { SLUICE_CONFIG: named } = env;
  if (named) return resolvePath(directory, named);
  return (await defaultSettingsPlace({ directory, env })).path;
}

/** A service's models are asked for with the key that its owner has just agreed to use. */
async function withModels(
  found: Discovered,
  env: CommandContext["env"],
  now: () => number,
): Promise<Discovered> {
  const { preset } = found;
  if (preset.keyVariable === undefined) return found;
  const { url, dialect, name } = preset;
  const own = {
    ...upstreamSettings.parse({ url, dialect, key: env[preset.keyVariable] }),
    proxies: proxiesIn(env),
  };
  const { models } = await probeUpstream(name, own, { now, patienceMs: SERVICE_PATIENCE_MS });
  return { preset, models };
}

function agreed(context: CommandContext, { yes }: Options, question: string): boolean {
  if (yes) return true;
  const answer = context.confirm(question);
  if (answer === undefined) {
    throw new UsageError("cannot ask for confirmation without a terminal: use --yes");
  }
  return answer;
}

/** Where an upstream was found, for people. */
export function describe({ preset, models }: Discovered): string {
  if (preset.keyVariable !== undefined) {
    return `an API key for ${preset.title} in ${preset.keyVariable}`;
  }
  const names = models.map(({ id }) => id);
  return `${preset.title} at ${new URL(preset.url).host} with ${names.slice(0, 3).join(", ")}` +
    (names.length > 3 ? ` and ${names.length - 3} more` : "");
}

/** What the file makes the gateway serve, and at which price, for people. */
function servedText(found: readonly Discovered[]): string {
  const upstreams = Object.fromEntries(
    found.map(({ preset: { name, url, dialect } }) => [name, { url, dialect, discover: true }]),
  );
  const routes = Object.fromEntries(
    namedRoutes(found).map(([id, targets]) => [id, { targets }]),
  );
  const listings = new Map(
    found.flatMap(({ preset: { name }, models }) => models.length === 0 ? [] : [[name, models]]),
  );
  const catalog = new Catalog(settings.parse({ upstreams, routes }), listings);
  const shown = catalog.routes.slice(0, MAX_SHOWN);
  if (shown.length === 0) return "";
  const rest = catalog.routes.length - shown.length;
  return `\nThese models will be served. Credits are per million tokens:\n\n${
    table(shown.map(modelRow))
  }${rest > 0 ? `… and ${rest} more: sluice models\n` : ""}\n`;
}

/** Writes a commented settings file over these upstreams, whose lists of models are not trusted. */
export function settingsText(found: readonly Discovered[]): string {
  return `{
  "$schema": "./${SCHEMA_FILE}",

  // Who answers. \${NAME} is read from the environment. With "discover", each model that an upstream
  // lists is served by its own name: sluice models.
  "upstreams": {
${found.length === 0 ? EXAMPLE_UPSTREAM : found.map(upstreamText).join(",\n")}
  },

  // Models under other names, with limits and prices of your own. Targets are tried in this order.
  "routes": {
${routesText(found)}
  },

  // Other names for models: exact, or a prefix ending in *.
  "aliases": {
    // "gpt-*": ${JSON.stringify(found.flatMap(({ models }) => models)[0]?.id ?? "svc-k3")}
  }

  // Everything else has a default: sluice config show. All settings: docs/settings.md.
}
`;
}

const EXAMPLE_UPSTREAM =
  `    // "local": { "url": "http://127.0.0.1:11434/v1", "dialect": "chat", "discover": true }`;

function upstreamText({ preset }: Discovered): string {
  const { name, url, dialect, quirks, provider, keyVariable, source } = preset;
  const parts = Object.entries(provider?.holes ?? {}).map((
    [part, variable],
  ) => [part, `\${${variable}}`]);
  const written = {
    ...(provider === undefined
      ? { url, dialect, ...(quirks !== undefined && { quirks }) }
      : { provider: provider.id, ...Object.fromEntries(parts) }),
    ...(keyVariable !== undefined && { key: `\${${keyVariable}}` }),
    discover: true,
  };
  const body = Object.entries(written).map(([key, value]) =>
    `      "${key}": ${JSON.stringify(value)}`
  );
  return `    // ${source}\n    "${name}": {\n${body.join(",\n")}\n    }`;
}

function routesText(found: readonly Discovered[]): string {
  const named = namedRoutes(found).map(([id, targets]) =>
    `    "${id}": { "targets": [${
      targets.map(({ upstream, model }) =>
        `{ "upstream": "${upstream}", "model": ${JSON.stringify(model)} }`
      ).join(", ")
    }] }`
  );
  if (named.length > 0) return named.join(",\n");
  const [first] = found.filter(({ models }) => models.length > 0);
  const [upstream, model] = [first?.preset.name ?? "local", first?.models[0]?.id ?? "llama3"];
  return `    // "house-small": { "targets": [{ "upstream": "${upstream}", "model": ${
    JSON.stringify(model)
  } }] }`;
}

/** The built-in routes that upstreams have the very model of: svc-k3 is kimi-k3 elsewhere. */
function namedRoutes(found: readonly Discovered[]): [string, Target[]][] {
  return Object.keys(BUILTIN_ROUTES).flatMap((id): [string, Target[]][] => {
    const named = id.replace(/^svc-/, "");
    const targets = found.flatMap(({ preset, models }) => {
      const model = models.find((one) =>
        one.id.split("/").at(-1)!.toLowerCase().replace(/^kimi-/, "") === named
      );
      return model === undefined ? [] : [{ upstream: preset.name, model: model.id }];
    });
    return targets.length === 0 ? [] : [[id, targets]];
  });
}
