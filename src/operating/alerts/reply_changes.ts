import { HOUR_MS } from "../../ground/time.ts";
import * as z from "zod";
import type { Database } from "../../ground/database/mod.ts";
import {
  answeredModels,
  type CacheShare,
  cacheShares,
  newestCacheShares,
} from "../../money/usage/mod.ts";
import type { NewAlert } from "./alert.ts";
import { memoryOf, remember } from "./jobs.ts";

const NAME = "answered_models";
const remembered = z.record(z.string(), z.array(z.string()));
/** Names that are remembered of a target: an upstream may make them up. */
const MAX_NAMES = 20;
/** An hour with less says nothing. */
const MIN_INPUT_TOKENS = 200_000;
const MIN_REQUESTS = 20;
/** Part of the input from caches below which nothing is lost. */
const MIN_SHARE = 0.1;

/**
 * Alerts of what changes in replies with status 200: a model that another one begins to reply for, and a prompt cache that is missed.
 *
 * @param nowMs The database's clock, in milliseconds since the epoch.
 * @returns The alerts; `done` remembers the models, once they were raised.
 */
export async function replyChanges(
  database: Database,
  nowMs: number,
): Promise<{ readonly alerts: readonly NewAlert[]; readonly done: () => Promise<unknown> }> {
  const { alerts, done } = await modelChanges(database);
  return { alerts: [...alerts, ...await missedCaches(database, nowMs)], done };
}

async function modelChanges(database: Database) {
  const before = await memoryOf(database, NAME);
  const known = before === undefined ? {} : remembered.parse(JSON.parse(before.value));
  const now: Record<string, string[]> = { ...known };
  const alerts: NewAlert[] = [];
  for (const { upstream, model, answered } of await answeredModels(database)) {
    const target = `${upstream}/${model}`;
    const names = now[target] ?? [];
    if (names.includes(answered)) continue;
    now[target] = [...names, answered].slice(-MAX_NAMES);
    // the first name of a target is what it had been all along
    if (known[target] === undefined) continue;
    alerts.push({
      mark: `model_changed:${target}:${answered}:${before!.revision}`,
      kind: "model_changed",
      title: `${model} of ${upstream} is answered by another model: ${answered}`,
      text:
        `Replies for the model ${model} of the upstream ${upstream} now say that they are of ${answered}; before, of ${
          names.join(", ")
        }. The provider may have pointed the name at another model, at another price. Charges are those of the route ` +
        "as it is: check its prices, or name a version of the model as target.",
      data: { upstream, model, answered, before: names },
    });
  }
  const isSame = Object.keys(now).every((target) => now[target] === known[target]);
  return {
    alerts,
    done: () =>
      isSame ? Promise.resolve() : remember(database, NAME, { before, value: JSON.stringify(now) }),
  };
}

/**
 * Models whose share of cached input has fallen by half since the hour before. The hours do not tell whose upstream keys the
 * replies came with, so the newest requests with the gateway's must show it, too.
 */
async function missedCaches(database: Database, nowMs: number): Promise<NewAlert[]> {
  const hourAtMs = nowMs - nowMs % HOUR_MS;
  const byRoute = (shares: readonly CacheShare[]) => new Map(shares.map((one) => [one.route, one]));
  const before = byRoute(await cacheShares(database, hourAtMs - HOUR_MS));
  const fallen = (await cacheShares(database, hourAtMs)).flatMap((now) => {
    const then = before.get(now.route);
    if (then === undefined) return [];
    const isMuch = [now, then].every(({ inputTokens, requests }) =>
      inputTokens >= MIN_INPUT_TOKENS && requests >= MIN_REQUESTS
    );
    const earlier = shareOf(then);
    return isMuch && earlier >= MIN_SHARE && hasFallen(now, earlier) ? [{ now, earlier }] : [];
  });
  if (fallen.length === 0) return [];
  const newest = byRoute(await newestCacheShares(database, hourAtMs));
  return fallen.flatMap(({ now, earlier }) => {
    if (!hasFallen(newest.get(now.route) ?? now, earlier)) return [];
    const share = shareOf(now);
    const percent = (part: number) => `${Math.round(100 * part)} %`;
    return [{
      mark: `cache_share_fell:${now.route}:${new Date(hourAtMs).toISOString().slice(0, 13)}`,
      kind: "cache_share_fell" as const,
      title: `${now.route}: cached input fell from ${percent(earlier)} to ${percent(share)}`,
      text:
        `Of the input of ${now.route}, ${
          percent(share)
        } came from prompt caches in this hour, and ${
          percent(earlier)
        } in the hour before. Prompts whose beginnings change miss the cache and cost several times as much: look at what ` +
        "changed in clients, in targets and keys, or at the provider.",
      data: { route: now.route, share, before: earlier },
    }];
  });
}

function hasFallen(share: CacheShare, earlier: number): boolean {
  return shareOf(share) <= earlier / 2;
}

/** `NaN` where there was no input, which compares with nothing. */
function shareOf({ cachedTokens, inputTokens }: CacheShare): number {
  return cachedTokens / inputTokens;
}
