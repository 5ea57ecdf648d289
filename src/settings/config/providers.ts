import { closestString } from "../../ground/std/mod.ts";
import {
  fillUrl,
  findKnownProvider,
  type Hole,
  HOLES,
  type KnownProvider,
  knownProviders,
  urlPartOf,
} from "../known_providers/mod.ts";
import { CHAIN_VARIABLES } from "./credential_settings.ts";
import type { Faults } from "./faults.ts";
import { define, isRecord } from "./settings_file.ts";

/** Stands for an address that there is an error about already. */
const NOWHERE = "http://unknown.invalid";

/** Where what a provider brings is noted. */
interface Notes {
  readonly env: Readonly<Record<string, string>>;
  readonly faults: Faults;
  /** Whether a key that is missing is an error. */
  readonly isServing: boolean;
  /** Notes a variable that is not set. */
  readonly missing: (name: string) => void;
  /** Notes where a value came from. */
  readonly origin: (path: readonly string[], origin: string) => void;
}

/**
 * Fills in what upstreams with a `provider` do not set themselves: address, dialect, quirks, the key from the variable that the provider's
 * own tools read, and its kind of credentials.
 *
 * @param upstreams The upstreams as they are written, with variables replaced; changed.
 */
export function applyProviders(upstreams: unknown, notes: Notes): void {
  if (!isRecord(upstreams)) return;
  for (const [name, written] of Object.entries(upstreams)) {
    if (!isRecord(written)) continue;
    const { provider } = written;
    if (typeof provider === "string" && provider !== "") {
      applyProvider(name, written, provider, notes);
    }
    if (isRecord(written.credentials)) addChain(written.credentials, notes.env);
  }
}

function applyProvider(
  name: string,
  written: Record<string, unknown>,
  id: string,
  notes: Notes,
): void {
  const provider = findKnownProvider(id);
  if (provider !== undefined) {
    apply(provider, written, ["upstreams", name], notes);
    return addScope(provider, written.credentials);
  }
  const near = closestString(id, knownProviders().map((one) => one.id));
  notes.faults.addOf(
    ["upstreams", name, "provider"],
    `unknown provider '${id.slice(0, 60)}'; did you mean '${near}'? ` +
      "`sluice providers` lists all; without a provider, set `url`",
  );
  define(written, "url", written.url ?? NOWHERE); // one error is enough
}

/** Adds what the usual chain of a cloud reads from the environment. */
function addChain(credentials: Record<string, unknown>, env: Notes["env"]): void {
  const names = CHAIN_VARIABLES[String(credentials.kind)];
  if (names === undefined || credentials.environment !== undefined) return;
  const found = names.flatMap((name) => env[name] ? [[name, env[name]]] : []);
  define(credentials, "environment", Object.fromEntries(found));
}

function addScope({ credentials: kind, scope }: KnownProvider, credentials: unknown): void {
  if (scope === undefined || !isRecord(credentials)) return;
  if (credentials.kind === kind && credentials.scope === undefined) {
    define(credentials, "scope", scope);
  }
}

function apply(
  provider: KnownProvider,
  written: Record<string, unknown>,
  path: readonly string[],
  notes: Notes,
): void {
  const set = (setting: string, value: unknown, origin = `provider ${provider.id}`) => {
    if (written[setting] !== undefined || value === undefined) return;
    define(written, setting, value);
    notes.origin([...path, setting], origin);
  };
  for (const hole of HOLES) {
    const variable = provider.holes[hole];
    const value = written[hole];
    if (typeof value === "string") define(written, hole, urlPartOf(value));
    else if (variable !== undefined && notes.env[variable]) {
      set(hole, urlPartOf(notes.env[variable]), `environment ${variable}`);
    }
  }
  if (written.url === undefined) set("url", urlOf(provider, written, path, notes));
  set("dialect", provider.dialect);
  const isOther = written.dialect !== provider.dialect &&
    !provider.otherDialects.some((one) => one === written.dialect);
  if (!isOther) set("quirks", provider.quirks);
  if (["key", "keys", "credentials"].some((one) => written[one] !== undefined)) return;
  const variable = provider.keyVariables.find((one) => notes.env[one]);
  if (variable !== undefined) set("key", notes.env[variable], `environment ${variable}`);
  else if (provider.credentials !== undefined) set("credentials", { kind: provider.credentials });
  else if (provider.keyVariables[0] !== undefined && !isLocal(String(written.url))) {
    notes.missing(provider.keyVariables[0]);
    if (!notes.isServing) return;
    notes.faults.addOf(
      path,
      `${provider.title} needs a key: set ${
        provider.keyVariables.join(" or ")
      } in the environment, or \`key\``,
    );
  }
}

function urlOf(
  provider: KnownProvider,
  written: Record<string, unknown>,
  path: readonly string[],
  { faults }: Notes,
): string {
  const values: Partial<Record<Hole, string>> = {};
  for (const hole of HOLES) {
    const value = written[hole];
    if (typeof value === "string") values[hole] = value;
  }
  const { url, missing } = fillUrl(provider, values);
  for (const hole of missing) {
    const variable = provider.holes[hole];
    faults.addOf(
      [...path, hole],
      `${provider.title} needs \`${hole}\`: its address is ${provider.url}` +
        (variable === undefined ? "" : ` (or set ${variable} in the environment)`),
    );
  }
  return missing.length === 0 ? url : NOWHERE;
}

function isLocal(url: string): boolean {
  return ["127.0.0.1", "localhost", "[::1]"].includes(URL.parse(url)?.hostname ?? "");
}
