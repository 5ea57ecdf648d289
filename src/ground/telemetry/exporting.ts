import type { Log } from "./log.ts";

/** Variables of a process. */
type Environment = Readonly<Record<string, string>>;

/** Addresses of collectors: each turns the export on, as in other programs. */
const ENDPOINTS = [
  "OTEL_EXPORTER_OTLP_ENDPOINT",
  "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
  "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT",
];

/** The variables by which traces and metrics are exported; `undefined` if they are not. */
export function exportVariables(env: Environment): Environment | undefined {
  if (env.OTEL_SDK_DISABLED?.toLowerCase() === "true") return undefined;
  const isOn = isPlatformsOn(env) || ENDPOINTS.some((name) => (env[name] ?? "") !== "");
  const own = Object.entries(env).filter(([name, value]) => /^OTEL_/.test(name) && value !== "");
  return isOn ? Object.fromEntries(own) : undefined;
}

/**
 * Whether the platform traces by itself. In a compiled program it does not: Deno reads the variable when it compiles
 * (https://github.com/denoland/deno/issues/28839).
 */
export function isPlatformsOn({ OTEL_DENO = "" }: Environment): boolean {
  return /^(1|true)$/.test(OTEL_DENO);
}

/**
 * Exports traces and metrics of this thread from now on, unless the platform does: before the parts are made that trace and count.
 *
 * @param variables Those of {@linkcode exportVariables}.
 * @param log Gets what goes wrong.
 * @returns Sends what is left, and stops.
 * @throws {Error} If a variable has a value that is not known.
 */
export async function startExporting(variables: Environment, log: Log): Promise<AsyncDisposable> {
  const { exportOtlp } = await import("./otlp.ts"); // a megabyte that few need
  return exportOtlp(variables, log);
}
