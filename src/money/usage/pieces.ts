import { DAY_MS, HOUR_MS, startOf } from "../../ground/time.ts";

/** A period of a report. */
export interface Period {
  /** Hours; the range is half-open. */
  readonly sinceMs: number;
  readonly untilMs: number;
  /** The period's beginning; null where rows are not grouped by it. */
  readonly label: number | null;
}

/** Roll-ups that are added up, or taken away again, for a period. */
export interface Piece extends Period {
  readonly source: "days" | "hours";
  readonly sign: 1 | -1;
}

/**
 * Divides periods into days and hours. A day's roll-up is of all its hours, so that most of a range need not be read hour
 * by hour: from the nearest day on, and what that is too much is taken away.
 *
 * @param periods What is divided.
 * @param isHourly Whether only hours will do.
 */
export function piecesOf(periods: readonly Period[], isHourly: boolean): Piece[] {
  return periods.flatMap(({ sinceMs, untilMs, label }): Piece[] => {
    const [from, until] = [nearestDay(sinceMs), nearestDay(untilMs)];
    const hours = (a: number, b: number, sign: 1 | -1): Piece[] =>
      a < b ? [{ source: "hours", sinceMs: a, untilMs: b, sign, label }] : [];
    if (isHourly || from >= until) return hours(sinceMs, untilMs, 1);
    return [
      { source: "days", sinceMs: from, untilMs: until, sign: 1, label },
      ...hours(sinceMs, from, 1),
      ...hours(from, sinceMs, -1),
      ...hours(until, untilMs, 1),
      ...hours(untilMs, until, -1),
    ];
  });
}

function nearestDay(ms: number): number {
  return Math.round(ms / DAY_MS) * DAY_MS;
}

/** Hours or days one by one, to be looked up each. */
export function oneByOne(pieces: readonly Piece[]): Piece[] {
  return pieces.flatMap((piece) => {
    const stepMs = piece.source === "days" ? DAY_MS : HOUR_MS;
    return Array.from({ length: (piece.untilMs - piece.sinceMs) / stepMs }, (_, at) => ({
      ...piece,
      sinceMs: piece.sinceMs + at * stepMs,
      untilMs: piece.sinceMs + (at + 1) * stepMs,
    }));
  });
}

/** The days that pieces have a part of. */
export function daysOf(pieces: readonly Piece[]): readonly number[] {
  return [
    ...new Set(pieces.flatMap(({ sinceMs, untilMs }) => {
      const firstMs = startOf(sinceMs, DAY_MS);
      const count = Math.ceil((untilMs - firstMs) / DAY_MS);
      return Array.from({ length: count }, (_, at) => firstMs + at * DAY_MS);
    })),
  ];
}
