import type { ListedModel } from "../../settings/catalog/mod.ts";
import { upstreamSettings } from "../../settings/config/mod.ts";
import { LOCAL_SERVERS, type Preset, presetsIn } from "./presets.ts";
import { probeUpstream } from "./probe.ts";

/** An upstream that is there to be used. */
export interface Discovered {
  readonly preset: Preset;
  /** Models that it lists. */
  readonly models: readonly ListedModel[];
}

/** A server on this machine answers at once, or is not there. */
const PATIENCE_MS = 400;

/** Where discovery looks; tests look elsewhere. */
export interface Surroundings {
  readonly env: Readonly<Record<string, string>>;
  readonly now: () => number;
  readonly localServers?: readonly Preset[];
}

/**
 * Servers of models on their usual loopback ports, and services whose keys the environment holds.
 * Services are not asked anything: that a key is there is no leave to use it.
 */
export async function discoverUpstreams(
  { env, now, localServers = LOCAL_SERVERS }: Surroundings,
): Promise<Discovered[]> {
  const services = presetsIn(env).map((preset) => ({ preset, models: [] }));
  const local = await Promise.all(localServers.map(async (preset) => {
    const settings = upstreamSettings.parse({ url: preset.url });
    const { status, models } = await probeUpstream(preset.name, settings, {
      now,
      patienceMs: PATIENCE_MS,
    });
    return status === 200 && models.length > 0 ? [{ preset, models }] : [];
  }));
  return [...services, ...local.flat()];
}
