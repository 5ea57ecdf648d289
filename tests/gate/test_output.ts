import { filesOfGroup } from "./groups.ts";

/** A test that failed, or a file in which something failed outside of a test. */
export interface FailedTest {
  /**
   * From the project's directory: `tests/flow/money_test.ts`. What fails outside of all tests names all files that shared the isolate,
   * with spaces between.
   */
  readonly file: string;
  readonly name: string;
  /** The error with its stack, as it was printed. */
  readonly message: string;
}

/** What `deno test` has printed. */
export interface TestOutput {
  readonly failed: readonly FailedTest[];
  readonly counts: TestCounts;
  /**
   * Whether the runner came to its closing line, and each line of its list of failures was understood. If not, it was
   * killed or has crashed, or `failed` lacks something.
   */
  readonly isWhole: boolean;
}

/** Tests by how they ended. */
export interface TestCounts {
  readonly passed: number;
  readonly failed: number;
  readonly ignored: number;
}

/** What fails outside of a test, and why a file is named without one. */
const OUTSIDE = "(uncaught error)";
// deno-lint-ignore no-control-regex -- colours of a terminal
const COLOURS = /\x1b\[[\d;]*m/g;

/**
 * Reads the text that `deno test` prints: its list of failures, and its errors below the lines of that list. Of its JUnit report
 * it would be less: that leaves out files in which something failed outside of a test.
 */
export function readTestOutput(text: string): TestOutput {
  const plain = text.replaceAll(COLOURS, "");
  const closing = [...plain.matchAll(/^(?:ok|FAILED) \| (\d+) passed.*? \| (\d+) failed.*$/gm)].at(
    -1,
  );
  const ignored = / \| (\d+) ignored/.exec(closing?.[0] ?? "");
  const counts = {
    passed: Number(closing?.[1] ?? 0),
    failed: Number(closing?.[2] ?? 0),
    ignored: Number(ignored?.[1] ?? 0),
  };
  const [head = "", list = ""] = cutAtLast(plain.slice(0, closing?.index), "\n FAILURES \n");
  const [, errors = ""] = cutAtLast(head, "\n ERRORS \n");
  const titles = list.split("\n").filter((line) => line !== "");
  const failed = titles.flatMap((title) => {
    const place = /^(.*) => \.\/(\S+?):\d+:\d+$/.exec(title);
    const outside = /^(?:\.\/)?(\S+) \(uncaught error\)$/.exec(title);
    const [name, file] = outside !== null
      ? [OUTSIDE, filesOfGroup(plain, outside[1]!) ?? outside[1]]
      : [place?.[1], place?.[2]];
    return name === undefined || file === undefined
      ? []
      : [{ file, name, message: errorOf(errors, title, titles) }];
  });
  return { failed, counts, isWhole: closing !== undefined && failed.length === titles.length };
}

/** The text around the last place of a mark; what comes after is empty where there is none. */
function cutAtLast(text: string, mark: string): [string, string] {
  const at = text.lastIndexOf(mark);
  return at < 0 ? [text, ""] : [text.slice(0, at), text.slice(at + mark.length)];
}

function errorOf(errors: string, title: string, titles: readonly string[]): string {
  const lines = errors.split("\n");
  const start = lines.indexOf(title) + 1;
  const rest = start === 0 ? [] : lines.slice(start);
  const end = rest.findIndex((line) => titles.includes(line));
  return (end < 0 ? rest : rest.slice(0, end)).join("\n").trim();
}
