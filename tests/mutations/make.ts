import { joinPath } from "../../src/ground/std/mod.ts";
import { say } from "../fake/command.ts";
import { Random } from "../fake/random.ts";
import {
  changedSince,
  type Copy,
  filesOfRepository,
  inCopies,
  ROOT,
  share,
  timed,
} from "./copies.ts";
import { isEquivalent } from "./equivalent.ts";
import { type Fault, faultsIn, withFault } from "./faults.ts";
import type { TestRun } from "./mutation.ts";
import { nearestTests, readImports } from "./nearest.ts";
import { placeName, REACHED, withProbes } from "./probes.ts";

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

/** Of how many tests it is seen at least whether they reach a file's faults: running them once costs less than a fault that is missed. */
const MIN_LOOKED_AT = 14;

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
  const nearest = (file: string) =>
    nearestTests(file, imports, Math.max(MIN_LOOKED_AT, 2 * options.tests));
  let caught = 0;
  const survivors: string[] = [];
  await inCopies(options.workers, files, async (copies) => {
    const reaching = await readReached(
      copies,
      chosen,
      new Set(chosen.flatMap(({ file }) => nearest(file).map((run) => run.file))),
    );
    await share(copies, chosen, async (copy, made) => {
      const { file, fault } = made;
      // of all that reach it the nearest one, and then the quickest
      const near = nearest(file).map((run) => run.file);
      const runs = reaching(made, near);
      const first = near.find((test) => runs.some((run) => run.file === test));
      const tests = runs.toSorted((one, other) =>
        Number(other.file === first) - Number(one.file === first) || one.usualMs - other.usualMs
      ).slice(0, options.tests);
      const [{ failed, what }, took] = await timed(
        copy.tryOut(file, (source) => withFault(source, fault), tests),
      );
      const place = `${file}:${fault.line} ${fault.kind}: ${oneLine(fault.was)}`;
      if (failed) caught++;
      else survivors.push(`${place}\n    tests: ${what || "none reaches it"}`);
      say(`${failed ? "caught  " : "SURVIVED"} ${place} (${took})${failed ? ` by ${what}` : ""}`);
    });
  });
  if (survivors.length > 0) say("\nsurvivors:");
  for (const survivor of survivors.toSorted()) say(`  ${survivor}`);
  const part = chosen.length === 0 ? 1 : caught / chosen.length;
  say(`\n${caught} of ${chosen.length} caught (${(100 * part).toFixed(0)} %)`);
  return part >= 0.9;
}

/** Runs each test once, without a fault, and notes how long it takes and by which faults' places it comes. */
async function readReached(
  copies: readonly Copy[],
  chosen: readonly Made[],
  tests: ReadonlySet<string>,
): Promise<(made: Made, near: readonly string[]) => Required<Pick<TestRun, "file" | "usualMs">>[]> {
  const places = [...new Set(chosen.flatMap(placesOf))];
  const numbers = new Map(places.map((place, at) => [place, at]));
  const restored = await Promise.all(copies.map(async (copy) => {
    const back: [path: string, source: string][] = [];
    for (const file of new Set(chosen.map((made) => made.file))) {
      const path = joinPath(copy.root, file);
      const source = await Deno.readTextFile(path);
      back.push([path, source]);
      const here = new Map(
        places.filter((place) => place.startsWith(`${file} `)).map((
          place,
        ) => [place.slice(file.length + 1), numbers.get(place)!]),
      );
      await Deno.writeTextFile(path, withProbes(source, here, joinPath(copy.root, REACHED)));
    }
    return back;
  }));
  const found = new Map<
    string,
    { readonly usualMs: number; readonly reached: ReadonlySet<string> }
  >();
  const startedTick = performance.now();
  await share(copies, [...tests], async (copy, file) => {
    const path = joinPath(copy.root, REACHED);
    await Deno.writeTextFile(path, "");
    const beganTick = performance.now();
    const { failed, what } = await copy.run({ file });
    if (failed) return say(`left out ${file}, which fails without a fault: ${what}`);
    const lines = (await Deno.readTextFile(path)).split("\n").filter((line) => line !== "");
    const reached = new Set(lines.map((line) => places[Number(line)]!));
    found.set(file, { usualMs: performance.now() - beganTick, reached });
  });
  for (const [path, source] of restored.flat()) await Deno.writeTextFile(path, source);
  const seconds = (performance.now() - startedTick) / 1_000;
  say(`${found.size} files of tests run without a fault in ${seconds.toFixed(0)} s`);
  return (made, near) => {
    const own = placesOf(made);
    return [...found].flatMap(([file, { usualMs, reached }]) => {
      const isReached = own.length === 0
        ? near.includes(file)
        : own.some((place) => reached.has(place));
      return isReached ? { file, usualMs } : [];
    });
  };
}

/** The places of a fault, which others may share. */
function placesOf({ file, fault }: Made): readonly string[] {
  return fault.places.map((place) => `${file} ${placeName(place)}`);
}

function oneLine(text: string): string {
  const line = text.replaceAll(/\s+/g, " ").trim();
  return line.length > 100 ? `${line.slice(0, 100)}…` : line;
}
