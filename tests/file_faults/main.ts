/**
 * Makes file calls of a running gateway fail, for its database's files only, and checks that what it acknowledged is charged
 * once, that it serves again by itself when the disk does, and that no file is damaged.
 *
 * `deno run --lock=tests/deno.lock --allow-all tests/file_faults/main.ts --seconds 600 --faults 10000 --seed 7 --classes
 * read,write,sync`. Needs Linux and a C compiler. The same seed plans the same rounds; which calls they meet depends on the
 * time that everything takes. Exit code 1 when something did not hold; the last line says what.
 */

import { parseArgs } from "node:util";
import { say } from "../fake/command.ts";
import { ALL_KINDS, type Call, CALLS, type Kind, KINDS_OF } from "./control.ts";
import { Harness } from "./harness.ts";

/** A lock that cannot be released stays until the process ends, whatever it does: only when asked for. */
const NOT_BY_DEFAULT: readonly Call[] = ["unlock"];

const { values } = parseArgs({
  args: Deno.args,
  options: {
    seconds: { type: "string", default: "600" },
    faults: { type: "string", default: "10000" },
    seed: { type: "string", default: String(1 + Math.floor(Math.random() * 2 ** 31)) },
    classes: { type: "string" },
    kinds: { type: "string", default: ALL_KINDS.join(",") },
    "without-kills": { type: "boolean", default: false },
    "without-neighbour": { type: "boolean", default: false },
  },
});

function usage(message: string): never {
  Deno.stderr.writeSync(new TextEncoder().encode(`${message}\n`));
  Deno.exit(2);
}

function positive(name: "seconds" | "faults" | "seed"): number {
  const value = Number(values[name]);
  return value > 0 ? value : usage(`--${name} ${values[name]}: a number above 0`);
}

function callOf(name: string): Call {
  return CALLS.find((call) => call === name) ??
    usage(`--classes ${name}: there are ${CALLS.join(", ")}`);
}

function kindOf(name: string): Kind {
  return ALL_KINDS.find((kind) => kind === name) ??
    usage(`--kinds ${name}: there are ${ALL_KINDS.join(", ")}`);
}

const seed = positive("seed");
const kinds = values.kinds.split(",").map(kindOf);
const calls = values.classes?.split(",").map(callOf) ??
  CALLS.filter((call) => !NOT_BY_DEFAULT.includes(call))
    .filter((call) => KINDS_OF[call].some((kind) => kinds.includes(kind)));
const directory = await Deno.makeTempDir({ prefix: "sluice-file-faults-" });
say(`file faults: seed ${seed}, in ${directory}`);
let verdict: string;
try {
  await using harness = await Harness.create({
    seed,
    seconds: positive("seconds"),
    faults: positive("faults"),
    plans: {
      calls,
      kinds,
      kills: !values["without-kills"],
      neighbour: !values["without-neighbour"],
    },
    directory,
    say,
  });
  await harness.run();
  verdict = harness.findings.verdict;
} catch (error) {
  verdict = `failed: ${error instanceof Error ? error.stack : error}`;
}
if (verdict === "passed") await Deno.remove(directory, { recursive: true });
say(`seed ${seed}`);
say(`file faults: ${verdict}`);
Deno.exit(verdict === "passed" ? 0 : 1);
