import * as z from "zod";
import type { Route } from "../../settings/catalog/mod.ts";
import type { Database } from "../../ground/database/mod.ts";
import type { NewAlert } from "./alert.ts";
import { memoryOf, remember } from "./jobs.ts";
import { digestOf } from "../../ground/platform/mod.ts";

const NAME = "catalog";
/** Changes that a text names one by one. */
const MAX_NAMED = 10;

const remembered = z.object({
  settings: z.string(),
  /** Prices by route. */
  routes: z.record(z.string(), z.string()),
});

/**
 * Compares the routes that are served with those that were remembered.
 *
 * Changes that come with other settings are remembered without an alert: the operator who changed them knows.
 *
 * @param settings Digest of the settings that they come from.
 * @returns The alert; undefined if nothing has changed. `done` remembers the routes, once the alert was raised.
 */
export async function catalogChange(
  database: Database,
  routes: readonly Route[],
  settings: string,
): Promise<{ readonly alert: NewAlert | undefined; readonly done: () => Promise<unknown> }> {
  const now: Record<string, string> = {};
  for (const { id, minimum, prices: { input, cached, output } } of routes) {
    now[id] = `${input}/${cached}/${output}, minimum ${minimum}`;
  }
  const value = JSON.stringify({ settings, routes: now });
  const before = await memoryOf(database, NAME);
  if (before?.value === value) return { alert: undefined, done: () => Promise.resolve() };
  const done = () => remember(database, NAME, { before, value });
  if (before === undefined) return { alert: undefined, done };
  const known = remembered.parse(JSON.parse(before.value));
  const changes = known.settings === settings ? changesOf(known.routes, now) : [];
  if (changes.length === 0) return { alert: undefined, done };
  const digest = digestOf(value).slice(0, 12);
  const more = changes.length - MAX_NAMED;
  return {
    alert: {
      mark: `catalog_changed:${before.revision}:${digest}`,
      kind: "catalog_changed",
      title: `Upstreams list other models or prices: ${changes.length} changed`,
      text: `${changes.slice(0, MAX_NAMED).join("; ")}${more > 0 ? `; and ${more} more` : ""}.`,
      data: { changes: changes.slice(0, 100) },
    },
    done,
  };
}

function changesOf(
  before: Readonly<Record<string, string>>,
  now: Readonly<Record<string, string>>,
): string[] {
  const gone = Object.keys(before).filter((id) => !Object.hasOwn(now, id));
  return [
    ...Object.entries(now).flatMap(([id, prices]) =>
      !Object.hasOwn(before, id)
        ? [`${id} was added`]
        : before[id] === prices
        ? []
        : [`${id} costs ${prices} instead of ${before[id]}`]
    ),
    ...gone.map((id) => `${id} is gone`),
  ];
}
