import type { Command } from "commander";
import {
  BOUND_WORDS,
  readBilled,
  readRange,
  reconcile,
  type ReconciledDay,
  type TokenSums,
} from "../../money/usage/mod.ts";
import type { CommandContext } from "./context.ts";
import { argument, defineCommand, option } from "./define_command.ts";
import { parsePercent, table } from "./format.ts";
import { asCommandError } from "./operate.ts";
import { readNamed } from "./read_named.ts";

interface ReconcileOptions {
  readonly file?: string;
  readonly since?: string;
  readonly until?: string;
  readonly upstream?: string;
  readonly tolerance: string;
}

const WEEK_MS = 7 * 86_400_000;

/** `sluice usage reconcile` */
export function reconcileCommand(usage: Command, context: CommandContext): void {
  defineCommand<ReconcileOptions>(usage, context, {
    name: "reconcile",
    description: "compare counted, reported and billed tokens by upstream and day",
    arguments: [argument("[file]", "the provider's list of billed tokens, as CSV")],
    options: [
      option("--since <bound>", "beginning of the range (default: 7d)"),
      option("--until <bound>", "end of the range, which is not part of it (default: now)"),
      option("--upstream <name>", "one upstream; the list is taken to be of it"),
      option("--tolerance <percent>", "differences up to this are fine", "10"),
    ],
    help: `\nBounds are ${BOUND_WORDS}. Days are days of UTC.` +
      "\nThe list has a line with the names of its columns, among them a day, input_tokens and output_tokens; lines of a day add up." +
      "\nThe exit status is 1 if a difference is larger than the tolerance." +
      "\n\nExamples:\n  sluice usage reconcile\n" +
      "  sluice usage reconcile openai-usage.csv --upstream openai --since 30d",
    opens: "database",
    async run({ options, parts: { database, clock }, print }) {
      try {
        const tolerance = parsePercent("--tolerance", options.tolerance);
        const nowMs = clock.now();
        const { since = "7d", until } = options;
        const range = readRange({ since, until, zone: "UTC", nowMs, firstMs: nowMs - WEEK_MS });
        const { file } = options;
        const billed = file === undefined ? [] : readBilled(await readNamed(context, file));
        const days = (await reconcile(database, range, billed))
          .filter(({ upstream }) =>
            options.upstream === undefined || [options.upstream, ""].includes(upstream)
          );
        print(days, () => text(days, tolerance));
        const differing = days.filter((one) => faultsOf(one, tolerance).length > 0).length;
        if (differing > 0) {
          throw new Error(
            `${differing} of ${days.length} rows differ by more than ${options.tolerance} %`,
          );
        }
      } catch (error) {
        throw asCommandError(error);
      }
    },
  });
}

function text(days: readonly ReconciledDay[], tolerance: number): string {
  if (days.length === 0) return "(no charged requests)\n";
  const hasBilled = days.some(({ billed }) => billed !== undefined);
  const both = (sums: TokenSums | undefined) =>
    sums === undefined ? "-" : `${sums.input} / ${sums.output}`;
  return `${
    table(days.map((one) => ({
      day: one.day,
      upstream: one.upstream || "(any)",
      requests: one.requests,
      reporting: one.reporting,
      counted: both(one.counted),
      reported: both(one.reported),
      charged: both(one.charged),
      ...hasBilled && { billed: both(one.billed) },
      "": faultsOf(one, tolerance).join(", "),
    })))
  }\nTokens of input / output.\n`;
}

/** What differs by more than the tolerance, in words. */
function faultsOf(
  { reported, countedOfReporting, charged, billed }: ReconciledDay,
  tolerance: number,
): string[] {
  return [
    ...differences("reported", reported, countedOfReporting, tolerance),
    ...billed === undefined ? [] : differences("billed", billed, charged, tolerance),
  ];
}

function differences(what: string, one: TokenSums, other: TokenSums, tolerance: number): string[] {
  return (["input", "output"] as const).flatMap((name) => {
    const [more, less] = [one[name], other[name]];
    if (Math.abs(more - less) <= less * tolerance / 100) return [];
    const percent = less === 0
      ? ""
      : ` ${more > less ? "+" : ""}${Math.round(100 * (more / less - 1))} %`;
    return [`${name} ${what}${percent}`];
  });
}
