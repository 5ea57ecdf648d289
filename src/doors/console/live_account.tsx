import type { Keys } from "../../people/accounts/mod.ts";
import { type Database, readTogether } from "../../ground/database/mod.ts";
import { toldApart } from "../../ground/platform/mod.ts";
import { balancesReading, type Pulse } from "../../money/ledger/mod.ts";
import type { InFlightRequest } from "../../requests/relay/mod.ts";
import {
  daysSince,
  newestRecordsReading,
  type RequestRecord,
  usageReading,
} from "../../money/usage/mod.ts";
import { Rows, StatLines, type StatProps } from "./components.tsx";
import { count } from "./format.ts";
import { BalanceStat, InFlightStat, TodayStat } from "./live_stats.tsx";
import type { LiveSource, Viewer } from "./live_streams.ts";
import { requestColumns, rowIdOf } from "./request_rows.tsx";

/** Parts of pages about the viewer's own account. */
export const ACCOUNT_PARTS: readonly string[] = [
  "balance",
  "today",
  "requests",
  "in-flight",
  "in-flight-words",
];

/** Clocks of gateways that share a database may differ by so much; what is sent twice is shown once. */
const OVERLAP_MS = 5_000;

/** What is known of an account that somebody looks at. */
interface Watched {
  /** What it was when its figures and requests were read last; undefined before. */
  readonly shown: Pulse | undefined;
  /** Latest settlement among the requests that were sent. */
  readonly settledMs: number;
}

interface AccountSourceParts {
  readonly database: Database;
  readonly keys: Pick<Keys, "list">;
  readonly liveRequests: () => Promise<readonly InFlightRequest[]>;
  readonly now: () => number;
  /** Credits for one US dollar, if the operator has set them. */
  readonly perUsd: number | undefined;
}

/** The viewer's own balance, usage of today, requests and requests in flight: for all viewers in one statement. */
export class AccountSource implements LiveSource {
  readonly #parts: AccountSourceParts;
  #watched: ReadonlyMap<string, Watched> = new Map();
  /** Accounts whose figures have changed. */
  #changed: ReadonlySet<string> = new Set();
  /** The day of the last figures: those of another one have changed without a request. */
  #dayMs: number | undefined;

  constructor(parts: AccountSourceParts) {
    this.#parts = parts;
  }

  async tick(viewers: readonly Viewer[]): Promise<void> {
    const own = viewers.filter(({ parts }) => ACCOUNT_PARTS.some((part) => parts.has(part)));
    const fromDatabase = own.filter(({ parts }) =>
      ["balance", "today", "requests"].some((part) => parts.has(part))
    );
    await this.#figures(fromDatabase);
    const flying = own.filter(({ parts }) =>
      parts.has("in-flight") || parts.has("in-flight-words")
    );
    if (flying.length > 0) await this.#inFlight(flying);
  }

  async #figures(viewers: readonly Viewer[]): Promise<void> {
    const accountIds = [...new Set(viewers.map(({ accountId }) => accountId))];
    if (accountIds.length === 0) {
      this.#watched = new Map();
      this.#changed = new Set();
      return;
    }
    const { database, now } = this.#parts;
    const nowMs = now();
    const dayMs = daysSince(nowMs, 1);
    const isNewDay = dayMs !== this.#dayMs;
    this.#dayMs = dayMs;
    // who has just come has seen nothing
    const fresh = new Set(
      viewers.filter(({ sent }) => !sent.has("")).map(({ accountId }) => accountId),
    );
    const wanted = accountIds.filter((id) => isNewDay || this.#changed.has(id) || fresh.has(id));
    const hasRows = new Set(
      viewers.filter(({ parts }) => parts.has("requests")).map(({ accountId }) => accountId),
    );
    const { pulses, today, newest } = await readTogether(database, {
      pulses: balancesReading(accountIds),
      today: usageReading({
        accountIds: wanted,
        by: ["account"],
        sinceMs: dayMs,
        untilMs: daysSince(nowMs, 0),
      }),
      newest: newestRecordsReading(wanted.filter((id) => hasRows.has(id))),
    });
    const changed = new Set<string>();
    const watched = new Map<string, Watched>();
    for (const accountId of accountIds) {
      const before = this.#watched.get(accountId);
      const pulse = pulses.get(accountId);
      const isRead = wanted.includes(accountId);
      const records = newest.get(accountId) ?? [];
      watched.set(accountId, {
        shown: isRead ? pulse : before?.shown,
        settledMs: records.reduce(
          (latest, { settledAtMs }) => Math.max(latest, settledAtMs ?? 0),
          before?.settledMs ?? 0,
        ),
      });
      // what is read now is of this moment; a change is read in the next second
      if (!isRead && pulse?.requests !== before?.shown?.requests) changed.add(accountId);
    }
    for (const viewer of viewers) {
      const { accountId } = viewer;
      const pulse = pulses.get(accountId);
      if (pulse === undefined) continue;
      sendStat(viewer, "balance", BalanceStat({ ...pulse, perUsd: this.#parts.perUsd }));
      if (!wanted.includes(accountId)) continue;
      const used = today.find(({ account }) => account === accountId) ??
        { credits: 0, requests: 0 };
      sendStat(viewer, "today", TodayStat({ ...used, perUsd: this.#parts.perUsd }));
      await this.#rows(viewer, newest.get(accountId) ?? [], {
        sinceMs: viewer.sent.has("")
          ? this.#watched.get(accountId)?.settledMs ?? 0
          : viewer.seenMs ?? 0,
        untilMs: watched.get(accountId)!.settledMs,
      });
      viewer.sent.set("", "");
    }
    this.#watched = watched;
    this.#changed = changed;
  }

  /** Sends the rows of requests that were settled since the viewer saw the last ones. */
  async #rows(
    viewer: Viewer,
    records: readonly RequestRecord[],
    { sinceMs, untilMs }: { readonly sinceMs: number; readonly untilMs: number },
  ): Promise<void> {
    if (!viewer.parts.has("requests")) return;
    const rows = records.filter(({ settledAtMs }) => (settledAtMs ?? 0) >= sinceMs - OVERLAP_MS);
    const ids = rows.map(rowIdOf).join();
    if (rows.length === 0 || viewer.sent.get("requests") === ids) return;
    viewer.sent.set("requests", ids);
    const names = toldApart(await this.#parts.keys.list({ id: viewer.accountId }));
    const html = String(<Rows columns={requestColumns(names)} rows={rows} rowId={rowIdOf} />);
    viewer.send({ part: "requests", html, seenMs: untilMs });
  }

  async #inFlight(viewers: readonly Viewer[]): Promise<void> {
    const all = Map.groupBy(await this.#parts.liveRequests(), ({ accountId }) => accountId);
    for (const viewer of viewers) {
      const own = all.get(viewer.accountId) ?? [];
      sendStat(viewer, "in-flight", InFlightStat(own.length));
      sendIfNew(viewer, "in-flight-words", inFlightWords(own));
    }
  }
}

/** Says what is in flight: `2 requests in flight: svc-k2, svc-k3.` */
function inFlightWords(requests: readonly InFlightRequest[]): string {
  if (requests.length === 0) return "No requests in flight.";
  const models = [...new Set(requests.map(({ route }) => route))].slice(0, 5).join(", ");
  return String(<>{count(requests.length, "request")} in flight: {models}.</>);
}

function sendStat(viewer: Viewer, part: string, stat: StatProps): void {
  sendIfNew(viewer, part, String(<StatLines {...stat} />));
}

function sendIfNew(viewer: Viewer, part: string, html: string): void {
  if (!viewer.parts.has(part) || viewer.sent.get(part) === html) return;
  viewer.sent.set(part, html);
  viewer.send({ part, html });
}
