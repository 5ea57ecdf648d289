import { joinPath } from "../../src/ground/std/mod.ts";
import { say } from "../fake/command.ts";
import { Random } from "../fake/random.ts";
import {
  changedSince,
  type Copy,
  filesOfRepository,
  inCopies,
  type Outcome,
  ROOT,
  share,
  timed,
} from "./copies.ts";
import { isEquivalent } from "./equivalent.ts";
import { type Fault, faultsIn } from "./faults.ts";
import { NearestTests } from "./nearest.ts";
import { placeName, REACHED, withProbes } from "./probes.ts";

/** What faults are made, and of what. */
export interface MakeOptions {
  readonly count: number;
  /** Files and folders, from the root of the repository, of which as many faults each are made; all of `src/` if there are none. */
  readonly of: readonly string[];
  /** A commit: only files that have changed since. */
  readonly since: string | undefined;
  readonly seed: number;
  readonly workers: number;
  /** Files of tests that come by a fault and are run for it, at most. */
  readonly tests: number;
}

/** Tests that are run for a fault at most, those included that turn out not to reach it, for each that may come by it. */
const MAX_LOOKED_AT = 2.5;

interface Made {
  readonly file: string;
  readonly fault: Fault;
  /** Which of {@linkcode MakeOptions.of} it is of. */
  readonly place: string;
}

/** Whether a file is one that a path names, or in the folder that it names. */
export function isOf(path: string, file: string): boolean {
  return file === path || file.startsWith(`${path}/`);
}

/** Makes faults at random, as many of each place, and runs the nearest tests for each. Resolves with whether nine of ten were caught. */
export async function makeFaults(options: MakeOptions): Promise<boolean> {
  const files = await filesOfRepository();
  const read = (file: string) => Deno.readTextFile(joinPath(ROOT, file));
  const changed = options.since === undefined ? files : await changedSince(options.since);
  const random = new Random(options.seed);
  const totals = [];
  const rests: Made[][] = [];
  for (const place of options.of.length === 0 ? ["src"] : options.of) {
    const faults: Made[] = [];
    let equivalent = 0;
    for (const file of files) {
      if (!isOf(place, file) || !/^src\/.*\.tsx?$/.test(file) || !changed.includes(file)) continue;
      const text = await read(file);
      const lines = text.split("\n");
      for (const fault of faultsIn(file, text)) {
        if (isEquivalent(file, fault, lines)) equivalent++;
        else faults.push({ file, fault, place });
      }
    }
    totals.push({ place, equivalent, possible: faults.length });
    rests.push(random.some(faults, faults.length));
  }
  const chosen: Made[] = [];
  while (chosen.length < options.count && rests.some((rest) => rest.length > 0)) {
    const round = rests.flatMap((rest) => rest.splice(0, 1));
    chosen.push(...round.slice(0, options.count - chosen.length));
  }
  say(`${chosen.length} faults, seed ${options.seed}`);
  const nearest = await NearestTests.read(files, read);
  const caught = new Set<Made>();
  const survivors: string[] = [];
  await inCopies(options.workers, files, async (copies) => {
    const reach = new Reach(chosen);
    for (const copy of copies) await reach.prepare(copy);
    await share(copies, chosen, async (copy, made) => {
      const { file, fault } = made;
      const near = nearest.of(file, fault.line, Math.ceil(options.tests * MAX_LOOKED_AT));
      const [{ failed, what }, took] = await timed(tryFault(copy, made, {
        reach,
        near,
        most: options.tests,
      }));
      const place = `${file}:${fault.line} ${fault.kind}: ${oneLine(fault.was)}`;
      if (failed) caught.add(made);
      else survivors.push(`${place}\n    tests: ${what || "none reaches it"}`);
      say(`${failed ? "caught  " : "SURVIVED"} ${place} (${took})${failed ? ` by ${what}` : ""}`);
    });
  });
  if (survivors.length > 0) say("\nsurvivors:");
  for (const survivor of survivors.toSorted()) say(`  ${survivor}`);
  say(`\n| of | caught | made | possible | noted as equivalent |\n| - | - | - | - | - |`);
  for (const { place, possible, equivalent } of totals) {
    const made = chosen.filter((one) => one.place === place);
    const ofThese = made.filter((one) => caught.has(one));
    say(`| ${place} | ${ofThese.length} | ${made.length} | ${possible} | ${equivalent} |`);
  }
  const part = chosen.length === 0 ? 1 : caught.size / chosen.length;
  say(`\n${caught.size} of ${chosen.length} caught (${(100 * part).toFixed(0)} %)`);
  return part >= 0.9;
}

/** Runs tests with a fault, nearest first, until one fails that passes without it, or enough have come by it. */
async function tryFault(
  copy: Copy,
  made: Made,
  { reach, near, most }: {
    readonly reach: Reach;
    readonly near: readonly string[];
    readonly most: number;
  },
): Promise<Outcome> {
  const passed: string[] = [];
  for (const test of near) {
    if (passed.length === most) break;
    if (reach.isUnfit(test) || reach.reaches(test, made) === false) continue;
    const { failed, isLate, what } = await reach.run(copy, test, made);
    if (failed) {
      // it must pass without the fault, and come by it; what was only too slow may be the machine
      if (isLate || reach.reaches(test, made) === undefined) await reach.run(copy, test);
      if (!reach.isUnfit(test) && reach.reaches(test, made)) return { failed, what };
    } else if (reach.reaches(test, made)) passed.push(test);
  }
  return { failed: false, what: passed.join(", ") };
}

/** Which tests come by which faults' places. It is learned from those that pass, whatever fault they are run with. */
class Reach {
  readonly #chosen: readonly Made[];
  readonly #places: readonly string[];
  readonly #numbers: ReadonlyMap<string, number>;
  /** Without probes. */
  readonly #sources = new Map<string, string>();
  readonly #reached = new Map<string, ReadonlySet<string>>();
  readonly #usualMs = new Map<string, number>();
  readonly #unfit = new Set<string>();

  constructor(chosen: readonly Made[]) {
    this.#chosen = chosen;
    this.#places = [...new Set(chosen.flatMap(placesOf))];
    this.#numbers = new Map(this.#places.map((place, at) => [place, at]));
  }

  /** Puts probes into a copy. */
  async prepare(copy: Copy): Promise<void> {
    for (const file of new Set(this.#chosen.map((made) => made.file))) {
      const path = joinPath(copy.root, file);
      this.#sources.set(file, await Deno.readTextFile(path));
      await Deno.writeTextFile(path, this.#probed(copy, file));
    }
  }

  /** Whether a test fails without a fault. */
  isUnfit(test: string): boolean {
    return this.#unfit.has(test);
  }

  /** Whether a test comes by a fault, if it is known; one whose places are not known may be seen by all. */
  reaches(test: string, made: Made): boolean | undefined {
    const reached = this.#reached.get(test);
    const own = placesOf(made);
    return reached && (own.length === 0 || own.some((place) => reached.has(place)));
  }

  /** Runs a test, with a fault or without. */
  async run(copy: Copy, test: string, made?: Made): Promise<Outcome> {
    const reachedPath = joinPath(copy.root, REACHED);
    await Deno.writeTextFile(reachedPath, "");
    const startedTick = performance.now();
    const usualMs = this.#usualMs.get(test);
    const run = { file: test, ...(usualMs === undefined ? {} : { usualMs }) };
    const outcome = made === undefined ? await copy.run(run) : await copy.tryOut(
      made.file,
      () => this.#probed(copy, made.file, made.fault),
      [run],
    );
    if (outcome.failed) {
      if (made === undefined) {
        this.#unfit.add(test);
        say(`left out ${test}, which fails without a fault: ${outcome.what}`);
      }
      return outcome;
    }
    const lines = (await Deno.readTextFile(reachedPath)).split("\n").filter((line) => line !== "");
    const reached = lines.map((line) => this.#places[Number(line)]!);
    this.#reached.set(test, new Set([...this.#reached.get(test) ?? [], ...reached]));
    this.#usualMs.set(test, performance.now() - startedTick);
    return outcome;
  }

  #probed(copy: Copy, file: string, fault?: Fault): string {
    const own = [...this.#numbers].filter(([place]) => place.startsWith(`${file} `));
    const numbers = new Map(
      own.map(([place, number]) => [place.slice(file.length + 1), number]),
    );
    return withProbes(this.#sources.get(file)!, numbers, joinPath(copy.root, REACHED), fault);
  }
}

/** The places of a fault, which others may share. */
function placesOf({ file, fault }: Made): readonly string[] {
  return fault.places.map((place) => `${file} ${placeName(place)}`);
}

function oneLine(text: string): string {
  const line = text.replaceAll(/\s+/g, " ").trim();
  return line.length > 100 ? `${line.slice(0, 100)}…` : line;
}
