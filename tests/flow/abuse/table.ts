/**
 * The table of faults and abuse: `tests/flow/abuse_test.ts` runs its rows, `docs/faults.md` shows them.
 *
 * Regenerate the page with `deno run -A tests/flow/abuse/table.ts`.
 */

import { CALLERS } from "./callers.ts";
import { IMAGES } from "./images.ts";
import { OWN } from "./own.ts";
import type { Charged, ClientSees, Logged, Row } from "./row.ts";
import { UPSTREAMS } from "./upstreams.ts";

export const SECTIONS: readonly {
  readonly title: string;
  readonly about: string;
  readonly rows: readonly Row[];
}[] = [
  { title: "Callers", about: "what the caller does", rows: CALLERS },
  { title: "Images", about: "what the request contains", rows: IMAGES },
  { title: "Upstreams", about: "what the upstream does", rows: UPSTREAMS },
  { title: "The gateway and its machine", about: "what happens", rows: OWN },
];

const INTRODUCTION = `# Faults and abuse

Use this page to look up what happens when a caller, an image host, an upstream or the gateway's own machine
misbehaves: what the client sees, what is charged, and what is logged. The tables show the error codes of the
chat dialect. Statuses are the same in all dialects, and every 429 and 503 has a \`Retry-After\` header.

Each row is a test that checks every column (\`tests/flow/abuse_test.ts\`), and this page is generated from the
same data. "Not recorded" means that the request is rejected before admission: it has no usage record and does
not count towards rate limits. Log lines have level \`info\` unless the table says otherwise; nothing else is
logged. The [settings](settings.md) page lists the defaults.
`;

/** Whether a row is known not to hold. */
export function isPending(row: Row): boolean {
  return "pending" in row && row.pending !== undefined;
}

/** The page `docs/faults.md`. */
export function faultsTable(): string {
  const sections = SECTIONS.map(({ title, about, rows }) => {
    const cells = rows.filter((row) => !isPending(row)).map((row) => [
      row.sent,
      seenText(row.clientSees),
      typeof row.charged === "string" ? row.charged : chargedText(row.charged),
      loggedText(row.logged),
    ]);
    return `\n## ${title}\n\n${
      aligned([[about, "the client sees", "charged", "the log says"], ...cells])
    }`;
  });
  return INTRODUCTION + sections.join("");
}

function seenText(seen: ClientSees): string {
  if (seen === "disconnected") return "nothing (disconnected)";
  if (seen === "closed") return "a closed connection";
  if ("stream" in seen) return `200; the stream ends with error \`${seen.stream}\``;
  const { status, code } = seen;
  if (code === undefined) return "a complete response";
  return code.startsWith("(") ? `${status} ${code}` : `${status} \`${code}\``;
}

const CREDITS_BY = {
  upstream: "by the upstream's usage",
  counted: "by the gateway's count",
} as const;

function chargedText({ record, by }: Charged): string {
  if (record === undefined) return "nothing; not recorded";
  const as = record === "complete" ? "" : `; recorded as \`${record}\``;
  return by === undefined ? `nothing${as}` : `${CREDITS_BY[by]}${as}`;
}

function loggedText(logged: readonly Logged[]): string {
  if (logged.length === 0) return "nothing";
  return logged.map((line) => {
    const [, level = "", message = ""] = /^(\w+) (.*)$/.exec(line) ?? [];
    return level === "info" ? `\`${message}\`` : `${level} \`${message}\``;
  }).join(", ");
}

/** A table in Markdown as the formatter leaves it. */
function aligned(rows: readonly (readonly string[])[]): string {
  const widths = rows[0]!.map((_, at) => Math.max(3, ...rows.map((row) => row[at]!.length)));
  const line = (row: readonly string[]) =>
    `| ${row.map((text, at) => text.padEnd(widths[at]!)).join(" | ")} |\n`;
  const [head, ...rest] = rows;
  const rule = widths.map((width) => "-".repeat(width));
  return [head!, rule, ...rest].map(line).join("");
}

if (import.meta.main) {
  await Deno.writeTextFile(new URL("../../../docs/faults.md", import.meta.url), faultsTable());
}
