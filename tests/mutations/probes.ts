import type { Fault, Range } from "./faults.ts";

/** The file that probes write to, beside the sources of a copy. */
export const REACHED = "reached.txt";

/** What a place is called within its file. */
export function placeName([start, end]: Range): string {
  return `${start}-${end}`;
}

/**
 * A source text that notes which of its faults' places a test comes by, so that only tests that do are run for a fault.
 *
 * A place is where an expression is evaluated. Each is noted once, as a line with its number, by every thread and process.
 *
 * @param numbers Numbers of places, by {@linkcode placeName}.
 * @param path Path of {@linkcode REACHED}.
 * @param fault A fault that it is given as well; the places within it are gone.
 */
export function withProbes(
  source: string,
  numbers: ReadonlyMap<string, number>,
  path: string,
  fault?: Pick<Fault, "start" | "end" | "replacement">,
): string {
  const inserted: { at: number; text: string; rank: number }[] = [];
  for (const [place, number] of numbers) {
    const [start, end] = place.split("-").map(Number) as [number, number];
    const isWithin = fault !== undefined && start >= fault.start && end <= fault.end &&
      end - start < fault.end - fault.start;
    if (isWithin) continue;
    // at one position what ends comes before what begins, and the outer one is the first to begin and the last to end
    inserted.push({ at: start, text: `(reached$(${number}), `, rank: 1e9 - end });
    inserted.push({ at: end, text: ")", rank: -1e9 + (1e8 - start) });
  }
  if (fault !== undefined) {
    inserted.push({ at: fault.start, text: fault.replacement, rank: Infinity });
  }
  let text = "";
  let from = 0;
  for (const one of inserted.toSorted((a, b) => a.at - b.at || a.rank - b.rank)) {
    text += source.slice(from, one.at) + one.text;
    from = one.rank === Infinity ? fault!.end : one.at;
  }
  return `${text}${source.slice(from)}
function reached$(number: number): void {
  const all = ((globalThis as any).reached$ ??= new Set<number>()) as Set<number>;
  if (all.has(number)) return;
  all.add(number);
  try {
    Deno.writeTextFileSync(${JSON.stringify(path)}, number + "\\n", { append: true });
  } catch {
    // a process that may not write
  }
}
`;
}
