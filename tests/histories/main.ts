/**
 * Random histories: gateways under load that are killed and started with clocks that are off, a database that goes away, keys that are
 * revoked and budgets that end; and whether every promise about credits and keys was kept.
 *
 * `deno task soak:histories --seconds 600 --seed 7 --kind server`. Each history has a database of its own; without `--kind`, all that
 * this machine can have take turns, but for one that loses what it had committed. With `--outages 10`, nothing goes wrong but that the database goes away as often, and a history
 * ends then; `--within 3` fails if a gateway's callers have no reply for more seconds. `--gateways 8` has as many. The same seed makes the same plans; what they meet is a matter of time. Exit code 1 when something did not
 * hold; the last line says what, and the directory is kept.
 */

import { parseArgs } from "node:util";
import { say } from "../fake/command.ts";
import { canHave, type DatabaseKind, DATABASES } from "./database.ts";
import { History } from "./history.ts";

/** How long one history is. */
const HISTORY_SECONDS = 40;

const { values } = parseArgs({
  args: Deno.args,
  options: {
    seconds: { type: "string", default: "600" },
    seed: { type: "string", default: String(1 + Math.floor(Math.random() * 2 ** 31)) },
    kind: { type: "string" },
    gateways: { type: "string" },
    outages: { type: "string" },
    within: { type: "string" },
  },
});

function usage(message: string): never {
  Deno.stderr.writeSync(new TextEncoder().encode(`${message}\n`));
  Deno.exit(2);
}

function positive(name: "seconds" | "seed" | "gateways" | "outages" | "within"): number {
  const value = Number(values[name]);
  return value > 0 ? value : usage(`--${name} ${values[name]}: a number above 0`);
}

function ifGiven(name: "gateways" | "outages" | "within"): number | undefined {
  return values[name] === undefined ? undefined : positive(name);
}

function kindOf(name: string): DatabaseKind {
  return DATABASES.find((kind) => kind === name) ??
    usage(`--kind ${name}: there are ${DATABASES.join(", ")}`);
}

const [seconds, seed] = [positive("seconds"), positive("seed")];
const [gateways, outages] = [ifGiven("gateways"), ifGiven("outages")];
const withinMs = 1_000 * (ifGiven("within") ?? Infinity);
const asked = values.kind?.split(",").map(kindOf) ?? DATABASES.filter((kind) => kind !== "loss");
const kinds: DatabaseKind[] = [];
for (const kind of asked) {
  if (await canHave(kind)) kinds.push(kind);
  else say(`skipped, as this machine has no programs for it: ${kind}`);
}
const directory = await Deno.makeTempDir({ prefix: "sluice-histories-" });
const untilTick = performance.now() + seconds * 1_000;
const failures: string[] = [];
const isOver = (at: number) =>
  kinds.length === 0 ||
  (outages === undefined ? performance.now() >= untilTick : at === kinds.length);
for (let at = 0; failures.length === 0 && !isOver(at); at++) {
  const kind = kinds[at % kinds.length]!;
  const leftSeconds = (untilTick - performance.now()) / 1_000;
  const own = `${directory}/${at}`;
  await Deno.mkdir(own);
  const options = { kind, seed: seed + at, directory: own, say, gateways, outages };
  say(`history ${at}: ${kind}, seed ${seed + at}`);
  try {
    await using history = await History.open({
      ...options,
      seconds: Math.min(HISTORY_SECONDS, Math.max(5, leftSeconds)),
    });
    const { failures: found, ...counts } = await history.run();
    const gaps = counts.gapsMs.toSorted((one, other) => one - other);
    const late = gaps.filter((ms) => ms > withinMs).map((ms) => `no reply for ${ms} ms`);
    failures.push(...[...found, ...late].map((one) => `history ${at}: ${one}`));
    say(`history ${at}: ${JSON.stringify(counts)}, ${found.length + late.length} failures`);
    say(
      `without a reply: ${gaps[gaps.length >> 1] ?? 0} ms as a rule, ${
        gaps.at(-1) ?? 0
      } ms at worst`,
    );
  } catch (error) {
    failures.push(`history ${at}: ${error instanceof Error ? error.stack : error}`);
  }
  if (failures.length === 0) await Deno.remove(own, { recursive: true });
}
const verdict = failures.length === 0 ? "passed" : `failed: ${failures.slice(0, 12).join(" | ")}`;
if (failures.length === 0) await Deno.remove(directory, { recursive: true });
else say(`kept in ${directory}`);
say(`seed ${seed}`);
say(`histories: ${verdict}`);
Deno.exit(failures.length === 0 ? 0 : 1);
