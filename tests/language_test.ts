/**
 * Keeps phrases out of the project that read like a translation, and says what to write instead.
 *
 * Pages must have none, nor may texts and doc comments of folders that were rewritten. In other doc comments they are
 * counted, and the count may only go down.
 */

import ts from "typescript";
import { assert, assertEquals } from "./assert.ts";

const ROOT = new URL("../", import.meta.url);

/** A phrase to avoid. */
interface Phrase {
  readonly pattern: RegExp;
  /** What to write instead. */
  readonly say: string;
  /** Text that has the phrase. */
  readonly example: string;
  /** Text that looks similar and is fine. */
  readonly fine?: string;
}

/** Phrases to avoid on pages, in texts and in comments. */
const PHRASES: readonly Phrase[] = [
  {
    pattern: /\bwhoever\b/i,
    say: "the caller, the operator, or anyone who",
    example: "Whoever asks",
  },
  { pattern: /\bwho asks?\b/i, say: "the caller", example: "of the account who asks" },
  {
    pattern: /\b(?:of|is|are|as|beside) (?:ours|theirs)\b/i,
    say: "the gateway's, the upstream's or the caller's",
    example: "a fault of ours",
    fine: "time to renew theirs",
  },
  {
    pattern: /\bat the (?:most|least)\b/i,
    say: "at most, at least or up to",
    example: "at the most 5",
  },
  {
    pattern: /\b(?:for|so) many as\b|\bso many(?! \w+ that\b)/i,
    say: "this many",
    example: "for so many bytes",
    fine: "so many requests that",
  },
  {
    pattern: /\bfor so long\b/i,
    say: "lifetime, or for this time",
    example: "valid for so long: 12h",
  },
  {
    pattern: /\bfor ever\b/i,
    say: "permanently, or never expires",
    example: "without it for ever",
    fine: "for every",
  },
  {
    pattern: /\banew\b/i,
    say: "again, or from the start",
    example: "begins anew",
    fine: "a new key",
  },
  { pattern: /\bof before\b/i, say: "earlier, older or previous", example: "programs of before" },
  {
    pattern: /\bin the place of\b/i,
    say: "instead of, or replace",
    example: "in the place of the file",
  },
  {
    pattern: /\bstands? (?:in|beside|behind|aside|there)\b/i,
    say: "is in, is part of, or contains",
    example: "what stands in it",
    fine: "understands it",
  },
  {
    pattern: /\bwhere (?:the \w+|it|one|they) stands?\b/i,
    say: "account status, or rate-limit status",
    example: "where the caller stands",
  },
  { pattern: /\bin force\b/i, say: "effective, or in effect", example: "settings in force" },
  { pattern: /\bwhat is not\b/i, say: "the name of the thing", example: "what is not sent" },
  {
    pattern: /\bis not sent that\b/i,
    say: "is not sent, with the thing as the subject",
    example: "is not sent that",
  },
  {
    pattern: /\b(?:cannot|can not|could not) (?:be said|say)\b/i,
    say: "cannot be translated, or does not support",
    example: "fields that cannot be said",
  },
  { pattern: /\bunsaid\b/i, say: "dropped", example: "unsaid fields" },
  {
    pattern: /\bmend(?:s|ed|ing)?\b/i,
    say: "repair, or adjust",
    example: "mended streams",
    fine: "recommended, amended",
  },
  {
    pattern: /(?<!\bthere )(?<!\bit )\bis no (?!longer\b|more\b|less\b|such\b|need\b|way\b)\w+/i,
    say: "is not a",
    example: "text that is no UTF-8",
    fine: "there is no service beside it; the key is no longer valid",
  },
  {
    pattern: /\b(?:is|are) told(?! (?:to|apart)\b)/i,
    say: "gets, receives, or is reported",
    example: "the caller is told",
    fine: "a client that was told",
  },
  {
    pattern: /\btold by its\b/i,
    say: "detected by, or distinguished by",
    example: "told by its bytes",
  },
  {
    pattern: /\b(?:is|are) not whole\b|\bhad whole\b/i,
    say: "is incomplete, or is truncated",
    example: "the link is not whole",
  },
  {
    pattern: /\blook(?:s|ed)? through\b/i,
    say: "check, verify or scan",
    example: "looked through before it gets its name",
  },
  { pattern: /\b(?:gone|goes?|going) on with\b/i, say: "continue", example: "gone on with" },
  {
    pattern: /\bas (?:it|they) came\b/i,
    say: "unchanged, or as received",
    example: "events as they came",
  },
  {
    pattern: /\bbeyond what\b/i,
    say: "out of range, or above the limit of",
    example: "beyond what is taken",
  },
  {
    pattern: /\bis to be had\b|\bare to be had\b/i,
    say: "is available",
    example: "no room is to be had",
  },
  {
    pattern: /\b(?:with )?commas in between\b/i,
    say: "comma-separated",
    example: "with commas in between",
  },
  { pattern: /\btoo many tries\b/i, say: "too many attempts", example: "Too many tries." },
  { pattern: /\ba sane\b/i, say: "a valid", example: "a sane id", fine: "insane" },
];

/** Phrases to avoid in texts that the program prints or returns. */
const IN_TEXTS: readonly Phrase[] = [
  {
    pattern: /\bthere (?:is|are|was|were) no(?:ne)?\b(?! command)/i,
    say: "unknown, not found, or no … yet",
    example: "There is no account x",
    fine: "No accounts",
  },
  {
    pattern: /\b(?:exist|known|served|needed|taken|there) here\b/i,
    say: "the sentence without here",
    example: "does not exist here",
  },
  {
    pattern: /\bis not right\b|\bare not right\b/i,
    say: "is incorrect",
    example: "The password is not right.",
  },
  { pattern: /\bdid not work\b/i, say: "failed", example: "It did not work" },
  { pattern: /\bfor people\b/i, say: "display name, or human-readable", example: "for people" },
  { pattern: /\bpresent password\b/i, say: "current password", example: "Present password" },
  { pattern: /^\W*whose \(/i, say: "account email", example: "whose (default: the owner's)" },
];

/** The patterns behind odd prose. Too many lines have one to refuse it; lines that a change adds are warned of. */
const ODD: readonly Phrase[] = [
  {
    pattern: /\bwhat (?:is|are|was|were|has been) \w+ (?:of|to|for|by|with)\b/i,
    say: "a noun: the error for a reply, not what is said of it",
    example: "What is said of a reply that is none.",
    fine: "what a reply costs",
  },
  {
    pattern: /\b(?:of|from|to|by|with) (?:which|whom?)\b/i,
    say: "two sentences, or 'whose'",
    example: "Orders of which credits were taken back",
    fine: "which order it is",
  },
  {
    pattern: /\bthat (?:is|are) to \w+/i,
    say: "the verb: requests to settle",
    example: "requests that are to be settled",
  },
  {
    pattern: /\b(?:nobody|somebody|whoever)\b/i,
    say: "who it is: the caller, a user, an operator, no reader",
    example: "nobody handles it",
  },
  {
    pattern: /\b(?:told|heard|said|says)\b/i,
    say: "returned, received, reported, logged",
    example: "Notes what another thread has told.",
  },
];

/** Folders and files of `src/` whose texts and doc comments must have none. Add others as they are rewritten. */
const CHECKED = [
  "people/accounts/",
  "requests/admission/",
  "money/billing/",
  "settings/catalog/",
  "doors/cli/",
  "settings/config/",
  "doors/console/",
  "ground/fair_share/",
  "doors/http/",
  "requests/images/",
  "wire/json/",
  "wire/pixels/",
  "ground/telemetry/",
  "wire/tokens/",
  "money/usage/",
  "gateway_identity.ts",
  "names.ts",
  "ground/refusal.ts",
];

/**
 * Phrases that the doc comments elsewhere in `src/` still have. Lower this number when you remove some; never raise it.
 */
const MAX_IN_COMMENTS = 34;
/** How far the count may be below it before the number has to be lowered. */
const SLACK = 25;

interface Found {
  readonly path: string;
  readonly line: number;
  readonly text: string;
}

/** Where a text has phrases: each with its line and what to write instead. */
function faultsIn({ path, line, text }: Found, phrases: readonly Phrase[]): string[] {
  return phrases.flatMap(({ pattern, say }) => {
    const match = pattern.exec(text);
    if (match === null) return [];
    const at = line + (text.slice(0, match.index).match(/\n/g)?.length ?? 0);
    const around = text.slice(Math.max(0, match.index - 40), match.index + match[0].length + 40);
    return `${path}:${at}: "${match[0]}" → write ${say}\n      …${around.replaceAll(/\s+/g, " ")}…`;
  });
}

async function* files(folder: URL, ending: RegExp): AsyncGenerator<URL> {
  for await (const entry of Deno.readDir(folder)) {
    const url = new URL(entry.isDirectory ? `${entry.name}/` : entry.name, folder);
    if (entry.isDirectory) yield* files(url, ending);
    else if (ending.test(entry.name)) yield url;
  }
}

const pathOf = (url: URL) => url.pathname.slice(ROOT.pathname.length);

/** The prose of a page in Markdown, without its code, line by line. */
async function proseOf(url: URL): Promise<Found> {
  const text = await Deno.readTextFile(url);
  const blank = (code: string) => code.replaceAll(/[^\n]/g, " ");
  return {
    path: pathOf(url),
    line: 1,
    text: text.replaceAll(/^```[\s\S]*?^```$/gm, blank).replaceAll(/`[^`\n]*`/g, blank),
  };
}

/** Texts of a program that consist of words: string literals, templates and the text of elements. */
function textsOf(path: string, source: string): Found[] {
  const file = ts.createSourceFile(path, source, ts.ScriptTarget.Latest, true);
  const found: Found[] = [];
  const add = (node: ts.Node, text: string) => {
    const isSql = /^\s*(?:select|insert|update|delete|create|drop|alter|with|pragma)\b/.test(text);
    if (!/\w \w/.test(text) || isSql) return;
    const { line } = file.getLineAndCharacterOfPosition(node.getStart());
    found.push({ path, line: line + 1, text });
  };
  const visit = (node: ts.Node): void => {
    if (ts.isImportDeclaration(node) || ts.isExportDeclaration(node)) return;
    if (ts.isStringLiteralLike(node) || ts.isJsxText(node)) add(node, node.text);
    if (ts.isTemplateExpression(node)) {
      const spans = node.templateSpans.map(({ literal }) => `…${literal.text}`);
      add(node, node.head.text + spans.join(""));
    }
    ts.forEachChild(node, visit);
  };
  visit(file);
  return found;
}

/** Doc comments of a program. */
function commentsOf(path: string, source: string): Found[] {
  return [...source.matchAll(/^[ \t]*\/\*\*[\s\S]*?\*\//gm)].map(({ 0: comment, index }) => ({
    path,
    line: source.slice(0, index).split("\n").length,
    text: comment.replaceAll(/^[ \t]*\*/gm, "  ").replaceAll(/`[^`\n]*`/g, "…"),
  }));
}

function isChecked(path: string): boolean {
  return CHECKED.some((checked) => path.startsWith(`src/${checked}`));
}

function explain(faults: readonly string[]): string {
  return `Plain English, please (docs/internals/language.md):\n    ${faults.join("\n    ")}\n`;
}

Deno.test("pages use plain English", async () => {
  const pages = [
    new URL("README.md", ROOT),
    new URL("CHANGELOG.md", ROOT),
    ...await Array.fromAsync(files(new URL("docs/", ROOT), /\.md$/)),
  ].filter(({ pathname }) => !pathname.endsWith("/internals/language.md")); // lists what not to say
  const prose = await Promise.all(pages.map(proseOf));
  const faults = prose.flatMap((page) => faultsIn(page, PHRASES));
  assertEquals(faults.length, 0, explain(faults));
});

Deno.test("errors, help, labels, descriptions and doc comments use plain English", async () => {
  const faults: string[] = [];
  for await (const url of files(new URL("src/", ROOT), /\.tsx?$/)) {
    const path = pathOf(url);
    if (!isChecked(path)) continue;
    const source = await Deno.readTextFile(url);
    const texts = textsOf(path, source);
    faults.push(...texts.flatMap((text) => faultsIn(text, [...PHRASES, ...IN_TEXTS])));
    faults.push(...commentsOf(path, source).flatMap((comment) => faultsIn(comment, PHRASES)));
  }
  assertEquals(faults.length, 0, explain(faults));
});

Deno.test("doc comments elsewhere: fewer and fewer phrases that read like a translation", async () => {
  const faults: string[] = [];
  for await (const url of files(new URL("src/", ROOT), /\.tsx?$/)) {
    const path = pathOf(url);
    if (isChecked(path)) continue;
    const comments = commentsOf(path, await Deno.readTextFile(url));
    faults.push(...comments.flatMap((comment) => faultsIn(comment, PHRASES)));
  }
  const count = faults.length;
  assert(
    count <= MAX_IN_COMMENTS,
    `${count} phrases in doc comments; there were ${MAX_IN_COMMENTS}. ${explain(faults)}`,
  );
  assert(
    count > MAX_IN_COMMENTS - SLACK,
    `Only ${count} phrases are left in doc comments: set MAX_IN_COMMENTS to ${count}.`,
  );
});

/** Comment lines that a diff without context adds, with their numbers. */
function addedComments(diff: string): Found[] {
  let path = "";
  let line = 0;
  return diff.split("\n").flatMap((row) => {
    path = /^\+\+\+ b\/(.*)/.exec(row)?.[1] ?? path;
    line = Number(/^@@ \S+ \+(\d+)/.exec(row)?.[1] ?? line);
    if (!row.startsWith("+") || row.startsWith("+++")) return [];
    const text = /^\+\s*(?:\/\*\*|\*|\/\/)\s?(.*)/.exec(row)?.[1];
    const found = text === undefined
      ? []
      : [{ path, line, text: text.replaceAll(/`[^`]*`/g, "…") }];
    line++;
    return found;
  });
}

/** What was changed since the branch left `main`, or by the last commit and since; nothing without git. */
async function changes(): Promise<string> {
  const git = async (...args: string[]) => {
    const command = new Deno.Command("git", { args, cwd: ROOT, stderr: "null" });
    const { success, stdout } = await command.output();
    return success ? new TextDecoder().decode(stdout).trim() : undefined;
  };
  try {
    const [head, fork] = [await git("rev-parse", "HEAD"), await git("merge-base", "HEAD", "main")];
    const since = fork === undefined || fork === head ? "HEAD~1" : fork;
    return await git("diff", "-U0", since, "--", "src/") ?? "";
  } catch {
    return "";
  }
}

Deno.test("bounds are MAX_ and MIN_, not MOST_ and LEAST_", async () => {
  const found: string[] = [];
  for await (const url of files(new URL("src/", ROOT), /\.tsx?$/)) {
    const names = (await Deno.readTextFile(url)).match(/\b(?:MOST|LEAST)_[A-Z]\w*/g) ?? [];
    found.push(...names.map((name) => `${pathOf(url)}: ${name}`));
  }
  assertEquals(found, []);
});

Deno.test("new comments: the patterns behind odd prose are warned of", async () => {
  const warnings = addedComments(await changes()).flatMap((line) => faultsIn(line, ODD));
  if (warnings.length === 0) return;
  const text = `Better said otherwise:\n    ${warnings.join("\n    ")}\n`;
  await Deno.stderr.write(new TextEncoder().encode(text)); // the console is quiet in tests
});

Deno.test("lines that a diff adds are found with their numbers", () => {
  const diff = `--- a/src/a.ts
+++ b/src/a.ts
@@ -3 +3,3 @@ function a() {
-  // told
+  /** What is said of it. */
+  const told = 1;
+  // "told" is \`told\`
`;
  assertEquals(addedComments(diff), [
    { path: "src/a.ts", line: 3, text: "What is said of it. */" },
    { path: "src/a.ts", line: 5, text: '"told" is …' },
  ]);
});

Deno.test("each phrase is found, and what only looks like it is not", () => {
  for (const { pattern, example, fine = "" } of [...PHRASES, ...IN_TEXTS, ...ODD]) {
    assert(pattern.test(example), `${pattern} does not find ${example}`);
    assert(!pattern.test(fine), `${pattern} finds ${fine}`);
  }
});
