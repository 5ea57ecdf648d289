import * as z from "zod";
import type { Account } from "../../people/accounts/mod.ts";
import {
  creditsOf,
  entriesOf,
  entriesOfCause,
  idOfReference,
  isTakenBack,
} from "../../money/ledger/mod.ts";
import {
  checkPackageCredits,
  msOf,
  type NamedPayer,
  pageBy,
  pageInput,
  payerInput,
  payerOf,
  timeInput,
} from "./lookup.ts";
import { defineRead, defineWrite, type Found, type OperationContext } from "./operation.ts";
import { wholeInput } from "../../ground/amounts/mod.ts";
import { CREDITS, MINOR_UNITS } from "../../settings/config/mod.ts";
import { onAccount } from "./rights.ts";
import { invalid } from "../../people/operation_log/mod.ts";
import { credits } from "./shapes/common.ts";
import { describeEntry, describeLot, entryShape, lotShape } from "./shapes/credits.ts";

const reference = z.string().meta({ minLength: 1, maxLength: 200 }).optional().describe(
  "Identifies it permanently, e.g. an invoice number: the same reference never takes effect twice.",
);
const note = z.string().meta({ maxLength: 500 });
const amount = wholeInput(CREDITS);

/** Credits that are moved. */
interface Move {
  readonly account: Account;
  readonly reference: string;
  /** ID of the lot or the take-back. */
  readonly id: string;
}

async function move(
  kind: "lot" | "take_back",
  c: OperationContext,
  input: NamedPayer & { readonly reference?: string | undefined },
): Promise<Found<Move>> {
  const account = await payerOf(c, input);
  const named = input.reference ?? `ref_${c.ids.text("reference", 16)}`;
  const id = idOfReference(kind, account.id, named);
  return { target: { account, reference: named, id }, account, objectId: id };
}

/** Writes that move credits, each once by its reference. */
const MOVES = { status: 201, action: "credits.move", right: onAccount } as const;

/** What a grant gave: its entry. */
async function granted({ parts }: OperationContext, { id, account }: Move) {
  const [entry] = await entriesOfCause(parts.database, id);
  return entry === undefined ? null : {
    lot: id,
    account_id: account.id,
    credits: entry.credits,
    source: entry.source,
    note: entry.note,
    at: new Date(entry.atMs).toISOString(),
  };
}

/** What a take-back took: its entry. */
async function taken({ parts }: OperationContext, { id, account }: Move) {
  const [entry] = await entriesOfCause(parts.database, id);
  const [bonus] = await entriesOfCause(parts.database, `${id}_bonus`);
  return entry === undefined ? null : {
    entry: id,
    account_id: account.id,
    lot: entry.lotId,
    taken: -entry.credits,
    bonus_taken: bonus === undefined ? 0 : -bonus.credits,
    note: entry.reason,
    at: new Date(entry.atMs).toISOString(),
  };
}

/** A reply may be made again only from what stays so: the balance is read now. */
async function balanceOf({ parts, nowMs }: OperationContext, { account }: Move): Promise<number> {
  return (await creditsOf(parts.database, account.id, nowMs)).balance;
}

const grantShape = z.strictObject({
  account: z.string().describe("Email address."),
  lot: z.string(),
  balance: credits.nullable().describe("`null` if it could not be read."),
  reference: z.string(),
  repeated: z.boolean().describe("Whether an earlier grant of this reference gave the credits."),
});

async function grantReply(
  c: OperationContext,
  { target, before }: { readonly target: Move; readonly before: unknown },
) {
  return {
    account: target.account.email,
    lot: target.id,
    balance: await balanceOf(c, target).catch(() => null),
    reference: target.reference,
    repeated: before !== null,
  };
}

/** Writes that give credits. */
const GRANTS = {
  ...MOVES,
  find: (c: OperationContext, input: Parameters<typeof move>[2]) => move("lot", c, input),
  state: granted,
  reply: grantReply,
} as const;

export const CREDITS_GET = defineRead({
  input: z.strictObject(payerInput),
  output: z.strictObject({
    account: z.string().describe("Email address."),
    balance: credits,
    held: credits,
    consumed: credits,
    requests: z.int(),
    lots: z.array(lotShape),
  }),
}, {
  name: "credits.get",
  path: "/credits",
  summary: "Get the balance and lots of an account, or of a team's pool",
  action: "account.read",
  async read(c, input) {
    const account = await payerOf(c, input);
    const own = await creditsOf(c.parts.database, account.id, c.nowMs);
    return {
      account: account.email,
      balance: own.balance,
      held: own.held,
      consumed: own.consumed,
      requests: own.requests,
      lots: own.lots.map(describeLot),
    };
  },
});

export const ENTRY_LIST = defineRead({
  input: z.strictObject({ ...payerInput, ...pageInput }),
  output: entryShape,
}, {
  name: "entry.list",
  path: "/credits/entries",
  summary: "List the entries of an account's ledger, newest first",
  action: "account.read",
  isList: true,
  async read(c, { limit, after, ...input }) {
    const { id: accountId } = await payerOf(c, input);
    const [, atMs, causeId, lotId] = /^(\d{1,16})~([^~]+)~([^~]+)$/.exec(after ?? "") ?? [];
    if (after !== undefined && lotId === undefined) {
      throw invalid("after", "Invalid cursor: use `next` of a page.");
    }
    const entries = await entriesOf(c.parts.database, {
      accountId,
      before: lotId === undefined ? undefined : { atMs: Number(atMs), causeId: causeId!, lotId },
      limit: limit + 1,
    });
    return pageBy(
      entries.map(describeEntry),
      limit,
      ({ at, cause, lot }) => `${Date.parse(at)}~${cause}~${lot}`,
    );
  },
});

export const CREDITS_GRANT = defineWrite({
  input: z.strictObject({
    ...payerInput,
    credits: amount,
    expires_at: timeInput.nullable().default(null).describe("RFC 3339; `null`: never."),
    note: note.default(""),
    reference,
  }),
  output: grantShape,
}, {
  name: "credits.grant",
  path: "/credits/grants",
  summary: "Grant credits to an account or a team's pool",
  ...GRANTS,
  async run({ sales }, _c, { target: { account, reference }, input }) {
    await sales.grant(account, {
      credits: input.credits,
      expiresAtMs: msOf(input.expires_at) ?? null,
      note: input.note,
      reference,
    });
  },
});

export const CREDITS_SELL = defineWrite({
  input: z.strictObject({
    ...payerInput,
    package: z.string().describe("ID of a package in the settings."),
    paid: z.boolean().default(false).describe(
      "Whether the account paid: its first payment earns its inviter a bonus.",
    ),
    credits: amount.optional().describe(
      "For a package without a fixed number of credits.",
    ),
    price: z.strictObject({
      amount: wholeInput(MINOR_UNITS).describe("In the currency's minor units, e.g. cents."),
      currency: z.string().meta({ pattern: "^[a-z]{3}$" }).describe("Code in lower case."),
    }).optional().describe("What was paid. Default: the package's price in US dollars."),
    note: note.default(""),
    reference,
  }),
  output: grantShape,
}, {
  name: "credits.sell",
  path: "/credits/sales",
  summary: "Record the sale of a package and grant its credits",
  ...GRANTS,
  async run({ sales }, _c, { target: { account, reference }, input }) {
    const bought = sales.package(input.package);
    const { paid, credits, price, note } = input;
    checkPackageCredits(bought, credits);
    await sales.sell(account, bought, { paid, credits, price, note, reference });
  },
});

export const CREDITS_TAKE_BACK = defineWrite({
  input: z.strictObject({
    ...payerInput,
    lot: z.string(),
    credits: amount.optional().describe("Default: all that remain."),
    note: note.describe("Why, shown to the account."),
    reference,
  }),
  output: z.strictObject({
    account: z.string().describe("Email address."),
    lot: z.string(),
    taken: credits,
    bonus_taken: credits,
    entry: z.string(),
    balance: credits.nullable(),
    reference: z.string(),
    repeated: z.boolean(),
  }),
}, {
  name: "credits.take_back",
  path: "/credits/take-backs",
  summary: "Take back the remaining credits of a grant",
  description: "Credits held by in-flight requests are not taken.",
  ...MOVES,
  find: (c, input) => move("take_back", c, input),
  state: taken,
  async run(_nouns, { parts }, { target: { account, reference }, input, guards, logIf }) {
    // Loans are recalled first, which is not the write. The rule that takes decides on a view, of which SQLite counts no changes.
    await parts.sales.takeBack(account, {
      lotId: input.lot,
      credits: input.credits,
      note: input.note,
      reference,
      guards,
      also: (id) => [logIf(isTakenBack(id))],
    });
  },
  async reply(c, { target, before, after }) {
    return {
      account: target.account.email,
      lot: after?.lot,
      taken: after?.taken,
      bonus_taken: after?.bonus_taken,
      entry: target.id,
      balance: await balanceOf(c, target).catch(() => null),
      reference: target.reference,
      repeated: before !== null,
    };
  },
});
