/**
 * Mutation testing: puts one fault at a time into a copy of the repository and expects a test to fail for it.
 *
 * `deno task mutate [--only NAME]… [--list] [--workers 2]` tries the list. `--only` takes the beginning of names too. Exit
 * code 1 when a mutation survives, or when its tests fail without it; the last line says how many were caught.
 *
 * `deno task mutate --make 200 [PATH…] [--since COMMIT] [--seed N] [--tests 6]` makes faults by rule, at random, as
 * many in each place that is named, and runs the nearest tests for each: conditions that always or never hold, comparisons flipped,
 * one side of `&&` and `||`, `Math.min` for `Math.max`, a clause of SQL left out. Survivors are listed, and how many were caught in
 * each place. Exit code 1 when less than nine of ten were caught.
 */

import { parseArgs } from "node:util";
import { joinPath } from "../../src/ground/std/mod.ts";
import { say } from "../fake/command.ts";
import { filesOfRepository, inCopies, nameOf, ROOT, share, timed } from "./copies.ts";
import { MUTATIONS } from "./list.ts";
import { isOf, makeFaults } from "./make.ts";
import { mutated, type TestRun } from "./mutation.ts";

const { values, positionals: of } = parseArgs({
  args: Deno.args,
  allowPositionals: true,
  options: {
    only: { type: "string", multiple: true, default: [] },
    list: { type: "boolean", default: false },
    workers: { type: "string", default: "2" },
    make: { type: "string" },
    since: { type: "string" },
    seed: { type: "string", default: String(1 + Math.floor(Math.random() * 2 ** 31)) },
    tests: { type: "string", default: "6" },
  },
});
const workers = Number(values.workers);
if (!Number.isInteger(workers) || workers < 1) {
  usage(`--workers ${values.workers}: a number above 0`);
}
if (of.length > 0 && values.make === undefined) usage(`${of[0]}: paths are for --make`);
for (const one of values.only) {
  if (!MUTATIONS.some(({ name }) => name.startsWith(one))) usage(`--only ${one}: no such mutation`);
}
const chosen = MUTATIONS.filter(({ name }) =>
  values.only.length === 0 || values.only.some((one) => name.startsWith(one))
);

function usage(message: string): never {
  Deno.stderr.writeSync(new TextEncoder().encode(`${message}\n`));
  Deno.exit(2);
}

/** Tests of one file that are run alike. */
function fileOf({ file, proofs = false }: TestRun): string {
  return `${file} ${proofs}`;
}

async function mutate(): Promise<boolean> {
  const files = await filesOfRepository();
  for (const one of chosen) {
    const source = await Deno.readTextFile(joinPath(ROOT, one.file));
    try {
      mutated(source, one);
    } catch (error) {
      usage(error instanceof Error ? error.message : String(error));
    }
  }
  let [passed, failed] = [0, 0];
  await inCopies(workers, files, async (copies) => {
    const runs = new Map(chosen.flatMap(({ tests }) => tests).map((run) => [nameOf(run), run]));
    const byFile = Map.groupBy(runs.values(), fileOf);
    say(`${runs.size} sets of tests of ${byFile.size} files without a mutation`);
    const unfit = new Set<string>();
    const usualMs = new Map<string, number>();
    await share(copies, [...byFile], async (copy, [name, ofFile]) => {
      const tookMs = await copy.passTogether(ofFile);
      if (tookMs !== undefined) return void usualMs.set(name, tookMs);
      for (const run of ofFile) {
        const [{ what, passed }, took] = await timed(copy.run(run));
        if (passed?.length) continue;
        unfit.add(nameOf(run));
        say(`FAILS WITHOUT A MUTATION ${nameOf(run)} (${took}): ${what}`);
      }
    });
    say(`${chosen.length} mutations`);
    await share(copies, chosen, async (copy, mutation) => {
      if (mutation.tests.some((run) => unfit.has(nameOf(run)))) {
        failed++;
        return say(`not tried ${mutation.name}: its tests fail without it`);
      }
      const tests = mutation.tests.map((run) => ({ ...run, usualMs: usualMs.get(fileOf(run)) }));
      const [{ failed: caught, what }, took] = await timed(
        copy.tryOut(mutation.file, (source) => mutated(source, mutation), tests),
      );
      if (caught) passed++;
      else failed++;
      say(
        caught
          ? `caught   ${mutation.name} (${took}) by ${what}`
          : `SURVIVED ${mutation.name} (${took}): ${mutation.why} Tests: ${what}`,
      );
    });
  });
  say(`${passed} passed, ${failed} failed`);
  return failed === 0;
}

if (values.make !== undefined) {
  const [count, seed, tests] = [Number(values.make), Number(values.seed), Number(values.tests)];
  if (!(count > 0 && seed > 0 && tests > 0)) {
    usage("--make, --seed and --tests are numbers above 0");
  }
  const places = of.map((path) => path.replace(/^\.\/|\/$/g, ""));
  const files = await filesOfRepository();
  for (const place of places) {
    if (!files.some((file) => isOf(place, file))) {
      usage(`${place}: there is no such file or folder`);
    }
  }
  const { since } = values;
  if (!await makeFaults({ count, of: places, since, seed, workers, tests })) Deno.exit(1);
} else if (values.list) {
  for (const { name, file, why } of chosen) say(`${name}\n  ${file}\n  ${why}`);
} else if (!await mutate()) Deno.exit(1);
