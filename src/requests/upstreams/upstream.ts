import {
  DEFAULT_UPSTREAM,
  type SentBounds,
  SIMULATOR,
  type Target,
} from "../../settings/catalog/mod.ts";
import {
  proxyOf,
  type Secret,
  type Settings,
  type UpstreamSettings,
  upstreamSettings,
} from "../../settings/config/mod.ts";
import { CoarseTimers } from "../../ground/platform/mod.ts";
import {
  type Back,
  type BackName,
  BACKS,
  type JsonObject,
  type Shaping,
} from "../../wire/dialects/mod.ts";
import { Health } from "./health.ts";
import { HttpTransport } from "./http_transport.ts";
import { quirksByHost } from "./presets.ts";
import { keyId, KeyPool, type UpstreamKey } from "./key_pool.ts";
import { type ModelPath, modelPath } from "./clouds/model_paths.ts";
import type { Bound } from "./bound.ts";
import type { Authorize } from "./credentials/bearer.ts";
import { makeCredentials } from "./credentials/make.ts";
import { withCredentials } from "./credentials/with_credentials.ts";
import { type Adjust, inSteps } from "./quirks/adjust.ts";
import { withoutEmptyTools } from "./quirks/chat_rules.ts";
import { type Quirk, QUIRKS } from "./quirks.ts";
import { RoutingMemory } from "./routing_memory.ts";
import { simulatorTransport } from "./simulator_transport.ts";
import type { Transport } from "./transport.ts";

/** A configured upstream. */
export interface Upstream {
  readonly name: string;
  readonly dialect: BackName;
  readonly shaping: Shaping;
  /** Changes a finished request body to what this upstream takes, and notes what of it the client asked for. */
  readonly adjust: Adjust;
  /** Where a request for a model goes, below the base; `undefined` for the dialect's own path. */
  pathFor(request: { readonly model: string; readonly stream: boolean }): string | undefined;
  /** Beta features that it takes; undefined for all. */
  readonly betas: readonly string[] | undefined;
  /** Headers of every request; without a key if there are several. */
  readonly headers: Readonly<Record<string, string>>;
  /** Whether the gateway itself can send requests: false where only keys that come with requests are used. */
  readonly hasKey: boolean;
  /** Whether requests carry a key, so that another one can be sent; false where they are signed or have a token. */
  readonly takesKeys: boolean;
  /** Whether keys are taken that come with requests. */
  readonly takesForwardedKeys: boolean;
  /** Headers of a request with a key that is not the gateway's, and with no secret of the gateway's. */
  headersWith(key: string): Readonly<Record<string, string>>;
  /** What bounds it, its only key included, and what bounds one of its targets; undefined for nothing. */
  readonly bounds: readonly Bound[];
  boundOf(target: Target): Bound | undefined;
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
  /** Number of serving threads, which share what may be sent. */
  readonly threads?: number | undefined;
}

/** Makes an upstream from its settings. `caCert` may be the path of a PEM file. */
export async function httpUpstream(
  name: string,
  settings: UpstreamSettings,
  { now, timers, memory, threads }: UpstreamParts,
): Promise<Upstream> {
  const proxy = proxyOf(new URL(settings.url), settings);
  const transport = new HttpTransport({
    url: settings.url,
    proxy,
    timeouts: settings.timeouts,
    caCert: await readCertificate(settings.caCert),
    pool: settings.pool,
    timers,
  });
  const { host, hostname } = new URL(settings.url);
  const back: Back = BACKS[settings.dialect];
  const quirk = settings.quirks === undefined ? undefined : QUIRKS[settings.quirks];
  const keys = keysOf(settings);
  const bound = (place: string, bounds: SentBounds | undefined) =>
    memory.boundOf(name, place, bounds && partOf(bounds, threads), timers);
  const pool = keys.length > 1 ? keyPool(name, settings, memory, bound) : undefined;
  const bounds = [
    bound("", settings.limits),
    ...pool === undefined ? keys.map(({ key, limits }) => bound(placeOf(key), limits)) : [],
  ].filter((one) => one !== undefined);
  const authorize = authorizationOf(settings);
  const credentials = await makeCredentials(settings, {
    now,
    authorize,
    service: quirk?.service ?? "bedrock",
  });
  const wire = await quirk?.wire?.() ?? ((send: Transport) => send);
  const path = pathOf(settings, quirk);
  const redact = redactor([
    ...secretsOf([
      ...keys.map(({ key }) => key.reveal()),
      ...Object.values(settings.headers),
      ...proxy?.secrets ?? [],
    ]),
    ...[host, hostname].map((text): [string, string] => [text, "[upstream]"]),
    // a short name such as `proxy` is a word, too
    ...proxy && /[.:]/.test(proxy.hostname) ? [[proxy.hostname, "[proxy]"] as const] : [],
  ]);
  return {
    name,
    dialect: settings.dialect,
    shaping: quirk?.shaping ?? {},
    adjust: inSteps(withoutEmptyTools, quirk?.adjust ?? unchanged),
    pathFor: (request) => path === undefined ? back.pathFor?.(request) : modelPath(path, request),
    betas: settings.betas,
    headers: headersOf(settings, pool === undefined ? keys[0]?.key : undefined),
    hasKey: settings.credentials?.kind !== "forward",
    takesKeys: takesKeys(settings),
    takesForwardedKeys: takesKeys(settings) &&
      (settings.allowForwardedKeys || settings.credentials?.kind === "forward"),
    headersWith: (key) => foreignHeaders(settings, key),
    bounds,
    boundOf: ({ model, limits }) => bound(`model ${model}`, limits),
    keys: pool,
    // what changes a body comes before what signs it
    send: wire(
      credentials === undefined
        ? transport.send
        : withCredentials(transport.send, credentials, (one) => transport.urlOf(one)),
    ),
    health: new Health(now, pool, memory.activityOf(name)),
    headersMs: settings.timeouts.headersMs,
    redact: (text) => redact(credentials?.redact(text) ?? text),
    close: () => transport.close(),
  };
}

/** Makes an upstream that shares nothing with others; it is closed at the end of the block that uses it. */
export async function upstreamAlone(
  name: string,
  settings: UpstreamSettings,
  now: () => number,
): Promise<Upstream & AsyncDisposable> {
  const timers = new CoarseTimers();
  const upstream = await httpUpstream(name, settings, {
    now,
    timers,
    memory: new RoutingMemory(now),
  });
  return {
    ...upstream,
    async [Symbol.asyncDispose]() {
      await upstream.close();
      timers.close();
    },
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
    pathFor: () => undefined,
    betas: undefined,
    headers: {},
    hasKey: true,
    takesKeys: false,
    takesForwardedKeys: false,
    headersWith: () => ({}),
    bounds: [],
    boundOf: () => undefined,
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
 * those of the service whose host name the URL has. With each go the proxies of all settings.
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
    Object.entries(all).map(([name, one]) => [
      name,
      {
        ...one,
        quirks: one.quirks ?? quirksByHost(one.url, one.dialect),
        proxies: settings.proxies,
      },
    ]),
  );
}

const unchanged = (body: JsonObject) => body;

/** An API key, and its share of the requests. */
type WeightedKey = NonNullable<UpstreamSettings["keys"]>[number];

/** The keys of an upstream's settings, however they are written. */
export function keysOf({ key, keys, credentials }: UpstreamSettings): readonly WeightedKey[] {
  const one = credentials?.kind === "key" ? credentials.key : key;
  return keys ?? (one === undefined ? [] : [{ key: one, weight: 1, limits: undefined }]);
}

/** How a key is sent: the dialect's way, or that of the service. */
function authorizationOf({ dialect, quirks }: UpstreamSettings): Authorize {
  const { authorization } = BACKS[dialect];
  return (quirks && QUIRKS[quirks].authorize) ?? ((key) => authorization(key));
}

/** Where requests go that have the model in the path: as the settings say, or the service needs it. */
function pathOf({ path }: UpstreamSettings, quirk: Quirk | undefined): ModelPath | undefined {
  const methods = quirk?.path?.methods ?? { whole: "", stream: "" };
  return path === undefined ? quirk?.path : { template: path, methods };
}

/** A thread's part of what all of them may send. */
function partOf(bounds: SentBounds, threads = 1): SentBounds {
  const part = (most: number | undefined) => most && Math.max(1, Math.floor(most / threads));
  return {
    atOnce: part(bounds.atOnce),
    requestsPerMinute: part(bounds.requestsPerMinute),
    tokensPerMinute: part(bounds.tokensPerMinute),
    waitMs: bounds.waitMs,
  };
}

/** What tells the bound of a key from others of its upstream. */
function placeOf(key: Secret): string {
  return `key ${keyId(key.reveal())}`;
}

function keyPool(
  name: string,
  settings: UpstreamSettings,
  memory: RoutingMemory,
  boundOf: (place: string, bounds: SentBounds | undefined) => Bound | undefined,
): KeyPool {
  const keys = keysOf(settings).map(({ key, weight, limits }, at): UpstreamKey => {
    return {
      id: keyId(key.reveal()),
      position: at + 1,
      weight,
      headers: headersOf(settings, key),
      health: memory.keyHealth(name, keyId(key.reveal())),
      bound: boundOf(placeOf(key), limits),
    };
  });
  return new KeyPool(keys, memory.turnsOfKeys(name));
}

function headersOf(
  settings: UpstreamSettings,
  key: Secret | undefined,
): Record<string, string> {
  const sent: Record<string, string> = {
    "content-type": "application/json",
    "user-agent": "sluice",
  };
  if (key !== undefined) Object.assign(sent, authorizationOf(settings)(key.reveal()));
  for (const [name, value] of Object.entries(settings.headers)) sent[name.toLowerCase()] = value;
  return sent;
}

/**
 * Whether requests to an upstream carry a key, so that it is said to whom they belong. One that the gateway needs no key for would reply
 * to any, at nobody's expense but the operator's.
 */
export function takesKeys(settings: UpstreamSettings): boolean {
  return settings.credentials?.kind === "forward" || keysOf(settings).length > 0;
}

/** Settings of an upstream with somebody else's key, and with no secret of the gateway's. */
export function withForeignKey(settings: UpstreamSettings, key: string): UpstreamSettings {
  return {
    ...settings,
    key: undefined,
    keys: undefined,
    credentials: { kind: "forward" },
    headers: foreignHeaders(settings, key),
  };
}

/** Headers by which services know who sends a request. */
const PROOFS = /(?:^|-)(?:authorization|auth|cookie|(?:api|subscription)-?key|auth-?token)$/i;

/** Headers of a request with somebody else's key: what the settings say besides may be a secret that proves who they are. */
function foreignHeaders(settings: UpstreamSettings, key: string): Record<string, string> {
  const own = authorizationOf(settings)(key);
  const headers = Object.fromEntries(
    Object.entries(settings.headers).filter(([name]) => !PROOFS.test(name)),
  );
  return { ...headersOf({ ...settings, headers }, undefined), ...own };
}

function secretsOf(values: readonly string[]): [string, string][] {
  return values.filter((value) => value.length >= 6)
    .toSorted((a, b) => b.length - a.length) // one may begin with another
    .map((value) => [value, "[secret]"]);
}

function redactor(replacements: readonly (readonly [string, string])[]): (text: string) => string {
  return (text) =>
    replacements.reduce((kept, [from, to]) => kept.replaceAll(from, to), text)
      .replaceAll(/\bsk-[A-Za-z0-9_*.-]{6,}/g, "[secret]");
}

async function readCertificate(value: string | undefined): Promise<string | undefined> {
  if (value === undefined || value.includes("-----BEGIN")) return value;
  return await Deno.readTextFile(value);
}
