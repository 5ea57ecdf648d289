import { SettingsEditor } from "../../../settings/config/mod.ts";

/** A line of a diff. */
export interface DiffLine {
  readonly kind: "same" | "removed" | "added" | "gap";
  readonly text: string;
}

/** Unchanged lines that are shown around changes. */
const CONTEXT = 3;

/**
 * Compares a setting in two texts of a settings file, line by line. Nothing of other settings is shown, even if they are on
 * the same line: they may be secrets.
 *
 * @param path Keys of objects.
 * @returns Changed lines with a few around them.
 */
export function settingsDiff(before: string, after: string, path: readonly string[]): DiffLine[] {
  const [old, now] = [before, after].map((text) =>
    SettingsEditor.sourceOf(text, path)?.split(/\r?\n/) ?? []
  ) as [string[], string[]];
  const all = compared(old, now);
  const shown: DiffLine[] = [];
  for (const [at, line] of all.entries()) {
    const near = all.slice(Math.max(0, at - CONTEXT), at + CONTEXT + 1);
    if (near.some(({ kind }) => kind !== "same")) shown.push(line);
    else if (shown.length > 0 && shown.at(-1)!.kind !== "gap") {
      shown.push({ kind: "gap", text: "…" });
    }
  }
  return shown.at(-1)?.kind === "gap" ? shown.slice(0, -1) : shown;
}

/** Lines that both begin and end with are the same; the few between are compared with each other. */
function compared(old: readonly string[], now: readonly string[]): DiffLine[] {
  let [start, end] = [0, 0];
  const shorter = Math.min(old.length, now.length);
  while (start < shorter && old[start] === now[start]) start++;
  while (end < shorter - start && old.at(-1 - end) === now.at(-1 - end)) end++;
  const same = (lines: readonly string[]) =>
    lines.map((text): DiffLine => ({ kind: "same", text }));
  return [
    ...same(old.slice(0, start)),
    ...middle(old.slice(start, old.length - end), now.slice(start, now.length - end)),
    ...same(old.slice(old.length - end)),
  ];
}

/** By the longest common subsequence. */
function middle(old: readonly string[], now: readonly string[]): DiffLine[] {
  const width = now.length + 1;
  const lengths = new Uint32Array((old.length + 1) * width);
  for (let a = old.length - 1; a >= 0; a--) {
    for (let b = now.length - 1; b >= 0; b--) {
      lengths[a * width + b] = old[a] === now[b]
        ? lengths[(a + 1) * width + b + 1]! + 1
        : Math.max(lengths[(a + 1) * width + b]!, lengths[a * width + b + 1]!);
    }
  }
  const lines: DiffLine[] = [];
  let [a, b] = [0, 0];
  while (a < old.length || b < now.length) {
    if (a < old.length && b < now.length && old[a] === now[b]) {
      lines.push({ kind: "same", text: old[a]! });
      a++;
      b++;
    } else if (
      b >= now.length ||
      (a < old.length && lengths[(a + 1) * width + b]! >= lengths[a * width + b + 1]!)
    ) {
      lines.push({ kind: "removed", text: old[a]! });
      a++;
    } else {
      lines.push({ kind: "added", text: now[b]! });
      b++;
    }
  }
  return lines;
}
