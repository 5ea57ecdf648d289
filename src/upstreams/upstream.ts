import { DEFAULT_UPSTREAM, SIMULATOR } from "../catalog/mod.ts";
import {
  type Secret,
  type Settings,
  type UpstreamSettings,
  upstreamSettings,
} from "../config/mod.ts";
import { createHash } from "node:crypto";
import type { CoarseTimers } from "../platform/mod.ts";
import { type DialectName, DIALECTS, type JsonObject, type Shaping } from "../dialects/mod.ts";
import { Health } from "./health.ts";
import { HttpTransport } from "./http_transport.ts";
import { quirksByHost } from "./presets.ts";
import { KeyPool, type UpstreamKey } from "./key_pool.ts";
import { QUIRKS } from "./quirks.ts";
import type { RoutingMemory } from "./routing.ts";
import { simulatorTransport } from "./simulator_transport.ts";
import type { Transport } from "./transport.ts";

/** A configured upstream. */
export interface Upstream {
  readonly name: string;
  readonly dialect: DialectName;
  readonly shaping: Shaping;
  /** Changes a finished request body to what this upstream takes. */
  adjust(body: JsonObject): JsonObject;
  /** Headers of every request; without a key if there are several. */
  readonly headers: Readonly<Record<string, string>>;
  /** Undefined unless there are several. */
  readonly keys: KeyPool | undefined;
  readonly send: Transport;
  readonly health: Health;
  /** Maximum time to the first output while another target can be asked. */
  readonly headersMs: number;
  /** Takes secrets and addresses out of what an upstream says, before a caller sees it. */
  redact(text: string): string;
  close(): Promise<void>;
}

/** What an upstream needs from outside. */
export interface UpstreamParts {
  readonly now: () => number;
  readonly timers: CoarseTimers;
  /** What is remembered of its keys. */
  readonly memory: RoutingMemory;
}

/** Makes an upstream from its settings. `caCert` may be the path of a PEM file. */
export async function httpUpstream(
  name: string,
  settings: UpstreamSettings,
  { now, timers, memory }: UpstreamParts,
): Promise<Upstream> {
  const transport = new HttpTransport({
    url: settings.url,
    timeouts: settings.timeouts,
    caCert: await readCertificate(settings.caCert),
    timers,
  });
  const { host, hostname } = new URL(settings.url);
  const quirk = settings.quirks === undefined ? undefined : QUIRKS[settings.quirks];
  const keys = keysOf(settings);
  const pool = keys.length > 1 ? keyPool(name, settings, memory) : undefined;
  return {
    name,
    dialect: settings.dialect,
    shaping: quirk?.shaping ?? {},
    adjust: quirk?.adjust ?? unchanged,
    headers: headersOf(settings, pool === undefined ? keys[0]?.key : undefined),
    keys: pool,
    send: transport.send,
    health: new Health(now, pool, memory.activityOf(name)),
    headersMs: settings.timeouts.headersMs,
    redact: redactor([
      ...secretsOf(keys.map(({ key }) => key), settings.headers),
      ...[host, hostname].map((text): [string, string] => [text, "[upstream]"]),
    ]),
    close: () => transport.close(),
  };
}

/** The built-in upstream. */
export function simulatorUpstream(
  { now, memory }: Pick<UpstreamParts, "now" | "memory">,
): Upstream {
  return {
    name: SIMULATOR,
    dialect: "chat",
    shaping: {},
    adjust: unchanged,
    headers: {},
    keys: undefined,
    send: simulatorTransport,
    health: new Health(now, undefined, memory.activityOf(SIMULATOR)),
    headersMs: Infinity,
    redact: (text) => text,
    close: () => Promise.resolve(),
  };
}

/**
 * Every upstream that the settings configure, by name; `default` is what `upstream.url` says. Quirks that are not set are
 * those of the service whose host name the URL has.
 */
export function configuredUpstreams(
  settings: Settings,
): Readonly<Record<string, UpstreamSettings>> {
  const { url, key, dialect, quirks, discover } = settings.upstream;
  const all: Record<string, UpstreamSettings> = {};
  if (url !== undefined) {
    const byDefault = upstreamSettings.parse({ url, dialect, quirks, discover });
    all[DEFAULT_UPSTREAM] = key === undefined ? byDefault : { ...byDefault, key };
  }
  Object.assign(all, settings.upstreams);
  return Object.fromEntries(
    Object.entries(all).map(([name, one]) => [name, withQuirks(one)]),
  );
}

function withQuirks(settings: UpstreamSettings): UpstreamSettings {
  const quirks = settings.quirks ?? quirksByHost(settings.url, settings.dialect);
  return quirks === undefined ? settings : { ...settings, quirks };
}

const unchanged = (body: JsonObject) => body;

/** An API key, and its share of the requests. */
type WeightedKey = NonNullable<UpstreamSettings["keys"]>[number];

/** The keys of an upstream's settings, however they are written. */
export function keysOf({ key, keys }: UpstreamSettings): readonly WeightedKey[] {
  return keys ?? (key === undefined ? [] : [{ key, weight: 1 }]);
}

function keyPool(name: string, settings: UpstreamSettings, memory: RoutingMemory): KeyPool {
  const keys = keysOf(settings).map(({ key, weight }, at): UpstreamKey => {
    const id = createHash("sha256").update(key.reveal()).digest("base64").slice(0, 22);
    return {
      id,
      position: at + 1,
      weight,
      headers: headersOf(settings, key),
      health: memory.keyHealth(name, id),
    };
  });
  return new KeyPool(keys, memory.turnsOfKeys(name));
}

function headersOf(
  { dialect, headers }: UpstreamSettings,
  key: Secret | undefined,
): Record<string, string> {
  const sent: Record<string, string> = {
    "content-type": "application/json",
    "user-agent": "sluice",
  };
  if (key !== undefined) Object.assign(sent, DIALECTS[dialect].back.authorization(key.reveal()));
  for (const [name, value] of Object.entries(headers)) sent[name.toLowerCase()] = value;
  return sent;
}

function secretsOf(
  keys: readonly Secret[],
  headers: Readonly<Record<string, string>>,
): [string, string][] {
  const values = [...keys.map((key) => key.reveal()), ...Object.values(headers)];
  return values.filter((value) => value.length >= 6)
    .toSorted((a, b) => b.length - a.length) // one may begin with another
    .map((value) => [value, "[secret]"]);
}

function redactor(replacements: readonly [string, string][]): (text: string) => string {
  return (text) =>
    replacements.reduce((kept, [from, to]) => kept.replaceAll(from, to), text)
      .replaceAll(/\bsk-[A-Za-z0-9_*.-]{6,}/g, "[secret]");
}

async function readCertificate(value: string | undefined): Promise<string | undefined> {
  if (value === undefined || value.includes("-----BEGIN")) return value;
  return await Deno.readTextFile(value);
}
