import type { ManagedSettings, Policies } from "./managed_settings.ts";
import type { TelemetryRelay, TelemetryRelayParts } from "./telemetry_relay.ts";
import type { toolUsage } from "./usage.ts";

/*
 * What the first tool that asks for it loads: a gateway whose tools use keys needs none of it.
 */

/** Loads the settings that the operator has for Claude Code. */
export async function openManagedSettings(policies: Policies): Promise<ManagedSettings> {
  const { ManagedSettings } = await import("./managed_settings.ts");
  return new ManagedSettings(policies);
}

/** Loads what takes the telemetry of tools. */
export async function openTelemetryRelay(parts: TelemetryRelayParts): Promise<TelemetryRelay> {
  const { TelemetryRelay } = await import("./telemetry_relay.ts");
  return new TelemetryRelay(parts);
}

/** Loads what describes the use of an account to a tool. */
export async function openToolUsage(): Promise<typeof toolUsage> {
  return (await import("./usage.ts")).toolUsage;
}
