import { type Config, Secret } from "../settings/config/mod.ts";

/** Settings as they are sent to another thread: plain data, secrets revealed and marked. */
export interface SentConfig {
  readonly config: unknown;
}

/** Names the only member of an object that stands for a secret. No setting has such a name. */
const SECRET = "\u0000secret";

/** Makes settings ready to be sent to another thread of this process. */
export function sentConfig(config: Config): SentConfig {
  return { config: encoded({ ...config, fileText: undefined }) };
}

/** The settings that another thread has sent. Where they are written in the file is left out. */
export function receivedConfig({ config }: SentConfig): Config {
  return decoded(config) as Config; // what `sentConfig` was given
}

function encoded(value: unknown): unknown {
  if (value instanceof Secret) return { [SECRET]: value.reveal() };
  return mapped(value, encoded);
}

function decoded(value: unknown): unknown {
  if (isPlain(value) && typeof value[SECRET] === "string") return new Secret(value[SECRET]);
  return mapped(value, decoded);
}

function mapped(value: unknown, map: (inner: unknown) => unknown): unknown {
  if (Array.isArray(value)) return value.map(map);
  if (!isPlain(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, map(inner)]));
}

function isPlain(value: unknown): value is Record<string, unknown> {
  if (typeof value !== "object" || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}
