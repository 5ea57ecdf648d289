import * as z from "zod";
import type { Account, ExpiringKey } from "../../people/accounts/mod.ts";
import type { LogEntry } from "../../people/operation_log/mod.ts";
import type { Budget, ExpiringLot, LowBalance } from "../../money/ledger/mod.ts";
import type { StoppedTopUp } from "../../money/payments/mod.ts";
import type { NewAlert } from "./alert.ts";
import type { Condition } from "./conditions.ts";

/** Times before the end of a lot or key at which there is an alert, longest first. */
const EXPIRY_MARKS = [
  { name: "7d", ms: 7 * 86_400_000, words: "within 7 days" },
  { name: "1d", ms: 86_400_000, words: "within a day" },
] as const;
/** The longest of them. */
export const EXPIRY_MS = EXPIRY_MARKS[0].ms;

const number = (value: number) => value.toLocaleString("en-US");
const iso = (ms: number) => new Date(ms).toISOString();
const minute = (ms: number) => `${iso(ms).slice(0, 16).replace("T", " ")} UTC`;
const credits = (value: number) => `${number(value)} ${value === 1 ? "credit" : "credits"}`;

/** The alert of low credits: once for each newest lot. */
export function lowCreditsMark(
  { accountId, balance, lotId, granted }: LowBalance,
  { email }: Pick<Account, "email">,
): NewAlert {
  return {
    mark: `low_credits:${accountId}:${lotId}`,
    kind: "low_credits",
    accountId,
    title: `Low credits: ${email}`,
    text: `${email} has ${credits(balance)} left. The newest grant was ${credits(granted)}.`,
    data: { email, balance, newest_grant: granted },
  };
}

/**
 * The mark that a time before an expiry has reached: the nearest one that is not longer than the whole lifetime, as a key
 * that is valid for an hour is not about to expire from the beginning.
 */
function expiryMark(
  { createdAtMs, expiresAtMs }: { readonly createdAtMs: number; readonly expiresAtMs: number },
  nowMs: number,
) {
  const leftMs = expiresAtMs - nowMs;
  if (leftMs <= 0) return undefined;
  return EXPIRY_MARKS.findLast(({ ms }) => leftMs <= ms && expiresAtMs - createdAtMs > ms);
}

/** The alert of a lot that is about to expire; undefined if it has reached no mark. */
export function lotExpiringMark(
  lot: ExpiringLot,
  { email }: Pick<Account, "email">,
  nowMs: number,
): NewAlert | undefined {
  const mark = expiryMark(lot, nowMs);
  return mark && {
    mark: `lot_expiring:${lot.id}:${mark.name}`,
    kind: "lot_expiring",
    accountId: lot.accountId,
    title: `Credits expire ${mark.words}: ${email}`,
    text: `${credits(lot.remaining)} of ${email} expire on ${minute(lot.expiresAtMs)}.`,
    data: { email, lot: lot.id, remaining: lot.remaining, expires_at: iso(lot.expiresAtMs) },
  };
}

/** The alert of a key that is about to expire; undefined if it has reached no mark. */
export function keyExpiringMark(
  key: ExpiringKey,
  { email }: Pick<Account, "email">,
  nowMs: number,
): NewAlert | undefined {
  const mark = expiryMark(key, nowMs);
  const name = key.name || key.hint;
  return mark && {
    mark: `key_expiring:${key.id}:${key.expiresAtMs}:${mark.name}`,
    kind: "key_expiring",
    accountId: key.accountId,
    title: `Key expires ${mark.words}: ${name}`,
    text: `The key ${name} of ${email} expires on ${minute(key.expiresAtMs)}.`,
    data: { email, key: key.id, name: key.name, expires_at: iso(key.expiresAtMs) },
  };
}

/** Whose budget it is, for people, and who sees the alert beside operators. */
export interface AlertedOwner {
  /** Such as `the key laptop of ada@example.com`. */
  readonly name: string;
  readonly accountId: string | null;
  /** The team whose leads see it. */
  readonly teamId: string | null;
}

/**
 * The alert of a budget that is spent to a percentage: once in each period.
 *
 * @param owner Whose it is, and who sees it.
 */
export function budgetMark(budget: Budget, owner: AlertedOwner, percent: number): NewAlert {
  const { id, period, startsAtMs, renewsAtMs, raise, spent } = budget;
  const all = budget.credits + (raise?.credits ?? 0);
  const { name, accountId, teamId } = owner;
  const renews = renewsAtMs === null ? "It does not renew" : `It renews on ${minute(renewsAtMs)}`;
  return {
    mark: `budget_mark:${id}:${startsAtMs}:${percent}`,
    kind: "budget_mark",
    accountId,
    teamId,
    title: `Budget ${percent} % spent: ${name}`,
    text: `${credits(spent)} of the ${ADJECTIVES[period]} budget of ${
      credits(all)
    } of ${name} are spent. ${renews}.`,
    data: {
      budget: id,
      period,
      percent,
      credits: all,
      spent,
      renews_at: renewsAtMs === null ? null : iso(renewsAtMs),
    },
  };
}

const ADJECTIVES = { day: "daily", week: "weekly", month: "monthly", life: "lifetime" } as const;

/** The alert of automatic purchases that stopped: once for each stop. */
export function topUpStoppedMark(
  { accountId, packageId, why, stoppedAtMs }: StoppedTopUp,
  { email }: Pick<Account, "email">,
): NewAlert {
  return {
    mark: `top_up_stopped:${accountId}:${stoppedAtMs}`,
    kind: "top_up_stopped",
    accountId,
    title: `Automatic top-up stopped: ${email}`,
    text: `${
      why.replace(/\.$/, "")
    }. Nothing more is bought for ${email} until the top-up is turned on again on the page Credits.`,
    data: { email, package: packageId, why, stopped_at: iso(stoppedAtMs) },
  };
}

/** The alert of an owner who signed in although there are providers: once for each time. */
export function ownerSignedInMark(
  { id, actor, accountId, address, atMs, after }: LogEntry,
): NewAlert {
  const by = signInRow.parse(after).by === "link" ? "a one-time link" : "a password";
  return {
    mark: `owner_signed_in:${id}`,
    kind: "owner_signed_in",
    accountId,
    title: `Owner signed in with ${by}: ${actor}`,
    text:
      `${actor} signed in with ${by} instead of a provider, from ${address} on ${minute(atMs)}. ` +
      "If no owner did, end the account's sessions, and replace its password (sluice account link).",
    data: { email: actor, by, address, at: iso(atMs) },
  };
}

/** What such a row says besides. */
const signInRow = z.object({ by: z.enum(["password", "link"]) });

/** The alert of a target that is left alone, as it fails. */
export function circuitOpenedMark({ name, detail, beganAtMs }: Condition): NewAlert {
  const target = name.replace("circuit:", "");
  return {
    mark: `circuit_opened:${target}:${beganAtMs}`,
    kind: "circuit_opened",
    title: `Circuit open: ${target}`,
    text:
      `${target} fails, so requests go to other targets where there are any. Last failure: ${detail}`,
    data: { target, since: iso(beganAtMs) },
  };
}

/** The alert of a target that works again. */
export function circuitClosedMark({ name, beganAtMs, seenAtMs }: Condition): NewAlert {
  const target = name.replace("circuit:", "");
  return {
    mark: `circuit_closed:${target}:${beganAtMs}`,
    kind: "circuit_closed",
    title: `Circuit closed: ${target}`,
    text: `${target} works again. Its circuit was open from ${minute(beganAtMs)} to ${
      minute(seenAtMs)
    }.`,
    data: { target, since: iso(beganAtMs), until: iso(seenAtMs) },
  };
}

/** The alert of a disk that is nearly full. */
export function diskLowMark({ name, detail, beganAtMs }: Condition): NewAlert {
  return {
    mark: `disk_low:${name}:${beganAtMs}`,
    kind: "disk_low",
    title: "Disk nearly full",
    text: `${detail}. Without space, requests are rejected with 503.`,
    data: { since: iso(beganAtMs) },
  };
}
