import * as z from "zod";
import type { Database } from "../../ground/database/mod.ts";
import { audit, type AuditReport } from "../../money/ledger/mod.ts";
import type { NewAlert } from "./alert.ts";
import { memoryOf, remember } from "./jobs.ts";
import { DAY_MS } from "../../ground/time.ts";
import { digestOf } from "../../ground/platform/mod.ts";

const NAME = "audit";
/** Time from the first start to the first audit. */
const FIRST_MS = 3_600_000;
/** Mismatches that a text names. */
const MAX_NAMED = 5;

/**
 * Whether an audit is due. If so, the next one is a day from now, also when this one does not end.
 *
 * @param nowMs The database's clock.
 */
export async function isAuditDue(database: Database, nowMs: number): Promise<boolean> {
  const before = await memoryOf(database, NAME);
  if (before === undefined) {
    await remember(database, NAME, { before, value: String(nowMs + FIRST_MS) });
    return false;
  }
  const dueMs = Number(before.value);
  // further ahead than a day: the clock was wrong
  if (nowMs < dueMs && dueMs <= nowMs + DAY_MS) return false;
  return await remember(database, NAME, { before, value: String(nowMs + DAY_MS) });
}

/** Does long work on a connection of its own. */
type Aside = <T>(work: (database: Database) => Promise<T>) => Promise<T>;

/** Audits that are being made. */
const running = new WeakMap<Aside, Promise<AuditReport>>();

/**
 * Makes an audit, or waits for the one that is being made: it may take minutes, and read the whole file.
 *
 * @param aside The gateway's.
 */
export function auditOnce(aside: Aside): Promise<AuditReport> {
  const known = running.get(aside);
  if (known !== undefined) return known;
  const begun = aside((database) => audit(database)).finally(() => running.delete(aside));
  running.set(aside, begun);
  return begun;
}

/** The alert of an audit: once for the same mismatches. Undefined if there are none. */
export function auditFailedMark({ mismatches }: AuditReport): NewAlert | undefined {
  if (mismatches.length === 0) return undefined;
  const found = mismatches.map(({ noun, kind, id }) => `${noun} ${kind} ${id}`);
  const digest = digestOf(found.toSorted().join("\n"));
  const more = found.length - MAX_NAMED;
  return {
    mark: `audit_failed:${digest.slice(0, 32)}`,
    kind: "audit_failed",
    title: `Audit failed: ${found.length} ${found.length === 1 ? "mismatch" : "mismatches"}`,
    text: `${found.slice(0, MAX_NAMED).join("; ")}${
      more > 0 ? `; and ${more} more` : ""
    }. See: sluice credits audit`,
    data: { mismatches: found.slice(0, 100) },
  };
}

const LAST = "last_audit";

const lastOutcome = z.object({
  atMs: z.int(),
  mismatches: z.int(),
  uncollectedCredits: z.int(),
});

/** How the last audit went. */
export type AuditOutcome = z.output<typeof lastOutcome>;

/**
 * Remembers how an audit went, for the overview.
 *
 * @param report Of the audit.
 * @param nowMs The database's clock.
 */
export async function rememberAudit(
  database: Database,
  { mismatches, uncollected }: AuditReport,
  nowMs: number,
): Promise<void> {
  const outcome: AuditOutcome = {
    atMs: nowMs,
    mismatches: mismatches.length,
    uncollectedCredits: uncollected.credits,
  };
  const before = await memoryOf(database, LAST);
  // of two that end at once, one is enough
  await remember(database, LAST, { before, value: JSON.stringify(outcome) });
}

/**
 * Reads how the last audit went: the daily one, or one that was run in the console, by the API or by `sluice credits audit`.
 *
 * @returns `undefined` before the first.
 */
export async function lastAudit(database: Database): Promise<AuditOutcome | undefined> {
  const found = await memoryOf(database, LAST);
  return found === undefined ? undefined : lastOutcome.parse(JSON.parse(found.value));
}
