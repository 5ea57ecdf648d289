import type { Command } from "commander";
import {
  findKnownProvider,
  type KnownProvider,
  knownProviders,
} from "../../settings/known_providers/mod.ts";
import { markdownTable } from "../../settings/config/mod.ts";
import { closestString } from "../../ground/std/mod.ts";
import { type CommandContext, UsageError } from "./context.ts";
import { argument, defineCommand, option } from "./define_command.ts";
import { table } from "./format.ts";

interface Options {
  readonly name?: string;
  readonly markdown?: boolean;
}

/** `sluice providers [NAME]` */
export function providersCommand(program: Command, context: CommandContext): void {
  defineCommand<Options>(program, context, {
    name: "providers",
    description: "list the known providers, or show one",
    opens: "place",
    arguments: [argument("[name]", "provider, such as groq")],
    options: [option("--markdown", "print the page docs/providers.md")],
    help: '\nIn the settings: "upstreams": { "groq": { "provider": "groq", "discover": true } }',
    run({ options, print }) {
      const { name } = options;
      if (options.markdown) return context.out(providersPage());
      if (name === undefined) return print(knownProviders(), (all) => table(all.map(rowOf)));
      const provider = findKnownProvider(name);
      if (provider === undefined) {
        const near = closestString(name, knownProviders().map(({ id }) => id));
        throw new UsageError(`unknown provider '${name}'; did you mean ${near}?`);
      }
      print(provider, (one) => describe(one, context.env));
    },
  });
}

function rowOf({ id, title, dialect, otherDialects, keyVariables, url }: KnownProvider) {
  return {
    provider: id,
    name: title,
    dialects: [dialect, ...otherDialects].join(", "),
    key: keyVariables[0] ?? null,
    url,
  };
}

/** One provider, and what to write. */
function describe(provider: KnownProvider, env: CommandContext["env"]): string {
  const { id, title, url, dialect, otherDialects, quirks, keyVariables, holes, source } = provider;
  const rows: [string, string | undefined][] = [
    ["name", title],
    ["other IDs", provider.aliases.join(", ") || undefined],
    ["address", url],
    ["dialects", [dialect, ...otherDialects].join(", ")],
    ["quirks", quirks],
    [
      "key",
      keyVariables.map((name) => env[name] ? `${name} (set)` : name).join(" or ") || undefined,
    ],
    ["credentials", provider.credentials && `of ${provider.credentials}, where no key is set`],
    ["documented", source],
  ];
  const listed = rows.flatMap(([name, value]) =>
    value === undefined ? [] : [`${name.padEnd(12)} ${value}`]
  );
  const parts = Object.entries(holes).map(([part, variable]) => [part, `\${${variable}}`]);
  const written = { provider: id, ...Object.fromEntries(parts), discover: true };
  return `${listed.join("\n")}\n\n"upstreams": { ${JSON.stringify(id)}: ${
    JSON.stringify(written)
  } }\n`;
}

/**
 * Writes the page of all providers.
 *
 * @returns Markdown, formatted as `deno fmt` does.
 */
export function providersPage(): string {
  const rows = knownProviders().map((one) => [
    `\`${one.id}\`${one.aliases.map((alias) => `, \`${alias}\``).join("")}`,
    one.source === "" ? one.title : `[${one.title}](${one.source})`,
    [one.dialect, ...one.otherDialects].join(", "),
    [
      one.keyVariables.map((name) => `\`${name}\``).join(" or "),
      one.credentials && `credentials of ${one.credentials}`,
    ].filter(Boolean).join(", or "),
    `\`${one.url}\``,
  ]);
  const header = ["provider", "name", "dialects", "key", "address"];
  return `${INTRODUCTION}\n${markdownTable([header, ...rows])}`;
}

const INTRODUCTION = `# Providers

Use this page to find what to write for a service that Sluice knows by name. Its address, dialect and [quirks](dialects.md#quirks) follow from
\`provider\`; the key is read from the variable that the provider's own tools read.

\`\`\`jsonc
{
  "upstreams": {
    "groq": { "provider": "groq", "key": "\${GROQ_API_KEY}", "discover": true }
  }
}
\`\`\`

\`sluice init\` writes an upstream for each provider whose variable is set; \`sluice providers NAME\` shows one. Any setting of an
[upstream](upstreams.md) can be given besides, and wins. Parts in braces are settings: \`resource\`, \`project\`, \`region\`. Credentials other
than keys are in [upstreams.md](upstreams.md#credentials).

The data is that of [models.dev](https://models.dev) (MIT), with addresses and departures that it lacks.
`;
