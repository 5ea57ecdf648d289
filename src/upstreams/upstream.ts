import { DEFAULT_UPSTREAM } from "../catalog/mod.ts";
import {
  type Secret,
  type Settings,
  type UpstreamSettings,
  upstreamSettings,
} from "../config/mod.ts";
import type { CoarseTimers } from "../platform/mod.ts";
import { type DialectName, DIALECTS, type JsonObject, type Shaping } from "../dialects/mod.ts";
import { Health } from "./health.ts";
import { HttpTransport } from "./http_transport.ts";
import { QUIRKS } from "./quirks.ts";
import { simulatorTransport } from "./simulator_transport.ts";
import type { Transport } from "./transport.ts";

/** A configured upstream. */
export interface Upstream {
  readonly name: string;
  readonly dialect: DialectName;
  readonly shaping: Shaping;
  /** Changes a finished request body to what this upstream takes. */
  adjust(body: JsonObject): JsonObject;
  readonly headers: Readonly<Record<string, string>>;
  readonly send: Transport;
  readonly health: Health;
  /** Maximum time to the first output while another target can be asked. */
  readonly headersMs: number;
  /** Takes secrets and addresses out of what an upstream says, before a caller sees it. */
  redact(text: string): string;
  close(): Promise<void>;
}

/** Makes an upstream from its settings. `caCert` may be the path of a PEM file. */
export async function httpUpstream(
  name: string,
  settings: UpstreamSettings,
  { now, timers }: { readonly now: () => number; readonly timers: CoarseTimers },
): Promise<Upstream> {
  const transport = new HttpTransport({
    url: settings.url,
    timeouts: settings.timeouts,
    caCert: await readCertificate(settings.caCert),
    timers,
  });
  const { host, hostname } = new URL(settings.url);
  const quirk = settings.quirks === undefined ? undefined : QUIRKS[settings.quirks];
  return {
    name,
    dialect: settings.dialect,
    shaping: quirk?.shaping ?? {},
    adjust: quirk?.adjust ?? unchanged,
    headers: headersOf(settings),
    send: transport.send,
    health: new Health(now),
    headersMs: settings.timeouts.headersMs,
    redact: redactor([
      ...secretsOf(settings.key, settings.headers),
      ...[host, hostname].map((text): [string, string] => [text, "[upstream]"]),
    ]),
    close: () => transport.close(),
  };
}

/** The built-in upstream. */
export function simulatorUpstream(now: () => number): Upstream {
  return {
    name: "simulator",
    dialect: "chat",
    shaping: {},
    adjust: unchanged,
    headers: {},
    send: simulatorTransport,
    health: new Health(now),
    headersMs: Infinity,
    redact: (text) => text,
    close: () => Promise.resolve(),
  };
}

/** Every upstream that the settings configure, by name; `default` is what `upstream.url` says. */
export function configuredUpstreams(
  settings: Settings,
): Readonly<Record<string, UpstreamSettings>> {
  const { url, key, dialect, discover } = settings.upstream;
  if (url === undefined) return settings.upstreams;
  const byDefault = upstreamSettings.parse({ url, dialect, discover });
  return {
    [DEFAULT_UPSTREAM]: key === undefined ? byDefault : { ...byDefault, key },
    ...settings.upstreams,
  };
}

const unchanged = (body: JsonObject) => body;

function headersOf({ key, dialect, headers }: UpstreamSettings): Record<string, string> {
  const sent: Record<string, string> = {
    "content-type": "application/json",
    "user-agent": "sluice",
  };
  if (key !== undefined) Object.assign(sent, DIALECTS[dialect].back.authorization(key.reveal()));
  for (const [name, value] of Object.entries(headers)) sent[name.toLowerCase()] = value;
  return sent;
}

function secretsOf(
  key: Secret | undefined,
  headers: Readonly<Record<string, string>>,
): [string, string][] {
  const values = [key?.reveal() ?? "", ...Object.values(headers)];
  return values.filter((value) => value.length >= 6).map((value) => [value, "[secret]"]);
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
