import type { Command } from "commander";
import {
  CODE_CREATE,
  CODE_LIST,
  CODE_REVOKE,
  type ReplyOf,
} from "../../operating/operations/mod.ts";
import type { CommandContext } from "./context.ts";
import { parseDuration, table, time } from "./format.ts";
import { lifetime, operationCommand } from "./operation_command.ts";
import { DAY_MS } from "../../ground/time.ts";

/** `sluice codes …` */
export function codesCommand(program: Command, context: CommandContext): void {
  const codes = program.command("codes").description(
    "manage redemption codes, each worth credits once",
  );

  operationCommand(codes, context, CODE_CREATE, {
    name: "create",
    description: "create codes; they are shown once",
    fields: {
      package: ["--package <id>", "worth a package, with its credits and lifetime"],
      credits: ["--credits <number>", "worth a number of credits"],
      valid_days: [
        "--valid <duration>",
        "lifetime of the credits, in whole days (default: never expire)",
        (text, flag) => Math.ceil(parseDuration(flag, text) / DAY_MS),
      ],
      expires_at: [
        "--expires <duration>",
        "how long the code can be redeemed, e.g. 90d (default: always)",
        lifetime,
      ],
      note: ["--note <text>", "what they are for, for operators"],
      count: ["--count <number>", "how many codes (default: 1)"],
    },
    help:
      "\nExample:\n  sluice codes create --package starter --count 20 --expires 90d --note fair",
    text: ({ codes }) =>
      `${codes.map(({ code }) => code).join("\n")}\n\nCopy them now: you won't be able to see ` +
      "them again.\n",
  });

  operationCommand(codes, context, CODE_LIST, {
    name: "list",
    async text({ data }, { parts, config }) {
      const ids = data.flatMap(({ redeemed_by }) => redeemed_by ?? []);
      const accounts = await parts.accounts.byIds([...new Set(ids)]);
      const nameOf = (id: string) =>
        config.settings.packages.find((one) => one.id === id)?.name ?? id;
      return table(data.map((one) => ({
        id: one.id,
        code: `${one.hint}…`,
        worth: one.package === null ? "credits" : nameOf(one.package),
        credits: one.credits,
        state: stateOf(one, parts.clock.now()),
        by: one.redeemed_by && (accounts.get(one.redeemed_by)?.email ?? one.redeemed_by),
        expires: one.expires_at && time(Date.parse(one.expires_at)),
        note: one.note || null,
      })));
    },
  });

  operationCommand(codes, context, CODE_REVOKE, {
    name: "revoke",
    fields: { code: ["<id>", "code ID (code_…), as listed"] },
    text: ({ id }) => `Revoked ${id}.\n`,
  });
}

function stateOf(
  { redeemed_at, revoked_at, expires_at }: ReplyOf<typeof CODE_REVOKE>,
  nowMs: number,
): string {
  if (redeemed_at !== null) return "redeemed";
  if (revoked_at !== null) return "revoked";
  return expires_at !== null && Date.parse(expires_at) <= nowMs ? "expired" : "open";
}
