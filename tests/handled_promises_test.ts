/**
 * Promises that nobody handles end a process. The lint rules see one file without its types, so this looks at
 * all of them: a call that gives a promise is awaited, returned, handed on, or marked with `void`; and who is
 * handed a promise gives it a handler before anything can return or throw.
 */

import ts from "typescript";
import { assertEquals } from "./assert.ts";

const SRC = new URL("../src/", import.meta.url);

async function* files(folder: URL): AsyncGenerator<URL> {
  for await (const entry of Deno.readDir(folder)) {
    const url = new URL(entry.isDirectory ? `${entry.name}/` : entry.name, folder);
    if (entry.isDirectory) yield* files(url);
    else if (/\.tsx?$/.test(entry.name)) yield url;
  }
}

/** Every file below `src/`, parsed. */
async function sources(): Promise<ts.SourceFile[]> {
  const all: ts.SourceFile[] = [];
  for await (const url of files(SRC)) {
    const path = url.pathname.slice(SRC.pathname.length);
    all.push(parse(path, await Deno.readTextFile(url)));
  }
  return all;
}

function parse(path: string, text: string): ts.SourceFile {
  return ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true);
}

function walk(node: ts.Node, visit: (node: ts.Node) => void): void {
  visit(node);
  ts.forEachChild(node, (child) => walk(child, visit));
}

type FunctionLike = ts.FunctionLikeDeclaration | ts.MethodSignature;

function givesPromise(node: FunctionLike): boolean {
  const isAsync = ts.canHaveModifiers(node) &&
    ts.getModifiers(node)?.some(({ kind }) => kind === ts.SyntaxKind.AsyncKeyword);
  return isAsync === true || /^Promise</.test(node.type?.getText() ?? "");
}

function nameOf(node: ts.Node): string | undefined {
  if (ts.isFunctionLike(node) && "name" in node && node.name !== undefined) {
    return node.name.getText();
  }
  const { parent } = node;
  const named = ts.isVariableDeclaration(parent) || ts.isPropertyDeclaration(parent) ||
    ts.isPropertyAssignment(parent);
  return named ? parent.name.getText() : undefined;
}

/** Names by which only promises are had: a name that is also something else's says nothing. */
function promisingNames(all: readonly ts.SourceFile[]): Set<string> {
  const [promising, others] = [new Set<string>(), new Set<string>()];
  for (const file of all) {
    walk(file, (node) => {
      if (!ts.isFunctionLike(node)) return;
      const name = nameOf(node);
      if (name === undefined) return;
      (givesPromise(node as FunctionLike) ? promising : others).add(name);
    });
  }
  return new Set([...promising].filter((name) => !others.has(name)));
}

/** Methods of libraries and of the platform that one of ours shares its name with. */
const BORROWED = new Set(["notFound", "pause"]);

/** Functions and methods that a file has or imports. */
function namesIn(file: ts.SourceFile): Set<string> {
  const names = new Set<string>();
  walk(file, (node) => {
    if (ts.isImportSpecifier(node)) names.add(node.name.text);
    const name = ts.isFunctionLike(node) ? nameOf(node) : undefined;
    if (name !== undefined) names.add(name);
  });
  return names;
}

/** Calls whose promise is dropped. */
function dropped(file: ts.SourceFile, promising: ReadonlySet<string>): string[] {
  const found: string[] = [];
  const inReach = namesIn(file);
  walk(file, (node) => {
    if (!ts.isExpressionStatement(node) || !ts.isCallExpression(node.expression)) return;
    const { expression } = node.expression;
    const isOwn = !ts.isPropertyAccessExpression(expression) ||
      expression.expression.kind === ts.SyntaxKind.ThisKeyword;
    const name = (ts.isPropertyAccessExpression(expression) ? expression.name : expression)
      .getText();
    const known = isOwn ? inReach.has(name) : !BORROWED.has(name);
    if (known && promising.has(name)) found.push(where(file, node));
  });
  return found;
}

/** Functions that may return or throw before a promise that they were given has a handler. */
function unhandled(file: ts.SourceFile): string[] {
  const found: string[] = [];
  walk(file, (node) => {
    if (!ts.isFunctionLike(node) || !("body" in node) || node.body === undefined) return;
    const { body } = node as ts.FunctionDeclaration;
    for (const { name, type } of node.parameters) {
      if (!/^Promise</.test(type?.getText() ?? "") || !ts.isIdentifier(name)) continue;
      let first = Infinity;
      let exit = Infinity;
      walk(body!, (inner) => {
        if (ts.isIdentifier(inner) && inner.text === name.text) {
          first = Math.min(first, inner.getStart());
        }
        const leaves = ts.isThrowStatement(inner) ||
          ts.isReturnStatement(inner) && !inner.getText().includes(name.text);
        if (leaves) exit = Math.min(exit, inner.getStart());
      });
      if (exit < first) found.push(where(file, node));
    }
  });
  return found;
}

function where(file: ts.SourceFile, node: ts.Node): string {
  const { line } = file.getLineAndCharacterOfPosition(node.getStart());
  return `${file.fileName}:${line + 1}: ${node.getText().split("\n")[0]}`;
}

Deno.test("no promise in src/ is dropped, or handed to who may return before it has a handler", async () => {
  const all = await sources();
  const promising = promisingNames(all);
  assertEquals(all.flatMap((file) => [...dropped(file, promising), ...unhandled(file)]), []);
});

Deno.test("the rule about promises finds what it is for", () => {
  const rows: readonly [text: string, found: number][] = [
    ["async function load() {} function f() { load(); }", 1],
    ["async function load() {} function f() { void load(); }", 0],
    ["async function load() {} async function f() { await load(); }", 0],
    ["async function load() {} function f() { load().catch(() => {}); }", 0],
    ["class A { async load() {} f() { this.load(); } }", 1],
    ["const load = async () => {}; function f() { load(); }", 1],
    [
      "function within(one: Promise<void>, s: AbortSignal) { if (s.aborted) return; one.then(); }",
      1,
    ],
    [
      "function within(one: Promise<void>, s: AbortSignal) { one.then(); if (s.aborted) return; }",
      0,
    ],
    ["function within(one: Promise<void>) { return one; }", 0],
  ];
  for (const [text, found] of rows) {
    const file = parse("file.ts", text);
    const faults = [...dropped(file, promisingNames([file])), ...unhandled(file)];
    assertEquals(faults.length, found, text);
  }
});
