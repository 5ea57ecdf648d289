import type { UpstreamState } from "../../requests/upstreams/mod.ts";
import type { SeenCondition } from "./conditions.ts";

/** The conditions of targets whose circuits are open. */
export function circuitConditions(upstreams: readonly UpstreamState[]): SeenCondition[] {
  return upstreams.flatMap(({ name, failingModels, lastFailure }) =>
    failingModels.map((model) => ({
      name: `circuit:${name}/${model}`,
      kind: "circuit" as const,
      detail: lastFailure?.detail ?? "unknown",
    }))
  );
}
