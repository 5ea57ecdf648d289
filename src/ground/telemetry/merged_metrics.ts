import {
  AggregatorRegistry,
  type MetricObjectWithValues,
  type MetricValue,
  type Registry,
} from "prom-client";

/** All metrics of one thread, as plain data. */
export type MetricsSnapshot = readonly MetricObjectWithValues<MetricValue<string>>[];

/**
 * Adds the metrics of the threads of a process up.
 *
 * @param snapshots One of each thread.
 * @returns Prometheus text.
 */
export function sumOfMetrics(snapshots: readonly MetricsSnapshot[]): Promise<string> {
  return merged(snapshots).metrics();
}

/**
 * What remains of the metrics of a thread that has ended: its counts, so that sums do not fall.
 *
 * @param snapshots Of the thread, and of others that have ended before.
 */
export async function endedMetrics(
  snapshots: readonly MetricsSnapshot[],
): Promise<MetricsSnapshot> {
  const all: MetricsSnapshot = await merged(snapshots).getMetricsAsJSON();
  return all.filter(({ type }) => COUNTING.has(String(type)));
}

const COUNTING = new Set(["counter", "histogram"]);

function merged(snapshots: readonly MetricsSnapshot[]): Registry {
  return AggregatorRegistry.aggregate(snapshots.map((one) => [...one]));
}
