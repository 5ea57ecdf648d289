import ts from "typescript";
import { joinPath } from "../../src/ground/std/mod.ts";
import { assert, assertEquals } from "../assert.ts";
import { filesOfRepository, ROOT } from "./copies.ts";
import { EQUIVALENT, isEquivalent } from "./equivalent.ts";
import { faultsIn, withFault } from "./faults.ts";
import { MUTATIONS } from "./list.ts";
import { NearestTests } from "./nearest.ts";
import { placeName, withProbes } from "./probes.ts";

/** Each fault of a text, as the text that it leaves. */
function variants(source: string): string[] {
  return faultsIn("a.ts", source).map((fault) => withFault(source, fault));
}

Deno.test("a guard is dropped, a branch is always or never taken", () => {
  assertEquals(variants("if (a) throw b;"), ["if (false) throw b;"]);
  assertEquals(variants("if (a) b();"), ["if (false) b();", "if (true) b();"]);
  assertEquals(variants("c(a ? 1 : 2);"), ["c(!(a) ? 1 : 2);"]);
});

Deno.test("comparisons are flipped at their bound, sides of conditions are left out", () => {
  assertEquals(variants("c(a <= b);"), ["c(a < b);"]);
  assertEquals(variants("c(a === b);"), ["c(a !== b);"]);
  const clock = ["performance", "now()"].join(".");
  assertEquals(variants(`c(a > ${clock} - b);`), []);
  const aged = (body: string) => `function f(age) { const tick = ${clock}; ${body} }`;
  assertEquals(variants(aged("const old = tick - a; return () => old > b;")), []);
  assertEquals(variants(aged("return age > b.tick;")).length, 1);
  assertEquals(variants(`${aged("")} c(tick > b);`).length, 1);
  assertEquals(variants("c(a && b);"), ["c(a);", "c(b);"]);
  assertEquals(variants("c(a || b);"), ["c(a);", "c(b);"]);
  // the left part may be for the type alone
  const hasRight = (left: string, right: string) =>
    variants(`c(${left} && ${right});`).includes(`c(${right});`);
  assertEquals(hasRight("a !== undefined", "a < b"), false);
  assertEquals(hasRight("a instanceof DatabaseError", "a.isDuplicate"), false);
  for (const left of ["a !== null", "b !== 1", "a === undefined", "x !== undefined"]) {
    assertEquals(hasRight(left, "a < b"), true, left);
  }
  assertEquals(hasRight("a instanceof DOMException", 'a.name === "x"'), true);
  assertEquals(hasRight("a instanceof DatabaseError", "b.isDuplicate"), true);
  assertEquals(variants("c(Math.min(a, b));"), ["c(Math.max(a, b));"]);
});

Deno.test("what only chooses words of a message is no fault", () => {
  assertEquals(variants('c(a === 1 ? "credit" : "credits");'), []);
  assertEquals(variants('c(a > 1 ? "Send it again" : "");'), []);
  assertEquals(variants('c(`It is ${a || "none"}.`);'), []);
  assertEquals(variants('c(a || "none");'), ["c(a);", 'c("none");']);
  assertEquals(variants('c(a ? "on" : "off");'), ['c(!(a) ? "on" : "off");']);
  const chosen = 'c(a ? `where ${b ? "x" : y}` : "select 1 from it");';
  assertEquals(variants(chosen), [
    'c(!(a) ? `where ${b ? "x" : y}` : "select 1 from it");',
    'c(a ? `where ${!(b) ? "x" : y}` : "select 1 from it");',
  ]);
});

Deno.test("each clause of a statement is left out by itself", () => {
  assertEquals(variants('run("select 1 from t where a = 1 and (b or c) and d = 2 order by e");'), [
    'run("select 1 from t where a = 1 and d = 2 order by e");',
    'run("select 1 from t where a = 1 and (b or c) order by e");',
  ]);
  assertEquals(variants('run("select 1 from t where a = ? and b in (?, ?1)", [1, 2]);'), [
    'run("select 1 from t where a = ? and (true or ? is null)", [1, 2]);',
  ]);
  assertEquals(
    variants("run(`select 1 from t where a = 1 and b <> 'it' and c in ('x', ')') order by d`);"),
    [
      "run(`select 1 from t where a = 1 and c in ('x', ')') order by d`);",
      "run(`select 1 from t where a = 1 and b <> 'it' order by d`);",
    ],
  );
  assertEquals(variants("run(`delete from t where (a = ${x} and b in (1, 2))`);"), [
    "run(`delete from t where (a = ${x})`);",
  ]);
  assertEquals(variants('run("select 1 from t where a between 1 and 2");'), []);
  assertEquals(variants('say("select one and the other from it");').length, 1);
});

Deno.test("a clause is left out whole: with its texts, with both bounds, and without the table that is joined next", () => {
  const clauses = [
    "b <> 'it'",
    "c in ('x', ')')",
    "d between ${one} - 1 and ${two} + 1",
    "e = 'x, and y' || f",
  ];
  const select = (parts: readonly string[]) =>
    `run(\`select 1 from t join u on ${parts.join(" and ")} left join v on g order by h\`);`;
  const all = ["a = 1", ...clauses];
  assertEquals(
    variants(select(all)),
    clauses.map((one) => select(all.filter((other) => other !== one))),
  );
});

Deno.test("a text with probes does the same, and notes the places of faults that it comes by", async () => {
  const source = `const WHERE = "where a = 1 and b = 2";
  const SQL = \`select 1 from t \${WHERE} and c = 3\`, OTHER = "select 1 from t where a and b";
  export const unused = () => OTHER;
  export const run = (a: number, b: string) => {
    const all: unknown[] = [];
    if (a > 1 && b !== "" || a === 0) all.push(Math.min(a, 7) > 3 ? "much" : "little");
    if (b === "never" && a < 0) all.push(Math.max(a, 1));
    return [...all, SQL];
  };`;
  const faults = faultsIn("a.ts", source);
  const places = [...new Set(faults.flatMap((fault) => fault.places.map(placeName)))];
  const numbers = new Map(places.map((place, at) => [place, at]));
  const path = await Deno.makeTempFile();
  try {
    const load = async (text: string) =>
      (await import(`data:application/typescript,${encodeURIComponent(text)}`)).run;
    const [plain, probed] = [await load(source), await load(withProbes(source, numbers, path))];
    for (const [a, b] of [[5, "x"], [2, "x"], [0, ""], [-1, "x"]] as const) {
      assertEquals(probed(a, b), plain(a, b));
    }
    const lines = (await Deno.readTextFile(path)).trim().split("\n");
    const reached = new Set(lines.map((line) => places[Number(line)]));
    const missed = faults.filter((fault) =>
      !fault.places.some((place) => reached.has(placeName(place)))
    );
    assertEquals(missed.map(({ was }) => was.trim()), ["and b", "<", "Math.max"]);
  } finally {
    await Deno.remove(path);
    Reflect.deleteProperty(globalThis, "reached$");
  }
});

Deno.test("every fault of the program leaves a text that parses", async () => {
  const wrong: string[] = [];
  let count = 0;
  for (const file of await filesOfRepository()) {
    if (!/^src\/(money|requests)\/(ledger|relay)\/.*\.tsx?$/.test(file)) continue;
    const source = await Deno.readTextFile(joinPath(ROOT, file));
    const faults = faultsIn(file, source);
    count += faults.length;
    const places = faults.flatMap((fault) => fault.places.map(placeName));
    const probed = withProbes(source, new Map(places.map((place, at) => [place, at])), "reached");
    const tried = faults.filter((_, at) => at % 50 === 0);
    for (const text of [probed, ...tried.map((fault) => withFault(source, fault))]) {
      const tree = ts.createSourceFile(file, text, ts.ScriptTarget.ESNext);
      // a public function that tells them writes JavaScript, too, which takes three times as long
      const { parseDiagnostics } = tree as unknown as {
        parseDiagnostics: readonly ts.Diagnostic[];
      };
      for (const { messageText } of parseDiagnostics) {
        wrong.push(`${file}: ${messageText}`);
      }
    }
  }
  assertEquals(wrong, []);
  assert(count > 500, String(count));
});

/** As many as are looked at for a fault that is made. */
const LOOKED_AT = 15;

Deno.test("the nearest tests of a file are its own, and those that are known to catch a mutation of it", async () => {
  const read = (file: string) => Deno.readTextFile(joinPath(ROOT, file));
  const files = await filesOfRepository();
  const nearest = await NearestTests.read(files, read);
  const [first] = nearest.of("src/requests/admission/hold.ts", 100, 6);
  assertEquals(first, "tests/requests/admission/hold_test.ts");
  const sampled = MUTATIONS.filter(({ file }, at) =>
    at % 8 === 0 && /^src\/(doors|money|operating|people|requests)\//.test(file)
  );
  const lost: string[] = [];
  for (const { name, file, find, tests } of sampled) {
    const source = await read(file);
    const line = source.slice(0, source.indexOf(find)).split("\n").length;
    const near = nearest.of(file, line, LOOKED_AT);
    for (const test of near) assert(files.includes(test), `${file}: ${test}`);
    if (!tests.some((test) => near.includes(test.file))) lost.push(name);
  }
  const part = 1 - lost.length / sampled.length;
  assert(part > 0.85, `${part} of ${sampled.length}, not ${lost.join(", ")}`);
});

Deno.test("faults that are noted as equivalent are there, and have a reason", async () => {
  for (const { file, line, kind, was = "", because } of EQUIVALENT) {
    const source = await Deno.readTextFile(joinPath(ROOT, file));
    const lines = source.split("\n");
    const found = faultsIn(file, source).filter((fault) => isEquivalent(file, fault, lines))
      .some((fault) =>
        fault.kind === kind && lines[fault.line - 1]!.trim() === line && fault.was.includes(was)
      );
    assert(found, `${file}: ${line}`);
    assert(because.endsWith("."), because);
  }
});
