/** Test files that share an isolate, at most. Each isolate costs a second of the processor before its first test. */
const GROUP_SIZE = 32;

/** Wings of fewer files share their isolates. */
const SMALL_WING = 6;

/** Files that take long, the longest first. */
const LONG: readonly string[] = [
  "tests/doors/console/walk_test.ts",
  "tests/doors/console/browser_test.ts",
  "tests/docs/docs_test.ts",
  "tests/flow/abuse_test.ts",
  "tests/doors/cli/operating_test.ts",
  "tests/flow/workers_test.ts",
  "tests/flow/team_budgets_test.ts",
  "tests/flow/faults_test.ts",
  "tests/doors/console/live_test.ts",
  "tests/flow/takeover_test.ts",
  "tests/flow/budgets_test.ts",
  "tests/flow/abuse_connections_test.ts",
  "tests/conformance/conformance_test.ts",
  "tests/flow/outcomes_test.ts",
];

/**
 * Lists the files of tests below `tests/`.
 *
 * @param root The project's directory.
 * @param options `isProof`: whether those of the proofs are among them.
 * @returns Paths from `root`, sorted.
 */
export async function testFiles(
  root: string,
  { isProof }: { readonly isProof: boolean },
): Promise<string[]> {
  const name = isProof ? /_(test\.tsx?|proof\.ts)$/ : /_test\.tsx?$/;
  const files: string[] = [];
  const folders = [`${root}/tests`];
  for (const folder of folders) {
    for await (const entry of Deno.readDir(folder)) {
      const path = `${folder}/${entry.name}`;
      if (entry.isDirectory) folders.push(path);
      else if (name.test(entry.name)) files.push(path.slice(root.length + 1));
    }
  }
  return files.sort();
}

/** The folder of `tests/` that a file is in. */
function wingOf(file: string): string {
  return file.split("/")[1]!;
}

/** Files that share an isolate: long ones alone and first, then the others by wing, and small wings together. */
export function groupsOf(files: readonly string[]): string[][] {
  const long = LONG.filter((file) => files.includes(file));
  const byWing = Map.groupBy(files.filter((file) => !long.includes(file)), wingOf);
  const wings = [...byWing.values()];
  const small = wings.filter(({ length }) => length < SMALL_WING).flat();
  const large = wings.filter(({ length }) => length >= SMALL_WING);
  // small ones first: pages behind proxies and executables are among them, and pure functions are last
  const chunks = [small, ...large].flatMap((all) => {
    const count = Math.ceil(all.length / GROUP_SIZE);
    const size = Math.ceil(all.length / count);
    return Array.from({ length: count }, (_, at) => all.slice(at * size, (at + 1) * size));
  });
  return [...long.map((file) => [file]), ...chunks];
}

/** What a run prints of a group before it starts, by which a failure outside of all tests is traced to its files. */
export function groupLine(at: number, files: readonly string[]): string {
  return `group ${at}: ${files.join(" ")}`;
}

/** The files of a group that failed outside of all tests. */
export function filesOfGroup(output: string, entry: string): string | undefined {
  const at = /group_(\d+)\.ts$/.exec(entry)?.[1];
  return at === undefined ? undefined : new RegExp(`^group ${at}: (.+)$`, "m").exec(output)?.[1];
}
