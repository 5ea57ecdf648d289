import { joinPath } from "../../src/ground/std/mod.ts";
import { say } from "../fake/command.ts";
import { Random } from "../fake/random.ts";
import { changedSince, filesOfRepository, inCopies, ROOT, share, timed } from "./copies.ts";
import { isEquivalent } from "./equivalent.ts";
import { type Fault, faultsIn, withFault } from "./faults.ts";
import { nearestTests, readImports } from "./nearest.ts";

/** What faults are made, and of what. */
export interface MakeOptions {
  readonly count: number;
  /** Files and folders, from the root of the repository; all of `src/` if there are none. */
  readonly of: readonly string[];
  /** A commit: only files that have changed since. */
  readonly since: string | undefined;
  readonly seed: number;
  readonly workers: number;
  /** Files of tests that are run for a fault, at most. */
  readonly tests: number;
}

interface Made {
  readonly file: string;
  readonly fault: Fault;
}

/** Makes faults at random and runs the nearest tests for each. Resolves with whether nine of ten were caught. */
export async function makeFaults(options: MakeOptions): Promise<boolean> {
  const files = await filesOfRepository();
  const read = (file: string) => Deno.readTextFile(joinPath(ROOT, file));
  const changed = options.since === undefined ? files : await changedSince(options.since);
  const places = options.of.length === 0 ? ["src/"] : options.of;
  const sources = files.filter((file) =>
    /^src\/.*\.tsx?$/.test(file) && changed.includes(file) &&
    places.some((place) => file === place || file.startsWith(`${place.replace(/\/$/, "")}/`))
  );
  const all: Made[] = [];
  for (const file of sources) {
    const text = await read(file);
    const lines = text.split("\n");
    for (const fault of faultsIn(file, text)) {
      if (!isEquivalent(file, fault, lines)) all.push({ file, fault });
    }
  }
  const random = new Random(options.seed);
  const chosen: Made[] = [];
  for (const rest = [...all]; chosen.length < options.count && rest.length > 0;) {
    chosen.push(...rest.splice(random.integer(0, rest.length - 1), 1));
  }
  say(`${chosen.length} of ${all.length} faults in ${sources.length} files, seed ${options.seed}`);
  const imports = await readImports(files, read);
  let caught = 0;
  const survivors: string[] = [];
  await inCopies(
    options.workers,
    files,
    (copies) =>
      share(copies, chosen, async (copy, { file, fault }) => {
        const tests = nearestTests(file, imports, options.tests);
        const [{ failed, what }, took] = await timed(
          copy.tryOut(file, (source) => withFault(source, fault), tests),
        );
        const place = `${file}:${fault.line} ${fault.kind}: ${oneLine(fault.was)}`;
        if (failed) caught++;
        else survivors.push(`${place}\n    tests: ${what}`);
        say(`${failed ? "caught  " : "SURVIVED"} ${place} (${took})${failed ? ` by ${what}` : ""}`);
      }),
  );
  if (survivors.length > 0) say("\nsurvivors:");
  for (const survivor of survivors.toSorted()) say(`  ${survivor}`);
  const part = chosen.length === 0 ? 1 : caught / chosen.length;
  say(`\n${caught} of ${chosen.length} caught (${(100 * part).toFixed(0)} %)`);
  return part >= 0.9;
}

function oneLine(text: string): string {
  const line = text.replaceAll(/\s+/g, " ").trim();
  return line.length > 100 ? `${line.slice(0, 100)}…` : line;
}
