/**
 * Keeps real time out of the gate's tests: how fast a machine is says nothing about a change, and a bound on it fails
 * by chance. docs/internals/gate.md says what to assert instead.
 *
 * Programs of the proofs, and files named `*_proof.ts`, measure what they like.
 */

import { assertEquals } from "./assert.ts";

const TESTS = new URL("./", import.meta.url);

/** Folders of programs that are no tests of the gate. */
const PROGRAMS =
  /^(?:clients\/tools|connections|ends|file_faults|gate|histories|mutations|soak)\/(?!.*_test\.ts$)|_proof\.ts$/;

/** What reads a clock to compare it, or gives what is waited for less than the deadline. */
const REFUSED: readonly {
  readonly pattern: RegExp;
  readonly say: string;
  readonly example: string;
}[] = [
  {
    pattern: /\bperformance\.now\(\)/,
    say: "assert an order, a count or the injected clock",
    example: "const startedTick = performance.now();",
  },
  {
    pattern: /\bDate\.now\(\)\s*-\s*\w*(?:start|began|begun|before)/i,
    say: "assert an order, a count or the injected clock",
    example: "assert(Date.now() - startedMs < 500)",
  },
  {
    pattern: /\bwithinMs:/,
    say: "use the deadline of until()",
    example: "await until(isReady, { withinMs: 500 })",
  },
];

const LOWER = "asserts that a limit has passed, which a busy machine cannot break";

/** Files that read a clock, and why. */
const ALLOWED: Readonly<Record<string, string>> = {
  "fake/child_gateway.ts": "measures another account's chats, for the proofs",
  "fake/postgres_pair.ts": "measures how long no server takes writes, for the soak",
  "fake/temp.ts": "the one deadline",
  "flow/abuse_connections_test.ts": LOWER,
  "flow/arrivals_test.ts": "waits less long than the system does by itself",
  "flow/faults_test.ts": LOWER,
  "flow/hostile_upstreams_test.ts": LOWER,
  "growth.ts": "compares sizes in one run, in the proofs",
};

async function* files(folder = ""): AsyncGenerator<string> {
  for await (const { name, isDirectory } of Deno.readDir(new URL(folder, TESTS))) {
    if (isDirectory) yield* files(`${folder}${name}/`);
    else if (/\.tsx?$/.test(name)) yield `${folder}${name}`;
  }
}

/** Lines of a text that are refused, with what to write instead. */
function refusedIn(text: string): string[] {
  return text.split("\n").flatMap((line, index) =>
    REFUSED.filter(({ pattern }) => pattern.test(line)).map(({ say }) =>
      `${index + 1}: ${line.trim()}: ${say}`
    )
  );
}

Deno.test("no test of the gate looks at the clock", async () => {
  const found: string[] = [];
  const unused = new Set(Object.keys(ALLOWED));
  for await (const file of files()) {
    if (PROGRAMS.test(file) || file === "clocks_test.ts") continue;
    const refused = refusedIn(await Deno.readTextFile(new URL(file, TESTS)));
    if (file in ALLOWED && refused.length > 0) unused.delete(file);
    else found.push(...refused.map((line) => `tests/${file}:${line}`));
  }
  assertEquals(found.sort(), []);
  assertEquals([...unused], [], "exceptions that nothing needs any more");
});

for (const { pattern, example } of REFUSED) {
  Deno.test(`it refuses ${example}`, () => assertEquals(pattern.test(example), true));
}
