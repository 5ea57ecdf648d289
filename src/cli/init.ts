import type { Command } from "commander";
import { BUILTIN_ROUTES } from "../catalog/mod.ts";
import { defaultSettingsPlace, settingsJsonSchema, upstreamSettings } from "../config/mod.ts";
import { basename, dirname, joinPath, resolvePath } from "../std/mod.ts";
import { type Discovered, discoverUpstreams, probeUpstream } from "../upstreams/mod.ts";
import { type CommandContext, UsageError } from "./context.ts";
import { defineCommand, option } from "./define_command.ts";
import { exists } from "./settings.ts";

interface Options {
  readonly yes?: boolean;
  readonly force?: boolean;
  readonly here?: boolean;
}

const FILE = "sluice.jsonc";
const SERVICE_PATIENCE_MS = 10_000;
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
      "\nLooks for Ollama, vLLM and LM Studio on their default local ports, and for API keys in\n" +
      "MOONSHOT_API_KEY, ANTHROPIC_API_KEY, OPENAI_API_KEY, OPENROUTER_API_KEY, DEEPSEEK_API_KEY.\n" +
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
  const found = await discoverUpstreams({ env, now });
  for (const one of found) out(`Found ${describe(one)}.\n`);
  if (found.length === 0) {
    out(
      "No upstreams found. The file contains an example; until you edit it, the simulator replies.\n",
    );
  }
  const agreedOn = found.filter((one) => agreed(context, options, `Use ${one.preset.title}?`));
  const taken = await Promise.all(agreedOn.map((one) => withModels(one, env, now)));
  if (!agreed(context, options, `Write ${basename(file)} and ${SCHEMA_FILE} into ${directory}?`)) {
    return;
  }
  await Deno.mkdir(directory, { recursive: true, mode: 0o700 });
  await Deno.writeTextFile(file, settingsText(taken));
  await Deno.writeTextFile(
    joinPath(directory, SCHEMA_FILE),
    `${JSON.stringify(settingsJsonSchema(), null, 2)}\n`,
  );
  out(`Wrote ${file}. Next: sluice doctor\n`);
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
  const settings = upstreamSettings.parse({ url, dialect, key: env[preset.keyVariable] });
  const { models } = await probeUpstream(name, settings, { now, patienceMs: SERVICE_PATIENCE_MS });
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
  return `${preset.title} at ${new URL(preset.url).host} with ${models.slice(0, 3).join(", ")}` +
    (models.length > 3 ? ` and ${models.length - 3} more` : "");
}

/** A commented settings file over these upstreams. */
function settingsText(found: readonly Discovered[]): string {
  return `{
  "$schema": "./${SCHEMA_FILE}",

  // Who answers. \${NAME} is read from the environment.
  "upstreams": {
${found.length === 0 ? EXAMPLE_UPSTREAM : found.map(upstreamText).join(",\n")}
  },

  // The upstreams of each model, in failover order, and the model's name there.
  "routes": {
${found.length === 0 ? EXAMPLE_ROUTE : routesText(found)}
  },

  // Other names for models: exact, or a prefix ending in *.
  "aliases": {
    // "gpt-*": "svc-k3"
  }

  // Everything else has a default: sluice config show. All settings: docs/settings.md.
}
`;
}

const EXAMPLE_UPSTREAM =
  `    // "local": { "url": "http://127.0.0.1:11434/v1", "dialect": "chat" }`;
const EXAMPLE_ROUTE =
  `    // "svc-k3": { "targets": [{ "upstream": "local", "model": "llama3" }] }`;

function upstreamText({ preset }: Discovered): string {
  const { name, url, dialect, quirks, keyVariable, source } = preset;
  const settings = {
    url,
    ...(keyVariable !== undefined && { key: `\${${keyVariable}}` }),
    dialect,
    ...(quirks !== undefined && { quirks }),
  };
  const body = Object.entries(settings).map(([key, value]) => `      "${key}": "${value}"`);
  return `    // ${source}\n    "${name}": {\n${body.join(",\n")}\n    }`;
}

/** Each route at each upstream that told its models. */
function routesText(found: readonly Discovered[]): string {
  const notes = found.map(({ preset, models }) =>
    models.length > 0
      ? `    // Models of ${preset.title}: ${models.slice(0, 12).join(", ")}\n`
      : `    // ${preset.title} did not list its models: add its targets yourself\n`
  );
  const routes = Object.keys(BUILTIN_ROUTES).map((id) => {
    const targets = found.flatMap((one) => {
      const model = modelFor(id, one);
      return model === undefined
        ? []
        : [`{ "upstream": "${one.preset.name}", "model": "${model}" }`];
    });
    return `    ${targets.length === 0 ? "// " : ""}"${id}": { "targets": [${
      targets.join(", ")
    }] }`;
  });
  return notes.join("") + routes.join(",\n");
}

/** Names of models that embed, rank, hear or draw. */
const NOT_FOR_CHAT = /embed|rerank|whisper|tts|bge-|diffusion/i;

/**
 * The model that a route is named after (svc-k3 is kimi-k3 elsewhere). Of a server on this machine else
 * the first that it has; a service's first may be one that does not chat.
 */
function modelFor(route: string, { preset, models }: Discovered): string | undefined {
  const named = route.replace(/^svc-/, "");
  return models.find((model) => model.split("/").at(-1)!.replace(/^kimi-/, "") === named) ??
    (preset.keyVariable === undefined
      ? models.find((model) => !NOT_FOR_CHAT.test(model))
      : undefined);
}
