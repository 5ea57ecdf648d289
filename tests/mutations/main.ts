/**
 * Mutation testing with a fixed list: puts one fault at a time into a copy of the repository and expects a
 * test to fail for it.
 *
 * `deno task mutate [--only NAME]… [--list] [--workers 2]`. `--only` takes the beginning of names too. Exit
 * code 1 when a mutation survives, or when its tests fail without it; the last line says how many were
 * caught.
 */

import { parseArgs } from "node:util";
import { dirname, fromFileUrl, joinPath } from "../../src/std/mod.ts";
import { say } from "../fake/command.ts";
import { MUTATIONS } from "./list.ts";
import { mutated, type Mutation, type TestRun } from "./mutation.ts";

const ROOT = fromFileUrl(new URL("../..", import.meta.url));
/** A test that a mutation keeps from ending has failed. */
const RUN_MS = 120_000;

const { values } = parseArgs({
  args: Deno.args,
  options: {
    only: { type: "string", multiple: true, default: [] },
    list: { type: "boolean", default: false },
    workers: { type: "string", default: "2" },
  },
});
const workers = Number(values.workers);
if (!Number.isInteger(workers) || workers < 1) {
  usage(`--workers ${values.workers}: a number above 0`);
}
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

/** What came of a run of tests. */
interface Outcome {
  readonly failed: boolean;
  /** Which test failed, or what else went wrong. */
  readonly what: string;
}

/** A copy of the repository, and the tests that are run in it. */
class Copy {
  readonly #root: string;

  constructor(root: string) {
    this.#root = root;
  }

  static async make(files: readonly string[]): Promise<Copy> {
    const root = await Deno.makeTempDir({ prefix: "sluice-mutate-" });
    for (const file of files) {
      await Deno.mkdir(dirname(joinPath(root, file)), { recursive: true });
      await Deno.copyFile(joinPath(ROOT, file), joinPath(root, file));
    }
    return new Copy(root);
  }

  /** Runs tests with a mutation in place; of several runs, those after the first failure are left out. */
  async tryOut(mutation: Mutation): Promise<Outcome> {
    const path = joinPath(this.#root, mutation.file);
    const source = await Deno.readTextFile(path);
    await Deno.writeTextFile(path, mutated(source, mutation));
    try {
      for (const run of mutation.tests) {
        const outcome = await this.run(run);
        if (outcome.failed) return outcome;
      }
      return { failed: false, what: mutation.tests.map(nameOf).join(", ") };
    } finally {
      await Deno.writeTextFile(path, source);
    }
  }

  async run({ file, filter }: TestRun): Promise<Outcome> {
    const child = new Deno.Command(Deno.execPath(), {
      args: [
        "test",
        "--lock=tests/deno.lock",
        "--no-check",
        "--quiet",
        "--allow-all",
        ...(filter === undefined ? [] : ["--filter", filter]),
        file,
      ],
      cwd: this.#root,
      env: { NO_COLOR: "1" },
      stdin: "null",
      stdout: "piped",
      stderr: "piped",
    }).spawn();
    let isLate = false;
    const limit = setTimeout(() => {
      isLate = true;
      child.kill();
    }, RUN_MS);
    const { code, stdout, stderr } = await child.output().finally(() => clearTimeout(limit));
    if (isLate) return { failed: true, what: `not over in ${RUN_MS / 1_000} s` };
    const decoder = new TextDecoder();
    const said = decoder.decode(stdout) + decoder.decode(stderr);
    if (code !== 0) return { failed: true, what: failureIn(said) };
    const [, passed = "0"] = /\| (\d+) passed/.exec(said) ?? [];
    return passed === "0"
      ? { failed: true, what: `no test of ${nameOf({ file, ...(filter && { filter }) })} was run` }
      : { failed: false, what: `${passed} passed` };
  }

  async remove(): Promise<void> {
    await Deno.remove(this.#root, { recursive: true });
  }
}

function nameOf({ file, filter }: TestRun): string {
  return filter === undefined ? file : `${file} (${filter})`;
}

/** The first test that failed, with its error. */
function failureIn(said: string): string {
  const [, name, error] = /^ ERRORS $\s*^(.*) => .*$\s*^error: (.*)$/m.exec(said) ??
    /^(\S.*) \(uncaught error\)$\s*^error: (.*)$/m.exec(said) ?? [];
  return name === undefined
    ? said.trim().split("\n").at(-1)!.slice(0, 200)
    : `${name}: ${error!.slice(0, 160)}`;
}

/** The files of the working tree that are not ignored. */
async function filesOfRepository(): Promise<string[]> {
  const { success, stdout } = await new Deno.Command("git", {
    args: ["ls-files", "-z", "--cached", "--others", "--exclude-standard"],
    cwd: ROOT,
  }).output();
  if (!success) usage("this is no git repository");
  const names = new TextDecoder().decode(stdout).split("\0").filter((name) => name !== "");
  const isFile = await Promise.all(
    names.map((name) => Deno.stat(joinPath(ROOT, name)).then((one) => one.isFile, () => false) // deleted, not committed
    ),
  );
  return names.filter((_, at) => isFile[at]);
}

/** Works off a list in all copies at once. */
async function share<Item>(
  copies: readonly Copy[],
  items: readonly Item[],
  work: (copy: Copy, item: Item) => Promise<void>,
): Promise<void> {
  const rest = items.values();
  await Promise.all(copies.map(async (copy) => {
    for (const item of rest) await work(copy, item);
  }));
}

async function timed<T>(work: Promise<T>): Promise<[T, string]> {
  const startedTick = performance.now();
  return [await work, `${((performance.now() - startedTick) / 1_000).toFixed(1)} s`];
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
  const copies = await Promise.all(Array.from({ length: workers }, () => Copy.make(files)));
  let [passed, failed] = [0, 0];
  try {
    const runs = new Map(chosen.flatMap(({ tests }) => tests).map((run) => [nameOf(run), run]));
    say(`${runs.size} sets of tests without a mutation`);
    const unfit = new Set<string>();
    await share(copies, [...runs.values()], async (copy, run) => {
      let [outcome, took] = await timed(copy.run(run));
      if (outcome.failed) [outcome, took] = await timed(copy.run(run)); // the machine may have been busy
      if (!outcome.failed) return;
      unfit.add(nameOf(run));
      say(`FAILS WITHOUT A MUTATION ${nameOf(run)} (${took}): ${outcome.what}`);
    });
    say(`${chosen.length} mutations`);
    await share(copies, chosen, async (copy, mutation) => {
      if (mutation.tests.some((run) => unfit.has(nameOf(run)))) {
        failed++;
        return say(`not tried ${mutation.name}: its tests fail without it`);
      }
      const [{ failed: caught, what }, took] = await timed(copy.tryOut(mutation));
      if (caught) passed++;
      else failed++;
      say(
        caught
          ? `caught   ${mutation.name} (${took}) by ${what}`
          : `SURVIVED ${mutation.name} (${took}): ${mutation.why} Tests: ${what}`,
      );
    });
  } finally {
    await Promise.all(copies.map((copy) => copy.remove()));
  }
  say(`${passed} passed, ${failed} failed`);
  return failed === 0;
}

if (values.list) {
  for (const { name, file, why } of chosen) say(`${name}\n  ${file}\n  ${why}`);
} else if (!await mutate()) Deno.exit(1);
