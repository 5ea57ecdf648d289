import { SettingsEditor } from "../../config/mod.ts";

/** A line of a diff. */
export interface DiffLine {
  readonly kind: "same" | "removed" | "added" | "gap";
  readonly text: string;
}

/** Unchanged lines that are shown around changes. */
const CONTEXT = 3;
/** What is shown for lines outside of the section, which may hold secrets. */
const HIDDEN = "… (a line of another section: its comma changes)";

/**
 * Compares two texts of a settings file, line by line. Of other sections than that which was changed nothing is shown: they
 * may hold secrets.
 *
 * @param section Name of the changed section.
 * @returns Changed lines with a few around them.
 */
export function settingsDiff(before: string, after: string, section: string): DiffLine[] {
  const [old, now] = [sideOf(before, section), sideOf(after, section)];
  const all = compared(old.lines, now.lines);
  const isChanged = all.map(({ kind }) => kind !== "same");
  const shown: DiffLine[] = [];
  for (const [at, line] of all.entries()) {
    const isNear = isChanged.slice(Math.max(0, at - CONTEXT), at + CONTEXT + 1).includes(true);
    const isInside = isWithin(line.kind === "added" ? now : old, line.place);
    if (line.kind === "same" && !(isNear && isInside)) {
      if (shown.length > 0 && shown.at(-1)!.kind !== "gap") shown.push({ kind: "gap", text: "…" });
      continue;
    }
    shown.push({ kind: line.kind, text: isInside ? line.text : HIDDEN });
  }
  return shown.at(-1)?.kind === "gap" ? shown.slice(0, -1) : shown;
}

interface Side {
  readonly lines: readonly string[];
  readonly range: { readonly first: number; readonly last: number } | undefined;
}

function sideOf(text: string, section: string): Side {
  return { lines: text.split(/\r?\n/), range: SettingsEditor.linesOf(text, [section]) };
}

function isWithin({ range }: Side, place: number): boolean {
  return range !== undefined && place >= range.first && place <= range.last;
}

interface ComparedLine extends DiffLine {
  /** Its number in the text that has it; of lines of both, in the one before. */
  readonly place: number;
}

/** Lines that both begin and end with are the same; the few between are compared with each other. */
function compared(old: readonly string[], now: readonly string[]): ComparedLine[] {
  let [start, end] = [0, 0];
  const shorter = Math.min(old.length, now.length);
  while (start < shorter && old[start] === now[start]) start++;
  while (end < shorter - start && old.at(-1 - end) === now.at(-1 - end)) end++;
  const same = (from: number, to: number): ComparedLine[] =>
    old.slice(from, to).map((text, at) => ({ kind: "same", text, place: from + at }));
  return [
    ...same(0, start),
    ...middle(old.slice(start, old.length - end), now.slice(start, now.length - end), start),
    ...same(old.length - end, old.length),
  ];
}

/** By the longest common subsequence. */
function middle(old: readonly string[], now: readonly string[], offset: number): ComparedLine[] {
  const width = now.length + 1;
  const lengths = new Uint32Array((old.length + 1) * width);
  for (let a = old.length - 1; a >= 0; a--) {
    for (let b = now.length - 1; b >= 0; b--) {
      lengths[a * width + b] = old[a] === now[b]
        ? lengths[(a + 1) * width + b + 1]! + 1
        : Math.max(lengths[(a + 1) * width + b]!, lengths[a * width + b + 1]!);
    }
  }
  const lines: ComparedLine[] = [];
  let [a, b] = [0, 0];
  while (a < old.length || b < now.length) {
    if (a < old.length && b < now.length && old[a] === now[b]) {
      lines.push({ kind: "same", text: old[a]!, place: offset + a });
      a++;
      b++;
    } else if (
      b >= now.length ||
      (a < old.length && lengths[(a + 1) * width + b]! >= lengths[a * width + b + 1]!)
    ) {
      lines.push({ kind: "removed", text: old[a]!, place: offset + a });
      a++;
    } else {
      lines.push({ kind: "added", text: now[b]!, place: offset + b });
      b++;
    }
  }
  return lines;
}
