import { CoarseTimers } from "../platform/mod.ts";
import type { UpstreamSettings } from "../config/mod.ts";
import { DIALECTS, isObject, items, text } from "../dialects/mod.ts";
import { readText } from "./failure.ts";
import { RoutingMemory } from "./routing.ts";
import { TransportFault } from "./transport.ts";
import { httpUpstream, type Upstream } from "./upstream.ts";

/** What asking an upstream for its models showed. */
export interface Probe {
  /** Until the reply's head, connection included; undefined when nothing answered. */
  readonly latencyMs: number | undefined;
  readonly status: number | undefined;
  /** Models that it lists; empty when it does not say. */
  readonly models: readonly string[];
  /** Whether it responded with a list of models, an empty one included. */
  readonly isList: boolean;
  /** Whether it answered with a page, as an address does that is no API's. */
  readonly isPage: boolean;
  /** The upstream's clock, to the second, by its `Date` header. */
  readonly clockMs: number | undefined;
  /** Why nothing answered; without secrets. */
  readonly fault: { readonly kind: TransportFault["kind"]; readonly message: string } | undefined;
}

/**
 * Asks an upstream for its models (`GET /models`): costs nothing, and shows address, TLS and key. Where there are several
 * keys, the first that is not rejected counts.
 */
export async function probeUpstream(
  name: string,
  settings: UpstreamSettings,
  { now, patienceMs }: { readonly now: () => number; readonly patienceMs: number },
): Promise<Probe> {
  const { timeouts } = settings;
  const timers = new CoarseTimers();
  const upstream = await httpUpstream(name, {
    ...settings,
    timeouts: { ...timeouts, connectMs: Math.min(timeouts.connectMs, patienceMs) },
  }, { now, timers, memory: new RoutingMemory(now) });
  const startedTick = performance.now();
  try {
    const signal = AbortSignal.timeout(patienceMs);
    const send = (headers: Upstream["headers"]) =>
      upstream.send({
        path: "/models",
        headers: { ...headers, ...DIALECTS[settings.dialect].back.versionHeaders(() => null) },
        body: undefined,
        signal,
      });
    const [first, ...others] = upstream.keys?.all ?? [upstream];
    let reply = await send(first!.headers);
    for (const { headers } of others) {
      if (reply.status !== 401 && reply.status !== 403) break;
      reply.discard();
      reply = await send(headers);
    }
    const latencyMs = Math.round(performance.now() - startedTick);
    const clockMs = Date.parse(String(reply.headers.date));
    const body = await readText(reply, patienceMs);
    const models = modelsIn(body);
    return {
      latencyMs,
      status: reply.status,
      models: models ?? [],
      isList: models !== undefined,
      isPage: body.trimStart().startsWith("<"),
      clockMs: Number.isNaN(clockMs) ? undefined : clockMs,
      fault: undefined,
    };
  } catch (error) {
    if (!(error instanceof TransportFault)) throw error;
    const message = error.kind === "left"
      ? `no answer in ${patienceMs / 1_000} s`
      : upstream.redact(error.message);
    return {
      latencyMs: undefined,
      status: undefined,
      models: [],
      isList: false,
      isPage: false,
      clockMs: undefined,
      fault: { kind: error.kind, message },
    };
  } finally {
    await upstream.close();
    timers.close();
  }
}

/** The ids of a list of models, as both dialects write it; undefined for anything else. */
function modelsIn(body: string): string[] | undefined {
  let parsed: unknown;
  try {
    parsed = JSON.parse(body);
  } catch {
    return undefined;
  }
  if (!isObject(parsed)) return undefined;
  if (!Array.isArray(parsed.data) && parsed.object !== "list") return undefined; // Ollama's data may be null
  return items(parsed.data).flatMap((one) => (isObject(one) ? text(one.id) ?? [] : []));
}
