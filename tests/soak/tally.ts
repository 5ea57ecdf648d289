/** What was sent, what came of it and how long it took, by kind. */
export class Tally {
  readonly #rows = new Map<string, { sent: number; came: Map<string, number>; ms: number[] }>();

  sent(kind: string): void {
    this.#row(kind).sent++;
  }

  came(kind: string, what: string, ms?: number): void {
    const row = this.#row(kind);
    row.came.set(what, (row.came.get(what) ?? 0) + 1);
    if (ms !== undefined) row.ms.push(ms);
  }

  /** As lines of a table. */
  lines(): string[] {
    const lines = [line("kind", "sent", "p50 ms", "p99 ms", "answered")];
    for (const [kind, { sent, came, ms }] of this.#rows) {
      const sorted = ms.toSorted((a, b) => a - b);
      const counts = [...came].sort(([a], [b]) => a < b ? -1 : 1).map(([what, count]) =>
        `${what} × ${count}`
      );
      lines.push(line(kind, sent, at(sorted, 0.5), at(sorted, 0.99), counts.join(", ")));
    }
    return lines;
  }

  #row(kind: string) {
    let row = this.#rows.get(kind);
    if (row === undefined) this.#rows.set(kind, row = { sent: 0, came: new Map(), ms: [] });
    return row;
  }
}

function line(kind: string, sent: string | number, p50: string, p99: string, came: string) {
  return `${kind.padEnd(24)} ${String(sent).padStart(7)} ${p50.padStart(8)} ${
    p99.padStart(8)
  }  ${came}`;
}

function at(sorted: readonly number[], part: number): string {
  const found = sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))];
  return found === undefined ? "" : found.toFixed(0);
}

/** What did not hold: each kind of it told once when it is first seen, counted ever after. */
export class Failures {
  readonly #seen = new Map<string, { count: number; first: string }>();
  readonly #say: (line: string) => void;

  constructor(say: (line: string) => void) {
    this.#say = say;
  }

  /** `what` is the same for the same fault; `detail` is of this one time. */
  add(what: string, detail = ""): void {
    const seen = this.#seen.get(what);
    if (seen !== undefined) return void seen.count++;
    const first = detail === "" ? "" : /^[:…\n]/.test(detail) ? detail : `: ${detail}`;
    this.#seen.set(what, { count: 1, first });
    this.#say(`FAILS  ${what}${first}`);
  }

  get size(): number {
    return this.#seen.size;
  }

  /** As lines, the first time of each in full. */
  lines(): string[] {
    return [...this.#seen].map(([what, { count, first }]) =>
      `${String(count).padStart(5)} ×  ${what}${first}`
    );
  }

  /** As one line. */
  summary(): string {
    const most = 8;
    const kinds = [...this.#seen].map(([what, { count }]) =>
      count > 1 ? `${what.slice(0, 120)} (${count} ×)` : what.slice(0, 120)
    );
    const more = kinds.length > most ? `; and ${kinds.length - most} more` : "";
    return `${kinds.slice(0, most).join("; ")}${more}`;
  }
}
