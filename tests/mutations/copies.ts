import { dirname, fromFileUrl, joinPath } from "../../src/ground/std/mod.ts";
import type { TestRun } from "./mutation.ts";

/** The root of the repository. */
export const ROOT = fromFileUrl(new URL("../..", import.meta.url));
/** A test that a mutation keeps from ending has failed. */
const RUN_MS = 120_000;
/** Less, so that a test can say what never came. */
const DEADLINE_MS = 45_000;
/** The least that a run gets of which it is known how long it takes without a mutation, on a machine that may be busy. */
const MIN_RUN_MS = 20_000;

/** What came of a run of tests. */
export interface Outcome {
  readonly failed: boolean;
  /** Whether it was not over in time. */
  readonly isLate?: boolean;
  /** Which test failed, or what else went wrong. */
  readonly what: string;
  /** The tests that passed, if none failed. */
  readonly passed?: readonly string[];
}

/** A copy of the repository, and the tests that are run in it. */
export class Copy {
  /** Where it is. */
  readonly root: string;

  constructor(root: string) {
    this.root = root;
  }

  static async make(files: readonly string[]): Promise<Copy> {
    const root = await Deno.makeTempDir({ prefix: "sluice-mutate-" });
    for (const file of files) {
      await Deno.mkdir(dirname(joinPath(root, file)), { recursive: true });
      await Deno.copyFile(joinPath(ROOT, file), joinPath(root, file));
    }
    return new Copy(root);
  }

  /** Runs tests with another text of a file in place; of several runs, those after the first failure are left out. */
  async tryOut(
    file: string,
    change: (source: string) => string,
    tests: readonly TestRun[],
  ): Promise<Outcome> {
    const path = joinPath(this.root, file);
    const source = await Deno.readTextFile(path);
    await Deno.writeTextFile(path, change(source));
    try {
      for (const run of tests) {
        const outcome = await this.run(run);
        if (outcome.failed) return outcome;
      }
      return { failed: false, what: tests.map(nameOf).join(", ") };
    } finally {
      await Deno.writeTextFile(path, source);
    }
  }

  async run(run: TestRun): Promise<Outcome> {
    const { file, filter, proofs = false, usualMs = RUN_MS } = run;
    const runMs = Math.max(MIN_RUN_MS, Math.min(RUN_MS, 4 * usualMs));
    const mark = crypto.randomUUID();
    const child = new Deno.Command(Deno.execPath(), {
      args: [
        "test",
        "--lock=tests/deno.lock",
        "--no-check",
        "--quiet",
        "--fail-fast",
        "--allow-all",
        ...(filter === undefined ? [] : ["--filter", filter]),
        file,
      ],
      cwd: this.root,
      env: {
        [MARK]: mark,
        NO_COLOR: "1",
        SLUICE_TEST_DEADLINE_MS: String(Math.min(DEADLINE_MS, runMs / 2)),
        ...(proofs ? { SLUICE_PROOFS: "1" } : {}),
      },
      stdin: "null",
      stdout: "piped",
      stderr: "piped",
    }).spawn();
    let isLate = false;
    const limit = setTimeout(() => {
      isLate = true;
      child.kill();
    }, runMs);
    const { code, stdout, stderr } = await child.output().finally(() => clearTimeout(limit));
    if (code !== 0) await endLeft(mark);
    if (isLate) {
      return { failed: true, isLate, what: `not over in ${(runMs / 1_000).toFixed(0)} s` };
    }
    const decoder = new TextDecoder();
    const said = decoder.decode(stdout) + decoder.decode(stderr);
    if (code !== 0) return { failed: true, what: failureIn(said) };
    const passed = passedIn(said);
    const what = passed.length === 0
      ? `no test of ${nameOf(run)} was run: ${said.slice(-1_000)}`
      : `${passed.length} passed`;
    return { failed: false, what, passed };
  }

  /** Runs several sets of a file's tests at once. Resolves with how long that took, in ms, if all passed and each had tests. */
  async passTogether(runs: readonly TestRun[]): Promise<number | undefined> {
    const startedTick = performance.now();
    const [{ file, proofs }] = runs as [TestRun];
    const filters = runs.map(({ filter }) => filter);
    const { passed } = await this.run({
      file,
      ...(proofs && { proofs }),
      ...(!filters.includes(undefined) && {
        filter: `/${filters.map((filter) => RegExp.escape(filter!)).join("|")}/`,
      }),
    });
    return filters.every((filter) => passed?.some((name) => name.includes(filter ?? "")))
      ? performance.now() - startedTick
      : undefined;
  }

  async remove(): Promise<void> {
    await Deno.remove(this.root, { recursive: true });
  }
}

/** Marks what a run of tests starts, in its environment. */
const MARK = "SLUICE_MUTATION_RUN";

/** Ends what a run of tests has left running: tests that were killed end no server that they started. */
async function endLeft(mark: string): Promise<void> {
  const processes = new Deno.Command(joinPath(ROOT, ".ci/processes"), {
    args: [`${MARK}=${mark}`],
  });
  const { stdout } = await processes.output();
  for (const [, pid] of new TextDecoder().decode(stdout).matchAll(/^(\d+) /gm)) {
    try {
      Deno.kill(Number(pid), "SIGKILL");
    } catch (error) {
      if (!(error instanceof Deno.errors.NotFound)) throw error; // it has ended
    }
  }
}

export function nameOf({ file, filter, proofs = false }: TestRun): string {
  const more = [...(filter === undefined ? [] : [filter]), ...(proofs ? ["proofs"] : [])];
  return more.length === 0 ? file : `${file} (${more.join(", ")})`;
}

/** Names of the tests that passed, of what `deno test` prints. */
export function passedIn(said: string): string[] {
  // stands in the middle of a test's line
  const lines = said.replaceAll(/'.*' has been running for over \(.*\)\n/g, "");
  return [...lines.matchAll(/^(\S.*) \.\.\. ok\b/gm)].map(([, name]) => name!);
}

/** The first test that failed, with its error. */
function failureIn(said: string): string {
  const [, name, error] = /^ ERRORS $\s*^(.*) => .*$\s*^error: (.*)$/m.exec(said) ??
    /^(\S.*) \(uncaught error\)$\s*^error: (.*)$/m.exec(said) ?? [];
  return name === undefined
    ? said.trim().split("\n").at(-1)!.slice(0, 200)
    : `${name}: ${error!.slice(0, 160)}`;
}

/** The files of the working tree that are not ignored. @throws {Error} If it is no git repository. */
export async function filesOfRepository(): Promise<string[]> {
  const names = await git("ls-files", "-z", "--cached", "--others", "--exclude-standard");
  const isFile = await Promise.all(
    // deleted, not committed
    names.map((name) => Deno.stat(joinPath(ROOT, name)).then((one) => one.isFile, () => false)),
  );
  return names.filter((_, at) => isFile[at]);
}

/** Files that differ from a commit. */
export function changedSince(commit: string): Promise<string[]> {
  return git("diff", "-z", "--name-only", "--diff-filter=d", commit);
}

async function git(...args: string[]): Promise<string[]> {
  const { success, stdout } = await new Deno.Command("git", { args, cwd: ROOT }).output();
  if (!success) throw new Error(`git ${args[0]} failed: is this a git repository?`);
  return new TextDecoder().decode(stdout).split("\0").filter((name) => name !== "");
}

/** Works off a list in all copies at once. */
export async function share<Item>(
  copies: readonly Copy[],
  items: readonly Item[],
  work: (copy: Copy, item: Item) => Promise<void>,
): Promise<void> {
  const rest = items.values();
  await Promise.all(copies.map(async (copy) => {
    for (const item of rest) await work(copy, item);
  }));
}

/** Makes copies for the time of some work. */
export async function inCopies(
  workers: number,
  files: readonly string[],
  work: (copies: readonly Copy[]) => Promise<void>,
): Promise<void> {
  const copies = await Promise.all(Array.from({ length: workers }, () => Copy.make(files)));
  try {
    await work(copies);
  } finally {
    await Promise.all(copies.map((copy) => copy.remove()));
  }
}

export async function timed<T>(work: Promise<T>): Promise<[T, string]> {
  const startedTick = performance.now();
  return [await work, `${((performance.now() - startedTick) / 1_000).toFixed(1)} s`];
}
