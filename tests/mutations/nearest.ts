/** Lines around a fault whose words count once more, and those that count a third time. */
const AROUND_LINES = 12;
const BESIDE_LINES = 3;
/** What it counts for to have the words of a text. */
const ALIKE = 1.5;
/** Steps of imports by which a test is looked for. */
const MAX_STEPS = 12;
/** The test of all that pages say, and what they are made of. */
const OUTLINES = "tests/doors/console/outlines_test.ts";
const PAGES = /^src\/doors\/console\/.*\.tsx$/;
/** What builds the whole gateway, by whatever a test imports it: such a test may come by any source. */
const WHOLE = "src/assemble/mod.ts";

/**
 * Finds the tests that are the nearest to a place in the source: those that can reach it by imports, and share its rarest words. It is
 * measured by the list of mutations (`faults_test.ts`): for four of five, a test that is known to catch one is among the first six.
 */
export class NearestTests {
  readonly #texts: ReadonlyMap<string, string>;
  readonly #tests: readonly string[];
  /** By what is imported. */
  readonly #importers = new Map<string, string[]>();
  /** How much of each word there is in each test that has it, by its rarity. */
  readonly #words = new Map<string, Map<string, number>>();
  readonly #ofNames = new Map<string, number>();
  readonly #sizes = new Map<string, number>();
  /** What reaches the whole gateway. */
  readonly #whole: ReadonlyMap<string, number>;

  private constructor(texts: ReadonlyMap<string, string>) {
    this.#texts = texts;
    // a browser takes longer than all others together, and tests of faults come by none
    this.#tests = [...texts.keys()].filter((file) =>
      file.endsWith("_test.ts") && !/browser|^tests\/mutations\//.test(file)
    );
    for (const [file, text] of texts) {
      for (const target of importsOf(file, text)) {
        this.#importers.set(target, [...this.#importers.get(target) ?? [], file]);
      }
    }
    this.#whole = this.#steps(WHOLE);
    for (const test of this.#tests) {
      for (const [word, weight] of wordsOf(texts.get(test)!)) {
        const ofWord = this.#words.get(word) ?? new Map<string, number>();
        this.#words.set(word, ofWord.set(test, weight));
      }
      for (const word of nameOf(test)) this.#ofNames.set(word, (this.#ofNames.get(word) ?? 0) + 1);
    }
    for (const ofWord of this.#words.values()) {
      const rarity = Math.log(this.#tests.length / ofWord.size);
      for (const [test, weight] of ofWord) {
        ofWord.set(test, weight * rarity);
        this.#sizes.set(test, (this.#sizes.get(test) ?? 0) + (weight * rarity) ** 2);
      }
    }
  }

  /** Reads the sources and the tests of a repository, of these files. */
  static async read(
    files: readonly string[],
    read: (file: string) => Promise<string>,
  ): Promise<NearestTests> {
    const texts = new Map<string, string>();
    for (const file of files) {
      if (/^(src|tests)\/.*\.tsx?$/.test(file)) texts.set(file, await read(file));
    }
    return new NearestTests(texts);
  }

  /** Files of the tests to run for a line of a source file, nearest first, `most` at most. */
  of(file: string, line: number, most: number): string[] {
    const text = this.#texts.get(file)!;
    const lines = text.split("\n");
    const around = (count: number) =>
      lines.slice(Math.max(0, line - 1 - count), line + count).join("\n");
    const alike = [text, around(AROUND_LINES), around(BESIDE_LINES)].map((one) => this.#alike(one));
    const steps = this.#steps(file);
    const own = file.replace(/^src/, "tests").replace(/\.tsx?$/, "_test.ts");
    const home = `tests/${file.split("/").slice(1, 3).join("/")}/`;
    const names = nameOf(file);
    const near = (test: string) => {
      const named = nameOf(test).filter((word) => names.includes(word))
        .map((word) => 1 / Math.sqrt(this.#ofNames.get(word)!));
      return ALIKE * alike.reduce((all, one) => all + (one.get(test) ?? 0), 0) +
        2 / (steps.get(test) ?? MAX_STEPS) + (test.startsWith(home) ? 1 : 0) +
        (test === own || test === OUTLINES && PAGES.test(file) ? 5 : 0) +
        named.reduce((all, one) => all + one, 0);
    };
    return this.#tests.filter((test) => steps.has(test) || this.#whole.has(test))
      .map((test) => [near(test), test] as const)
      .toSorted(([one], [other]) => other - one)
      .slice(0, most).map(([, test]) => test);
  }

  /** How much of the words of a text each test has: the angle between them, but that longer tests count for a little more. */
  #alike(text: string): ReadonlyMap<string, number> {
    const sums = new Map<string, number>();
    let size = 0;
    for (const [word, weight] of wordsOf(text)) {
      const ofWord = this.#words.get(word);
      if (ofWord === undefined) continue;
      const own = weight * Math.log(this.#tests.length / ofWord.size);
      size += own ** 2;
      for (const [test, its] of ofWord) sums.set(test, (sums.get(test) ?? 0) + own * its);
    }
    return new Map(
      [...sums].map((
        [test, sum],
      ) => [test, sum / Math.sqrt(size || 1) / this.#sizes.get(test)! ** 0.25]),
    );
  }

  /** The files that import a file, by how many steps. */
  #steps(file: string): ReadonlyMap<string, number> {
    const steps = new Map([[file, 0]]);
    let found = [file];
    for (let step = 1; found.length > 0 && step < MAX_STEPS; step++) {
      found = [...new Set(found.flatMap((one) => this.#importers.get(one) ?? []))]
        .filter((one) => !steps.has(one));
      for (const one of found) steps.set(one, step);
    }
    return steps;
  }
}

function importsOf(file: string, text: string): string[] {
  const found = text.matchAll(
    /^(?:import|export)[^;]*?from "(\.[^"]+)";|\bimport\("(\.[^"]+)"\)/gm,
  );
  const base = new URL(file, "file:///");
  return [...found].map(([, fixed, dynamic]) =>
    new URL((fixed ?? dynamic)!, base).pathname.slice(1)
  );
}

/** The identifiers and words of a text, and the words that identifiers consist of; the weight of one grows slowly with its number. */
function wordsOf(text: string): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const name of text.match(/[A-Za-z_]\w{2,}/g) ?? []) {
    const parts = name.replaceAll(/([a-z0-9])([A-Z])/g, "$1 $2").toLowerCase().split(/[ _]+/);
    for (const word of new Set([name, ...parts])) {
      if (word.length > 2) counts.set(word, (counts.get(word) ?? 0) + 1);
    }
  }
  return new Map([...counts].map(([word, count]) => [word, 1 + Math.log(count)]));
}

/** The words of a file's name, in the singular: `team`, `key` of `team_keys.ts` and of `team_keys_test.ts`. */
function nameOf(file: string): readonly string[] {
  const name = file.split("/").at(-1)!.replace(/(_test)?\.tsx?$/, "");
  return name.split("_").map((word) => word.replace(/s$/, ""));
}
