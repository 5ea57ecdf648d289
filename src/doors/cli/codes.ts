import type { Command } from "commander";
import { CODES } from "../../operating/operations/mod.ts";
import { CREDITS } from "../../settings/config/mod.ts";
import {
  CODE_CREATE,
  CODE_REVOKE,
  describeCode,
  isoOf,
  madeCodesShape,
} from "../../operating/operations/mod.ts";
import type { RedemptionCode } from "../../money/payments/mod.ts";
import type { CommandContext, CommandParts } from "./context.ts";
import { UsageError } from "./context.ts";
import { argument, defineCommand, option } from "./define_command.ts";
import { parseCount, parseDuration, table, time } from "./format.ts";
import { operate } from "./operate.ts";

interface CreateOptions {
  readonly package?: string;
  readonly credits?: string;
  readonly valid?: string;
  readonly expires?: string;
  readonly note?: string;
  readonly count?: string;
}

const DAY_MS = 86_400_000;

/** `sluice codes …` */
export function codesCommand(program: Command, context: CommandContext): void {
  const codes = program.command("codes").description(
    "manage redemption codes, each worth credits once",
  );

  defineCommand<CreateOptions>(codes, context, {
    name: "create",
    description: "create codes; they are shown once",
    options: [
      option("--package <id>", "worth a package, with its credits and lifetime"),
      option("--credits <number>", "worth a number of credits"),
      option(
        "--valid <duration>",
        "lifetime of the credits, in whole days (default: never expire)",
      ),
      option(
        "--expires <duration>",
        "how long the code can be redeemed, e.g. 90d (default: always)",
      ),
      option("--note <text>", "what they are for, for operators"),
      option("--count <number>", "how many codes (default: 1)"),
    ],
    help:
      "\nExample:\n  sluice codes create --package starter --count 20 --expires 90d --note fair",
    opens: "database",
    async run({ options, parts, config, print }) {
      if (options.package !== undefined && options.valid !== undefined) {
        throw new UsageError("--package sets the lifetime: omit --valid");
      }
      const credits = options.package === undefined
        ? undefined
        : parts.sales.package(options.package).credits;
      if (credits !== null && credits !== undefined && options.credits !== undefined) {
        throw new UsageError(`--package sets the credits (${credits}): omit --credits`);
      }
      const reply = await operate({ context, parts, config }, CODE_CREATE, {
        ...(options.package === undefined ? {} : { package: options.package }),
        ...(options.credits === undefined
          ? {}
          : { credits: parseCount("--credits", options.credits, CREDITS) }),
        ...(options.valid === undefined
          ? {}
          : { valid_days: Math.ceil(parseDuration("--valid", options.valid) / DAY_MS) }),
        ...(options.expires === undefined
          ? {}
          : { expires_at: isoOf(parts.clock.now() + parseDuration("--expires", options.expires)) }),
        ...(options.note === undefined ? {} : { note: options.note }),
        ...(options.count === undefined
          ? {}
          : { count: parseCount("--count", options.count, CODES) }),
      });
      const { codes: made } = madeCodesShape.parse(reply);
      print(
        { codes: made },
        () =>
          `${made.map(({ code }) => code).join("\n")}\n\nCopy them now: you won't be able to see ` +
          "them again.\n",
      );
    },
  });

  defineCommand(codes, context, {
    name: "list",
    description: "list codes by their first characters, newest first",
    opens: "database",
    async run({ parts, print }) {
      const emails = await emailsOf(parts);
      const all = await parts.codes.list();
      print(
        { codes: all.map((one) => plain(one, emails)) },
        () => table(all.map((one) => row(one, { emails, nowMs: parts.clock.now() }))),
      );
    },
  });

  defineCommand<{ id: string }>(codes, context, {
    name: "revoke",
    description: "revoke a code that was not redeemed",
    arguments: [argument("<id>", "code ID (code_…), as listed")],
    opens: "database",
    async run({ options: { id }, parts, config, print }) {
      await operate({ context, parts, config }, CODE_REVOKE, { code: id });
      print({ id, revoked: true }, () => `Revoked ${id}.\n`);
    },
  });
}

async function emailsOf({ accounts }: CommandParts): Promise<ReadonlyMap<string, string>> {
  return new Map((await accounts.list()).map(({ id, email }) => [id, email]));
}

function plain(code: RedemptionCode, emails: ReadonlyMap<string, string>) {
  const { redeemed_by: by, ...rest } = describeCode(code);
  return { ...rest, redeemed_by: by === null ? null : emails.get(by) ?? by };
}

function row(
  code: RedemptionCode,
  { emails, nowMs }: { readonly emails: ReadonlyMap<string, string>; readonly nowMs: number },
) {
  const { redeemed_by } = plain(code, emails);
  return {
    id: code.id,
    code: `${code.hint}…`,
    worth: code.packageName ?? "credits",
    credits: code.credits,
    state: code.redeemedAtMs !== null
      ? "redeemed"
      : code.revokedAtMs !== null
      ? "revoked"
      : code.expiresAtMs !== null && code.expiresAtMs <= nowMs
      ? "expired"
      : "open",
    by: redeemed_by,
    expires: time(code.expiresAtMs),
    note: code.note || null,
  };
}
