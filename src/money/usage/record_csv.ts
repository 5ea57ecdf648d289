import { labelOf, type OwnedKey, ownersOfKeys } from "../../people/accounts/mod.ts";
import { entriesBetween } from "../ledger/mod.ts";
import { csvLine } from "./csv.ts";
import { outcomeOf } from "./describe_request.ts";
import { readRange, ReportError, type UsageRange } from "./range.ts";
import { recordsBetween, type RequestRecord } from "./records.ts";
import { select, type UsageParts, type UsageScope } from "./selection.ts";
import type { UsageQuery } from "./usage_query.ts";

/** Rows that are read at a time: the database does nothing else meanwhile. */
const PAGE_ROWS = 1_000;

const REQUEST_COLUMNS = [
  "request_id",
  "started_at",
  "account",
  "key",
  "key_id",
  "model",
  "dialect",
  "streamed",
  "outcome",
  "status",
  "reason",
  "message",
  "upstream",
  "upstream_model",
  "answered_model",
  "upstream_request_id",
  "service_tier",
  "attempts",
  "input_tokens",
  "cached_tokens",
  "output_tokens",
  "reasoning_tokens",
  "price_credits",
  "extra_credits",
  "own_key",
  "credits",
  "first_token_ms",
  "duration_ms",
  "tags",
  "team",
  "member",
  "account_id",
  "team_id",
  "member_id",
];

/**
 * Writes the records of a range as CSV, oldest first, reading them in pages: memory stays bounded whatever the range.
 *
 * @param parts Database, accounts and teams.
 * @param query Range and nouns; its groupings do not count.
 * @param scope What the reader may see.
 * @returns Pieces of the text, header first.
 * @throws {ReportError} If a noun does not exist, or a bound is not valid, before the first piece.
 */
export async function requestsCsv(
  parts: UsageParts,
  query: UsageQuery,
  scope: UsageScope = {},
): Promise<AsyncGenerator<string>> {
  const { database, accounts, teams } = parts;
  const selected = await select(parts, { ...query, by: [] }, scope);
  const range = rangeOf(parts, query);
  const keys = new Map<string, OwnedKey>();
  const teamNames = new Map<string, string>();
  const accountNames = new Map<string, string>();
  const learn = async (records: readonly RequestRecord[]) => {
    const unknown = unknownIn(keys, records.map(({ keyId }) => keyId));
    if (unknown.length > 0) {
      const owned = await ownersOfKeys(database, { keyIds: unknown });
      for (const one of owned) keys.set(one.id, one);
      if (unknownIn(teamNames, owned.flatMap(({ teamId }) => teamId ?? [])).length > 0) {
        for (const { id, name } of await teams.list()) teamNames.set(id, name);
      }
    }
    const ids = unknownIn(
      accountNames,
      records.flatMap(({ accountId, keyId }) =>
        [accountId, keys.get(keyId)?.memberId ?? []].flat()
      ),
    );
    for (const [id, one] of await accounts.byIds(ids)) accountNames.set(id, labelOf(one));
  };
  const { model, tag } = query;
  const isWanted = (record: RequestRecord) =>
    selected.keyIds?.includes(record.keyId) !== false && (model ?? record.route) === record.route &&
    (tag === undefined || hasTag(record, tag));
  async function* pieces(): AsyncGenerator<string> {
    yield csvLine(REQUEST_COLUMNS);
    for (const accountId of selected.accountIds ?? [undefined]) {
      for await (
        const page of recordsBetween(database, { ...range, accountId, limit: PAGE_ROWS })
      ) {
        const wanted = page.filter(isWanted);
        await learn(wanted);
        yield wanted.map((one) => csvLine(requestCells(one, { keys, teamNames, accountNames })))
          .join("");
      }
    }
  }
  return pieces();
}

function unknownIn(known: ReadonlyMap<string, unknown>, ids: readonly string[]): string[] {
  return [...new Set(ids)].filter((id) => !known.has(id));
}

function hasTag({ tags }: RequestRecord, tag: string): boolean {
  const at = tag.indexOf("=");
  return tags?.[tag.slice(0, at)] === tag.slice(at + 1);
}

function requestCells(
  record: RequestRecord,
  { keys, teamNames, accountNames }: {
    readonly keys: ReadonlyMap<string, OwnedKey>;
    readonly teamNames: ReadonlyMap<string, string>;
    readonly accountNames: ReadonlyMap<string, string>;
  },
) {
  const { name, teamId = null, memberId = null } = keys.get(record.keyId) ?? {};
  return [
    record.requestId,
    new Date(record.startedAtMs).toISOString(),
    accountNames.get(record.accountId) ?? record.accountId,
    name ?? record.keyId,
    record.keyId,
    record.route,
    record.dialect,
    record.streamed,
    outcomeOf(record),
    record.status,
    record.reason,
    record.message,
    record.upstream,
    record.upstreamModel,
    record.details.model ?? null,
    record.details.id ?? null,
    record.details.tier ?? null,
    record.attempts,
    record.inputTokens,
    record.cachedTokens,
    record.outputTokens,
    record.reasoningTokens,
    record.priceCredits,
    record.extraCredits,
    record.ownKey,
    record.chargedCredits,
    record.firstTokenMs,
    record.durationMs,
    Object.entries(record.tags ?? {}).map(([name, value]) => `${name}=${value}`).join(","),
    teamId === null ? null : teamNames.get(teamId) ?? teamId,
    memberId === null ? null : accountNames.get(memberId) ?? memberId,
    record.accountId,
    teamId,
    memberId,
  ];
}

const ENTRY_COLUMNS = [
  "at",
  "account",
  "kind",
  "credits",
  "lot_id",
  "source",
  "cause_id",
  "note",
  "account_id",
];

/**
 * Writes the ledger entries of a range as CSV, account by account and oldest first, reading them in pages.
 *
 * @returns Pieces of the text, header first.
 * @throws {ReportError} If the account does not exist, a bound is not valid, or a noun is given that entries do not have.
 */
export async function entriesCsv(
  parts: UsageParts,
  query: UsageQuery,
  scope: UsageScope = {},
): Promise<AsyncGenerator<string>> {
  const { key, team, member, model, tag } = query;
  if ([key, team, member, model, tag, scope.teamId].some((one) => one !== undefined)) {
    throw new ReportError(
      "Ledger entries are of accounts: they cannot be filtered by key, team, member, model or tag.",
    );
  }
  const { accountIds } = await select(parts, { ...query, by: [] }, scope);
  const range = rangeOf(parts, query);
  const all = accountIds === undefined
    ? await parts.accounts.list()
    : [...(await parts.accounts.byIds(accountIds)).values()];
  const { database } = parts;
  async function* pieces(): AsyncGenerator<string> {
    yield csvLine(ENTRY_COLUMNS);
    for (const account of all) {
      const accountId = account.id;
      for await (
        const page of entriesBetween(database, { ...range, accountId, limit: PAGE_ROWS })
      ) {
        yield page.map((entry) =>
          csvLine([
            new Date(entry.atMs).toISOString(),
            labelOf(account),
            entry.kind,
            entry.credits,
            entry.lotId,
            entry.source,
            entry.causeId,
            entry.reason || entry.note,
            accountId,
          ])
        ).join("");
      }
    }
  }
  return pieces();
}

/** Records and entries go by their times, so that bounds need not be whole hours; reports are the same range. */
function rangeOf({ now }: UsageParts, { since, until, zone }: UsageQuery): UsageRange {
  return readRange({ since, until, zone, nowMs: now(), firstMs: 0 });
}
