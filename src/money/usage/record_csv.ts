import { type Account, labelOf, type OwnedKey, ownersOfKeys } from "../../people/accounts/mod.ts";
import { forReports } from "../../ground/database/mod.ts";
import { entriesBetween, type Entry } from "../ledger/mod.ts";
import { type CsvColumns, csvLine, csvLines } from "./csv.ts";
import { outcomeOf } from "./describe_request.ts";
import { readRange, ReportError, type UsageRange } from "./range.ts";
import { recordsBetween, type RequestRecord } from "./records.ts";
import { select, type UsageParts, type UsageScope } from "./selection.ts";
import type { UsageQuery } from "./usage_query.ts";

/** Rows that are read at a time: the database does nothing else meanwhile. */
const PAGE_ROWS = 1_000;

/** A record with names, and what its key belongs to. */
interface NamedRecord extends RequestRecord, Pick<OwnedKey, "teamId" | "memberId"> {
  readonly account: string;
  readonly key: string;
  readonly team: string | null;
  readonly member: string | null;
}

const REQUEST_CELLS: CsvColumns<NamedRecord> = {
  request_id: (one) => one.requestId,
  started_at: (one) => new Date(one.startedAtMs).toISOString(),
  account: (one) => one.account,
  key: (one) => one.key,
  key_id: (one) => one.keyId,
  model: (one) => one.route,
  dialect: (one) => one.dialect,
  streamed: (one) => one.streamed,
  outcome: outcomeOf,
  status: (one) => one.status,
  reason: (one) => one.reason,
  message: (one) => one.message,
  upstream: (one) => one.upstream,
  upstream_model: (one) => one.upstreamModel,
  answered_model: ({ details }) => details.model ?? null,
  upstream_request_id: ({ details }) => details.id ?? null,
  service_tier: ({ details }) => details.tier ?? null,
  attempts: (one) => one.attempts,
  input_tokens: (one) => one.inputTokens,
  cached_tokens: (one) => one.cachedTokens,
  output_tokens: (one) => one.outputTokens,
  reasoning_tokens: (one) => one.reasoningTokens,
  price_credits: (one) => one.priceCredits,
  extra_credits: (one) => one.extraCredits,
  own_key: (one) => one.ownKey,
  credits: (one) => one.chargedCredits,
  first_token_ms: (one) => one.firstTokenMs,
  duration_ms: (one) => one.durationMs,
  tags: ({ tags = {} }) =>
    Object.entries(tags).map(([name, value]) => `${name}=${value}`).join(","),
  team: (one) => one.team,
  member: (one) => one.member,
  account_id: (one) => one.accountId,
  team_id: (one) => one.teamId,
  member_id: (one) => one.memberId,
};

/**
 * Writes the records of a range as CSV, oldest first, reading them in pages: memory stays bounded whatever the range.
 *
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
  const { accounts, teams } = parts;
  const database = forReports(parts.database);
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
  const named = (record: RequestRecord): NamedRecord => {
    const { name, teamId = null, memberId = null } = keys.get(record.keyId) ?? {};
    return {
      ...record,
      account: accountNames.get(record.accountId) ?? record.accountId,
      key: name ?? record.keyId,
      team: teamId && (teamNames.get(teamId) ?? teamId),
      member: memberId && (accountNames.get(memberId) ?? memberId),
      teamId,
      memberId,
    };
  };
  const { model, tag } = query;
  const isWanted = (record: RequestRecord) =>
    selected.keyIds?.includes(record.keyId) !== false && (model ?? record.route) === record.route &&
    (tag === undefined || hasTag(record, tag));
  async function* pieces(): AsyncGenerator<string> {
    yield csvLine(Object.keys(REQUEST_CELLS));
    for (const accountId of selected.accountIds ?? [undefined]) {
      for await (
        const page of recordsBetween(database, { ...range, accountId, limit: PAGE_ROWS })
      ) {
        const wanted = page.filter(isWanted);
        await learn(wanted);
        yield csvLines(REQUEST_CELLS, wanted.map(named));
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

const ENTRY_CELLS: CsvColumns<Entry & { readonly account: Account }> = {
  at: ({ atMs }) => new Date(atMs).toISOString(),
  account: ({ account }) => labelOf(account),
  kind: ({ kind }) => kind,
  credits: ({ credits }) => credits,
  lot_id: ({ lotId }) => lotId,
  source: ({ source }) => source,
  cause_id: ({ causeId }) => causeId,
  note: ({ reason, note }) => reason || note,
  account_id: ({ account }) => account.id,
};

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
  const database = forReports(parts.database);
  async function* pieces(): AsyncGenerator<string> {
    yield csvLine(Object.keys(ENTRY_CELLS));
    for (const account of all) {
      const accountId = account.id;
      for await (
        const page of entriesBetween(database, { ...range, accountId, limit: PAGE_ROWS })
      ) {
        yield csvLines(ENTRY_CELLS, page.map((entry) => ({ ...entry, account })));
      }
    }
  }
  return pieces();
}

/** Records and entries go by their times, so that bounds need not be whole hours; reports are the same range. */
function rangeOf({ now }: UsageParts, { since, until, zone }: UsageQuery): UsageRange {
  return readRange({ since, until, zone, nowMs: now(), firstMs: 0 });
}
