import { Random } from "../fake/random.ts";
import { anySize, type Kind, type Step, type Target } from "./steps.ts";

/** How fast bytes are sent. */
export interface Pace {
  readonly name: "fast" | "drips" | "bursts";
  /** Bytes of one write; all of a step if undefined. */
  readonly bytes?: number;
  readonly pauseMs: number;
}

/** What a client does with what it is sent. */
export type Reading = "reads" | "reads slowly" | "never reads";

/** How a connection ends on the client's side. */
export interface Ending {
  readonly how: "leaves" | "resets" | "half-closes" | "holds";
  /** Time before it lets go, in milliseconds. */
  readonly afterMs: number;
}

/** An attack with all its parameters, which follow from its number and the seed. */
export interface Attack {
  readonly number: number;
  readonly kind: string;
  readonly told: string;
  readonly steps: Iterable<Step>;
  readonly pace: Pace;
  readonly reading: Reading;
  readonly ending: Ending;
  /** Bytes after which it stops, wherever that is. */
  readonly stopAfterBytes: number;
}

/** Spreads the numbers of attacks, which follow each other, over all seeds. */
const SPREAD = 0x9e3779b1;

/** Makes the attack of a number. The same seed, number and kinds make the same attack. */
export function attackOf(
  { seed, number, kinds, target }: {
    readonly seed: number;
    readonly number: number;
    readonly kinds: readonly Kind[];
    readonly target: Target;
  },
): Attack {
  const random = new Random((seed + Math.imul(number + 1, SPREAD)) | 0);
  const kind = random.pick(kinds);
  const { told, steps } = kind.plan(random, target);
  return {
    number,
    kind: kind.name,
    told,
    steps,
    pace: paceOf(random),
    reading: random.pick(["reads", "reads", "reads slowly", "never reads"]),
    ending: {
      how: random.pick(["leaves", "resets", "half-closes", "holds"]),
      afterMs: random.pick([0, 50, random.integer(0, 6_000)]),
    },
    stopAfterBytes: random.next() < 0.25 ? anySize(random, 0, 20) : Infinity,
  };
}

function paceOf(random: Random): Pace {
  const name = random.pick(["fast", "fast", "fast", "drips", "bursts"] as const);
  if (name === "fast") return { name, pauseMs: 0 };
  return name === "drips"
    ? { name, bytes: random.integer(1, 64), pauseMs: random.integer(1, 20) }
    : { name, bytes: anySize(random, 8, 16), pauseMs: random.integer(1, 100) };
}

/** An attack in one line. */
export function describe(attack: Attack): string {
  const { number, kind, told, pace, reading, ending, stopAfterBytes } = attack;
  const writes = pace.bytes === undefined
    ? pace.name
    : `${pace.name} of ${pace.bytes} bytes every ${pace.pauseMs} ms`;
  const stop = stopAfterBytes === Infinity ? "" : `, stops after ${stopAfterBytes} bytes`;
  return `#${number} ${kind}: ${told}; ${writes}, ${reading}${stop}, ${ending.how} after ${ending.afterMs} ms`;
}
