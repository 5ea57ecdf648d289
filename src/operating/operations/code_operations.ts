import * as z from "zod";
import { wholeInput } from "../../ground/amounts/mod.ts";
import { CREDITS, DAYS } from "../../settings/config/mod.ts";
import { invalid, missing } from "../../people/operation_log/mod.ts";
import { codesOf, type MadeCode, type RedemptionCode } from "../../money/payments/mod.ts";
import { checkPackageCredits, msOf, pageInput, pageOf, timeInput } from "./lookup.ts";
import { defineRead, defineWrite, type OperationContext } from "./operation.ts";
import { codeShape, describeCode } from "./shapes/code.ts";

/** Codes that are made at once. */
export const CODES = { min: 1, max: 1_000, unit: "codes" };

async function codeOf({ parts: { codes } }: OperationContext, id: string): Promise<RedemptionCode> {
  const found = await codes.byId(id);
  if (found === undefined) throw missing("Code", id);
  return found;
}

export const CODE_LIST = defineRead({
  input: z.strictObject(pageInput),
  output: codeShape,
}, {
  name: "code.list",
  path: "/codes",
  summary: "List redemption codes, newest first, by their first characters",
  action: "payments.read",
  isList: true,
  async read(c, { limit, after }) {
    const found = await c.parts.codes.list({
      limit: limit + 1,
      after: after === undefined ? undefined : await codeOf(c, after),
    });
    return pageOf(found.map(describeCode), limit);
  },
});

/** Codes that were just made. */
export const madeCodesShape = z.object({
  codes: z.array(z.strictObject({ id: z.string(), code: z.string() })).describe(
    "The codes, which cannot be read again.",
  ),
});

export const CODE_CREATE = defineWrite({
  input: z.strictObject({
    package: z.string().min(1).max(200).optional().describe(
      "Package in the settings that a code is worth, with its credits and lifetime.",
    ),
    credits: wholeInput(CREDITS).optional().describe(
      "What a code is worth, without a package or for one without a fixed number of credits.",
    ),
    valid_days: wholeInput(DAYS).optional().describe(
      "Lifetime of the credits. Default: they never expire.",
    ),
    expires_at: timeInput.nullable().default(null).describe(
      "Until when a code can be redeemed. RFC 3339; `null`: always.",
    ),
    note: z.string().meta({ maxLength: 500 }).default("").describe("What for, for operators."),
    id: z.string().regex(/^code_[A-Za-z0-9]{16}$/).optional().describe(
      "ID of the first code, which makes the write idempotent. Default: a new one.",
    ),
    count: wholeInput(CODES).default(1).describe("How many codes."),
  }),
  output: z.strictObject({
    package: z.string().nullable(),
    credits: z.int(),
    valid_days: z.int().nullable(),
    expires_at: z.string().nullable(),
    note: z.string(),
    ids: z.array(z.string()),
  }),
  secrets: madeCodesShape,
}, {
  name: "code.create",
  path: "/codes",
  summary: "Make redemption codes, each worth credits once",
  status: 201,
  action: "payments.manage",
  find(c, { id, count }) {
    const target = madeBy(c, count, id);
    return Promise.resolve({ target, objectId: target[0]!.id });
  },
  async state({ parts }, made) {
    const first = await parts.codes.byId(made[0]!.id);
    if (first === undefined) return null;
    const { package: id, credits, valid_days, expires_at, note } = describeCode(first);
    return { package: id, credits, valid_days, expires_at, note, ids: made.map(({ id }) => id) };
  },
  async run({ codes, sales }, _c, { target, input }) {
    const { package: id, credits, valid_days: validDays, expires_at, note, count } = input;
    const offer = id === undefined ? undefined : sales.package(id);
    if (offer !== undefined && validDays !== undefined) {
      throw invalid("valid_days", "The package sets the lifetime of the credits: omit it.");
    }
    if (offer !== undefined) checkPackageCredits(offer, credits);
    await codes.make({
      offer,
      credits,
      validDays,
      expiresAtMs: msOf(expires_at) ?? undefined,
      note,
      count,
      codes: target,
    });
  },
  reply: (_c, { target, after }) => Promise.resolve({ ...after, codes: target }),
});

/** The codes of a write: the same ones when it is repeated. */
function madeBy(
  { ids }: OperationContext,
  count: number,
  firstId: string | undefined,
): MadeCode[] {
  const [first, ...rest] = codesOf(ids.text("redemption codes", 43), count);
  return [{ ...first!, id: firstId ?? first!.id }, ...rest];
}

export const CODE_REVOKE = defineWrite({
  input: z.strictObject({ code: z.string().min(1).max(200).describe("Code ID.") }),
  output: codeShape,
}, {
  name: "code.revoke",
  path: "/codes/{code}/revoke",
  summary: "Revoke a code that was not redeemed",
  action: "payments.manage",
  async find(c, { code: id }) {
    const code = await codeOf(c, id);
    return { target: code, objectId: code.id };
  },
  state: async (c, { id }) => describeCode(await codeOf(c, id)),
  run: async ({ codes }, _c, { target }) => await codes.revoke(target.id),
});
