import { importedKey } from "../../../people/accounts/mod.ts";
import { isObject, type JsonObject, text } from "../../../wire/dialects/mod.ts";
import { emailOf, slug } from "../names.ts";
import type { Notices, PlannedAccount, PlannedKey } from "../plan.ts";
import { amount } from "./deployment.ts";
import { why } from "./reasons.ts";
import { digestOf } from "../../../ground/platform/mod.ts";

/** What keys are read with. */
export interface KeyOptions {
  readonly creditsPerUsd: number;
  readonly nowMs: number;
  readonly notices: Notices;
}

/** Keys and the accounts that they belong to. */
export interface KeyPlan {
  readonly accounts: readonly PlannedAccount[];
  readonly keys: readonly PlannedKey[];
}

/** The owner's account in a plan. */
const OWNER: PlannedAccount = {
  ref: "owner",
  isOwner: true,
  email: undefined,
  handle: "owner",
  name: "",
  credits: 0,
  reference: "",
};

const TAKEN = new Set([
  "aliases",
  "blocked",
  "budget_duration",
  "budget_id",
  "created_at",
  "created_by",
  "expires",
  "key_alias",
  "key_name",
  "litellm_budget_table",
  "max_budget",
  "models",
  "spend",
  "team_alias",
  "team_blocked",
  "team_id",
  "team_models",
  "token",
  "updated_at",
  "updated_by",
  "user",
  "user_email",
  "user_id",
]);
/** Facts about a key that say nothing of what it may do. */
const FACTS =
  /^(last_active|last_used|budget_reset_at|model_spend|soft_budget_cooldown|team_spend)/;
/** LiteLLM renews at midnight, on Mondays and on the first of a month as well. */
const PERIODS = [
  { period: "day", durations: /^(1d|24h|daily)$/ },
  { period: "week", durations: /^(7d|1w|168h|weekly)$/ },
  { period: "month", durations: /^(28d|29d|30d|31d|1mo|monthly)$/ },
] as const;
/** What of `allowed_routes` lets a key ask models: a group of LiteLLM's, or a path. */
const MODEL_ROUTES =
  /^(?:llm_api|openai|anthropic|google)_routes$|chat|completions|messages|responses|embeddings|generateContent|^\/?(?:v1\/)?\*$/;
/** A word for all models of the gateway, and one for those of the key's team. */
const [ALL_MODELS, TEAM_MODELS] = ["all-proxy-models", "all-team-models"] as const;

/**
 * Reads the replies of LiteLLM's `/key/list?return_full_object=true` and `/key/info`, and those of `/team/list` and `/team/info`, which say
 * what the keys of teams may use.
 *
 * LiteLLM stores the SHA-256 digest of a key, as Sluice does, so that keys go on working although nobody knows them.
 *
 * @param options Value of a credit, time, and who takes notices.
 */
export function readKeys(replies: readonly unknown[], options: KeyOptions): KeyPlan {
  const { notices } = options;
  const accounts = new Map<string, PlannedAccount>();
  const keys = new Map<string, PlannedKey>();
  const records = replies.flatMap((one) => recordsOf(one, notices));
  const teams = new Map(records.filter(isTeam).map((one) => [one.team_id, one]));
  for (const [index, record] of records.filter((one) => !isTeam(one)).entries()) {
    if (!isObject(record)) {
      notices.notImported(
        `keys[${index}]`,
        "the list has no details: ask for it with return_full_object=true",
      );
      continue;
    }
    const label = text(record.key_alias) ?? text(record.key_name) ?? `keys[${index}]`;
    const account = accountOf(record);
    const team = teams.get(text(record.team_id) ?? "");
    const key = keyOf({ record, label, team }, account.ref, options);
    if (key === undefined) continue;
    accounts.set(account.ref, account);
    keys.set(key.reference, key);
  }
  return { accounts: [...accounts.values()], keys: [...keys.values()] };
}

/** A list, a page of it, or a single key. */
function recordsOf(reply: unknown, notices: Notices): unknown[] {
  if (Array.isArray(reply)) return reply.flatMap((one) => recordsOf(one, notices));
  if (!isObject(reply)) return [reply];
  if (Array.isArray(reply.keys)) {
    const { current_page: page, total_pages: pages } = reply;
    if (typeof pages === "number" && pages > 1) {
      notices.check(
        `keys, page ${String(page)} of ${pages}`,
        "pass every page: --keys page1.json page2.json",
      );
    }
    return reply.keys;
  }
  if (isObject(reply.info)) return [{ token: reply.key ?? "", ...reply.info }];
  if (isObject(reply.team_info)) return [reply.team_info];
  if (Array.isArray(reply.teams)) return reply.teams;
  if (reply.token !== undefined || reply.key_name !== undefined || isTeam(reply)) return [reply];
  throw new Error("This is no reply of LiteLLM's /key/list, /key/info or /team/list");
}

/** What keys have, and teams do not. */
const OF_KEYS = ["token", "key_name", "key_alias", "user_id"];

/** Whether a record is a team of `/team/list`: it has models, and nothing that only keys have. */
function isTeam(record: unknown): record is JsonObject & { readonly team_id: string } {
  return isObject(record) && text(record.team_id) !== undefined && record.models !== undefined &&
    OF_KEYS.every((name) => record[name] === undefined);
}

/** A key of a list. */
interface Listed {
  readonly record: JsonObject;
  /** What it is called in notices. */
  readonly label: string;
  /** Its team, if that is listed. */
  readonly team: JsonObject | undefined;
}

function keyOf(
  { record, label, team }: Listed,
  account: string,
  { creditsPerUsd, nowMs, notices }: KeyOptions,
): PlannedKey | undefined {
  const subject = `key ${label}`;
  if (!isEmpty(record.blocked)) return void notices.notImported(subject, "it is blocked");
  if (!isEmpty(record.team_blocked) || !isEmpty(team?.blocked)) {
    return void notices.notImported(subject, "its team is blocked");
  }
  if (!asksModels(record.allowed_routes)) {
    return void notices.notImported(subject, "it may ask no models (allowed_routes)");
  }
  const expires = isNull(record.expires) ? undefined : text(record.expires) ?? "?";
  // LiteLLM writes UTC, with or without saying so
  const expiresAtMs = expires === undefined
    ? undefined
    : Date.parse(/(Z|[+-]\d\d:?\d\d)$/i.test(expires) ? expires : `${expires}Z`);
  if (expiresAtMs !== undefined && Number.isNaN(expiresAtMs)) {
    return void notices.notImported(subject, "its expiry is not a date");
  }
  if (expiresAtMs !== undefined && expiresAtMs <= nowMs) {
    return void notices.notImported(subject, "it has expired");
  }
  for (const [name, value] of Object.entries(record)) {
    if (!TAKEN.has(name) && !FACTS.test(name) && !isEmpty(value)) {
      notices.notImported(`${subject} ${name}`, why(name));
    }
  }
  if (!isEmpty(record.aliases)) notices.notImported(`${subject} aliases`, why("aliases"));
  // a budget that several keys have by its ID
  const shared = isObject(record.litellm_budget_table) ? record.litellm_budget_table : undefined;
  const max = isNull(record.max_budget) ? shared?.max_budget : record.max_budget;
  if (shared === undefined && !isEmpty(record.budget_id) && isNull(max)) {
    return void notices.notImported(
      subject,
      "the list does not have its budget (budget_id): pass its /key/info",
    );
  }
  const maxUsd = amount(max);
  if (maxUsd === undefined && !isNull(max)) {
    return void notices.notImported(subject, "its budget is not a number");
  }
  const renewed = isEmpty(record.budget_duration)
    ? shared?.budget_duration
    : record.budget_duration;
  const duration = isEmpty(renewed) ? undefined : text(renewed) ?? "period";
  const budgetPeriod = PERIODS.find(({ durations }) => durations.test(duration ?? ""))?.period;
  if (maxUsd !== undefined && duration !== undefined) {
    notices.check(
      subject,
      budgetPeriod === undefined
        ? `its budget was renewed every ${duration}, and is not any more`
        : `its budget was renewed every ${duration}: it renews each ${budgetPeriod} (UTC), and begins unspent`,
    );
  }
  const leftUsd = maxUsd === undefined
    ? undefined
    : budgetPeriod !== undefined
    ? Math.max(0, maxUsd)
    : Math.max(0, maxUsd - (amount(record.spend) ?? 0));
  const read = modelsOf(record, team);
  if ("why" in read) return void notices.notImported(subject, read.why);
  const token = text(record.token) ?? "";
  const digest = digestFor(token, text(record.key_name));
  if (digest === undefined) {
    notices.check(subject, "the key is not known and has no usable digest: a new one is issued");
  }
  return {
    account,
    reference: `litellm:key:${token === "" ? `${account}:${label}` : digestOf(token)}`,
    name: text(record.key_alias) ?? "",
    digest,
    models: read.models,
    budgetCredits: leftUsd === undefined
      ? undefined
      : Math.min(Math.floor(leftUsd * creditsPerUsd + 1e-9), 1e12),
    budgetPeriod: maxUsd === undefined ? undefined : budgetPeriod,
    expiresAtMs,
  };
}

/** What a key may use; `undefined`: all. */
type Models = readonly string[] | undefined;

/**
 * The models of a key: those of its list that its team has as well, as far as the source says what these are.
 *
 * @returns Why the key is not imported if a list cannot be read: it allows nothing.
 */
function modelsOf(
  record: JsonObject,
  listed: JsonObject | undefined,
): { readonly models: Models } | { readonly why: string } {
  const own = namesOf(record.models);
  const team = namesOf(listed === undefined ? record.team_models : listed.models);
  if (own === null || team === null) return { why: "its models are not a list of names" };
  const isTeams = Array.isArray(record.models) && record.models.includes(TEAM_MODELS);
  // a list of keys has an empty list of the team's models, whatever these are
  const isUnknown = !isEmpty(record.team_id) && listed === undefined && isEmpty(record.team_models);
  if (isUnknown && (isTeams || own === undefined)) {
    return {
      why:
        "it may use its team's models, which the list does not have: pass the reply of /team/list as well (--keys)",
    };
  }
  if (own === undefined || isTeams) return { models: team };
  return { models: team === undefined ? own : own.filter((one) => isAmong(one, team)) };
}

/** Names of models; `undefined` for all, which LiteLLM writes as an empty list or a word; `null` if they cannot be read. */
function namesOf(value: unknown): Models | null {
  if (isNull(value) || (Array.isArray(value) && value.length === 0)) return undefined;
  if (!Array.isArray(value)) return null;
  const names = value.filter((one): one is string => typeof one === "string" && one !== "");
  if (names.length < value.length) return null;
  return names.includes(ALL_MODELS) ? undefined : names;
}

/** Whether a key that may call some routes, or all, may ask models; not if that cannot be read. */
function asksModels(routes: unknown): boolean {
  if (isEmpty(routes)) return true;
  return Array.isArray(routes) &&
    routes.some((one) => typeof one === "string" && MODEL_ROUTES.test(one));
}

function isAmong(model: string, names: readonly string[]): boolean {
  return names.some((name) =>
    name === model || (name.endsWith("*") && model.startsWith(name.slice(0, -1)))
  );
}

function digestFor(token: string, hint: string | undefined): PlannedKey["digest"] {
  return /^[0-9a-f]{64}$/i.test(token)
    ? { hex: token.toLowerCase(), hint: (hint ?? "sk-…").slice(0, 16) }
    : importedKey(token);
}

/** Which account a key belongs to: that of its user, else of its team, else the owner's. */
function accountOf(record: JsonObject): PlannedAccount {
  const user = isObject(record.user) ? record.user : {};
  const userId = text(record.user_id);
  const teamId = text(record.team_id);
  const named = (ref: string, of: string, email: string | undefined): PlannedAccount => ({
    ref,
    isOwner: false,
    email,
    handle: slug(of, "user"),
    name: email === undefined ? of : "",
    credits: 0,
    reference: `litellm:${ref}`,
  });
  if (userId !== undefined && userId !== "" && userId !== "default_user_id") {
    const email = emailOf(text(record.user_email)) ?? emailOf(text(user.user_email)) ??
      emailOf(userId);
    return named(`user:${userId}`, userId.split("@")[0]!, email);
  }
  if (teamId !== undefined && teamId !== "") {
    return named(`team:${teamId}`, `team-${text(record.team_alias) ?? teamId}`, undefined);
  }
  return OWNER;
}

function isNull(value: unknown): boolean {
  return value === null || value === undefined;
}

function isEmpty(value: unknown): boolean {
  if (value === null || value === undefined || value === false || value === "") return true;
  return Array.isArray(value) ? value.length === 0 : isObject(value) &&
    Object.keys(value).length === 0;
}
