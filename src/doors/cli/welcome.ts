import type { Catalog } from "../../settings/catalog/mod.ts";
import { type Config, Secret } from "../../settings/config/mod.ts";
import { DIALECT_NAMES, type DialectName, DIALECTS } from "../../wire/dialects/mod.ts";
import type { ServedGateway } from "./context.ts";
import { commandText, shellWord } from "./format.ts";
import { settingsPlaceText } from "./local_places.ts";
import { VERSION } from "../../ground/platform/mod.ts";

/** What the start-up text tells. */
interface Welcome extends Pick<ServedGateway, "catalog" | "unlisted" | "firstKey"> {
  readonly config: Config;
  /** Base address shown to users. */
  readonly address: string;
  /** Where it listens. */
  readonly listening: string;
  readonly place: string;
  readonly ownerEmail: string;
  /** Of a link that signs the owner in to the console once; made with the first key. */
  readonly signInToken: string | undefined;
  /** Upstreams that are there and not used, for people. */
  readonly found: readonly string[];
}

/** The start-up text: where, who answers, and at the first start the key and a call that works. */
export function welcome(
  welcome: Welcome,
): string {
  const { config, catalog, address, listening, place, ownerEmail, firstKey, signInToken } = welcome;
  const lines = [
    `Sluice ${VERSION} is listening on ${listening}${
      listening === address ? "" : ` (public address: ${address})`
    }`,
    "",
    `  database  ${place}`,
    `            In ${config.settings.data}: ${config.places.data.why}.`,
    `  settings  ${settingsPlaceText(config)}`,
    ...answering(config, catalog),
    ...modelLines(welcome),
    ...welcome.found.map((one) => `            Found ${one}: run sluice init to use it.`),
  ];
  const ownKey = config.settings.owner.key instanceof Secret;
  if (firstKey !== undefined) {
    lines.push(
      `  owner     ${ownerEmail}`,
      `  API key   ${firstKey}`,
      "            Save it now: it is not shown again. Create more: " +
        commandText("sluice key create", { options: { account: ownerEmail } }),
    );
  }
  lines.push(
    signInToken === undefined
      ? `  console   ${address}/console/ (sign-in link: sluice account link)`
      : `  console   ${address}/console/link/${signInToken}`,
    ...(signInToken === undefined ? [] : [
      "            The link signs you in once, within a day. For another: sluice account link",
    ]),
  );
  const model = catalog.example("svc-k2");
  if (model !== undefined && (firstKey !== undefined || ownKey)) {
    const call = { address, key: firstKey ?? "$SLUICE_OWNER_KEY", model };
    lines.push("", "Try it, in any of the dialects:");
    for (const dialect of DIALECT_NAMES) lines.push("", `  ${curl(call, dialect)}`);
  }
  return `${lines.join("\n")}\n\n`;
}

function answering(config: Config, catalog: Catalog): string[] {
  const targets = new Set(
    catalog.routes.flatMap((route) => route.targets.map(({ upstream }) => upstream)),
  );
  const names = [...targets].map((name) => {
    const own = name === "default" ? config.settings.upstream : config.settings.upstreams[name];
    return own?.url === undefined ? name : `${name} (${new URL(own.url).host}, ${own.dialect})`;
  });
  if (targets.size === 0) {
    return ["  upstream  none: no route has a target (sluice init finds upstreams)"];
  }
  if (!targets.has("simulator")) return [`  upstream  ${names.join(", ")}`];
  return [
    `  upstream  ${
      targets.size === 1 ? "none configured: the built-in simulator replies" : names.join(", ")
    }`,
    "            Simulated replies carry the header X-Sluice-Simulated. For a real model set",
    "            SLUICE_UPSTREAM_URL and SLUICE_UPSTREAM_KEY, or write a sluice.jsonc.",
  ];
}

/** Which models are served by their own names, and by which upstream they are not. */
function modelLines({ catalog: { routes }, unlisted }: Welcome): string[] {
  const listed = routes.filter(({ origin }) => origin === "known" || origin === "guess");
  const names = listed.slice(0, MAX_NAMES).map(({ id }) => id).join(", ");
  const rest = listed.length - MAX_NAMES;
  return [
    ...(listed.length === 0
      ? []
      : [`  models    ${names}${rest > 0 ? ` and ${rest} more` : ""} (sluice models)`]),
    ...unlisted.map((name) =>
      `            Upstream ${name} does not list its models: ${
        routes.some(({ origin }) => origin === "built-in")
          ? "it is sent the names of the built-in routes."
          : "name them in routes."
      }`
    ),
  ];
}

const MAX_NAMES = 6;

const MESSAGES = [{ role: "user", content: "Hello" }];

/** The smallest request of each dialect, besides its model. */
const SAMPLES: Readonly<Record<DialectName, object>> = {
  chat: { messages: MESSAGES },
  messages: { max_tokens: 200, messages: MESSAGES },
  responses: { input: "Hello" },
};

/** One line that works as pasted. */
function curl(
  { address, key, model }: { address: string; key: string; model: string },
  dialect: DialectName,
): string {
  const quote = key.startsWith("$") ? '"' : "'";
  const header = dialect === "messages" ? `X-API-Key: ${key}` : `Authorization: Bearer ${key}`;
  const body = { model, ...SAMPLES[dialect] };
  return `curl ${
    shellWord(`${address}${DIALECTS[dialect].front.path}`).replace(/^'([\w:/.[\]-]+)'$/, "$1")
  } -H ${quote}${header}${quote} ` +
    `-H 'Content-Type: application/json' -d ${shellWord(JSON.stringify(body))}`;
}
