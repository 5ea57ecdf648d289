import { importedKey } from "../../../people/accounts/mod.ts";
import { emailOf, slug } from "../names.ts";
import type { Notices, PlannedAccount, PlannedKey } from "../plan.ts";
import {
  isTrue,
  listOf,
  numberOf,
  type SourceDatabase,
  type SourceRow,
  textOf,
} from "./source_database.ts";

/** What users and tokens are read with. */
export interface UserOptions {
  /** The group whose channels and prices are imported. */
  readonly group: string;
  readonly creditsPerUsd: number;
  readonly quotaPerUsd: number;
  readonly nowMs: number;
  readonly notices: Notices;
}

/** Most credits of one grant. */
const MAX_CREDITS = 1e12;

/** Reads users with what is left of their quota, and their tokens. */
export function readUsers(
  source: SourceDatabase,
  options: UserOptions,
): { readonly accounts: readonly PlannedAccount[]; readonly keys: readonly PlannedKey[] } {
  const accounts = new Map(
    source.rows("users").flatMap((row): [string, PlannedAccount][] => {
      const account = accountOf(row, options);
      return account === undefined ? [] : [[account.ref, account]];
    }),
  );
  const keys = source.rows("tokens").flatMap((row) => keyOf(row, accounts, options) ?? []);
  return { accounts: [...accounts.values()], keys };
}

function accountOf(row: SourceRow, options: UserOptions): PlannedAccount | undefined {
  const { notices, group } = options;
  const id = textOf(row, "id") ?? "?";
  const username = textOf(row, "username") ?? `user-${id}`;
  const subject = `user ${username}`;
  if (numberOf(row, "status") !== 1) return void notices.notImported(subject, "it is disabled");
  const own = textOf(row, "group");
  if (own !== undefined && own !== group) {
    notices.check(
      subject,
      `its group ${own} had prices and models of its own; it gets those of all`,
    );
  }
  if (numberOf(row, "role") >= 10) {
    notices.check(subject, "it was an administrator, and becomes an ordinary account");
  }
  return {
    ref: id,
    isOwner: false,
    email: emailOf(textOf(row, "email")),
    handle: slug(username, `user-${id}`),
    name: textOf(row, "display_name") ?? username,
    credits: creditsOf(numberOf(row, "quota"), options, subject),
    reference: `new-api:user:${id}`,
  };
}

function keyOf(
  row: SourceRow,
  accounts: ReadonlyMap<string, PlannedAccount>,
  options: UserOptions,
): PlannedKey | undefined {
  const { notices, nowMs, group } = options;
  const id = textOf(row, "id") ?? "?";
  const name = textOf(row, "name") ?? "";
  const subject = `token ${id}${name === "" ? "" : ` (${name})`}`;
  const reject = (why: string) => void notices.notImported(subject, why);
  if (numberOf(row, "status") !== 1) return reject("it is disabled, expired or used up");
  const account = accounts.get(textOf(row, "user_id") ?? "");
  if (account === undefined) return reject("its user is not imported");
  const expiredTime = numberOf(row, "expired_time"); // seconds; -1, and nothing else: never
  const expiresAtMs = expiredTime === -1 ? undefined : expiredTime * 1_000;
  if (expiresAtMs !== undefined && expiresAtMs <= nowMs) return reject("it has expired");
  for (const column of ["allow_ips", "subnet"]) {
    if (textOf(row, column) !== undefined) {
      notices.notImported(`${subject} ${column}`, "keys are valid from every address");
    }
  }
  const own = textOf(row, "group");
  if (own !== undefined && own !== group) {
    notices.notImported(`${subject} group ${own}`, "models and prices are the same for everyone");
  }
  const key = textOf(row, "key");
  const digest = key === undefined ? undefined : importedKey(`sk-${key.replace(/^sk-/, "")}`);
  if (digest === undefined) notices.check(subject, "its key has another form: a new one is issued");
  return {
    account: account.ref,
    reference: `new-api:token:${id}`,
    name,
    digest,
    models: modelsOf(row),
    budgetCredits: isTrue(row, "unlimited_quota")
      ? undefined
      : creditsOf(numberOf(row, "remain_quota"), options, subject),
    expiresAtMs,
  };
}

/** New-API has a switch and a list, One-API a list. */
function modelsOf(row: SourceRow): string[] | undefined {
  if (Object.hasOwn(row, "model_limits_enabled")) {
    return isTrue(row, "model_limits_enabled") ? listOf(row, "model_limits") : undefined;
  }
  return textOf(row, "models") === undefined ? undefined : listOf(row, "models");
}

/** Credits for quota, rounded down: nobody gets more than what was left. */
function creditsOf(
  quota: number,
  { quotaPerUsd, creditsPerUsd, notices }: UserOptions,
  subject: string,
): number {
  const credits = Math.max(0, Math.floor(quota / quotaPerUsd * creditsPerUsd + 1e-9));
  if (credits <= MAX_CREDITS) return credits;
  notices.check(subject, "its quota is more than 1,000,000,000,000 credits, which it gets");
  return MAX_CREDITS;
}
