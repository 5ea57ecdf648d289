import { hourOf, type UpstreamState } from "../../requests/upstreams/mod.ts";
import type { NewAlert } from "./alert.ts";

/** Replies of an hour whose reported usage was not believed, from which on that is worth an alert. */
const MIN_REPLIES = 5;
/** Part of its attempts that they must be. */
const MIN_PART = 0.02;

/** The alerts of upstreams that report what cannot be true: one for each upstream and day. */
export function departureAlerts(upstreams: readonly UpstreamState[], nowMs: number): NewAlert[] {
  const day = new Date(nowMs).toISOString().slice(0, 10);
  return upstreams.flatMap(({ name, activity }) => {
    const { departed, attempts } = hourOf(activity);
    if (departed < MIN_REPLIES || departed < MIN_PART * attempts) return [];
    return [{
      mark: `usage_departs:${name}:${day}`,
      kind: "usage_departs" as const,
      title: `${name} reports usage that cannot be true`,
      text:
        `In the last hour, ${departed} of ${attempts} replies reported more output than was asked for, or more than four ` +
        "times the input. The gateway's own count was charged. Compare what was counted with your bill: sluice usage reconcile.",
      data: { upstream: name, replies: departed, attempts },
    }];
  });
}
