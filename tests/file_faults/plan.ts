import type { Random } from "../fake/random.ts";
import { type Call, type CallFaults, type File, FILES, type Kind, KINDS_OF } from "./control.ts";

const ALWAYS = 65_536;
/** Calls that a gateway makes all the time; the others belong to opening, copying the log and closing. */
const OFTEN: ReadonlySet<Call> = new Set(["read", "write", "sync", "lock"]);
const ALL_FILES = Object.keys(FILES) as File[];

/** What is done to the gateway in one round. */
export interface RoundPlan {
  /** Random faults of several classes, a class that always fails, or one call that fails once. */
  readonly faults: readonly CallFaults[] | {
    readonly call: Call;
    readonly number: number;
    readonly kind: Kind;
  };
  readonly lastMs: number;
  /** When it is killed, within `lastMs`; undefined when it is not. */
  readonly killAfterMs: number | undefined;
  /** Whether another process writes into the same file meanwhile. */
  readonly hasNeighbour: boolean;
  readonly drawSeed: number;
}

/** What plans may have. */
export interface PlanOptions {
  readonly calls: readonly Call[];
  /** How calls may fail; a class to which none of them can happen fails in all of its ways. */
  readonly kinds: readonly Kind[];
  readonly kills: boolean;
  readonly neighbour: boolean;
}

/** Makes the plan of a round from random numbers. */
export function planRound(random: Random, options: PlanOptions): RoundPlan {
  const { kills, neighbour } = options;
  const faults = planFaults(random, options);
  // a disk that hangs is noticed after two seconds, and not waited for after five
  const mayHang = "number" in faults
    ? faults.kind === "hang"
    : faults.some(({ kinds }) => kinds.includes("hang"));
  const lastMs = random.integer(200, mayHang && random.next() < 0.3 ? 9_000 : 1_500);
  const isKilled = kills && random.next() < 0.1;
  return {
    faults,
    lastMs,
    killAfterMs: isKilled ? random.integer(20, lastMs) : undefined,
    // a neighbour would be the last at a file whose gateway was killed, and would put its log away
    hasNeighbour: neighbour && !isKilled && random.next() < 0.6,
    drawSeed: random.integer(1, 2 ** 31),
  };
}

function planFaults(random: Random, { calls, kinds }: PlanOptions): RoundPlan["faults"] {
  const kindsOf = (call: Call) => {
    const some = KINDS_OF[call].filter((kind) => kinds.includes(kind));
    return some.length === 0 ? KINDS_OF[call] : some;
  };
  const way = random.next();
  const often = calls.filter((one) => OFTEN.has(one));
  const call = random.pick([...calls, ...often, ...often, ...often]);
  if (way < 0.15) {
    return { call, number: random.integer(1, 40), kind: random.pick(kindsOf(call)) };
  }
  if (way < 0.35) return [{ ...someFaults(random, call, kindsOf(call)), partsPer65536: ALWAYS }];
  const chosen = calls.filter((one) => one === call || random.next() < 0.4);
  return chosen.map((one) => someFaults(random, one, kindsOf(one)));
}

/** From one call in two thousand to every second one. */
function someFaults(random: Random, call: Call, possible: readonly Kind[]): CallFaults {
  const kinds = possible.filter(() => random.next() < 0.6);
  const files = ALL_FILES.filter(() => random.next() < 0.6);
  return {
    call,
    partsPer65536: 2 ** random.integer(5, 15),
    kinds: kinds.length === 0 ? possible : kinds,
    files: files.length === 0 ? ALL_FILES : files,
  };
}

/** A plan in a few words, for what is printed. */
export function describePlan({ faults, lastMs, killAfterMs, hasNeighbour }: RoundPlan): string {
  const what = "number" in faults
    ? `${faults.kind} at ${faults.call} number ${faults.number}`
    : faults.map(({ call, partsPer65536, kinds, files }) => {
      const share = partsPer65536 === ALWAYS ? "always" : `1 in ${ALWAYS / partsPer65536}`;
      return `${call} ${share} (${kinds.join("/")}; ${files.join("/")})`;
    }).join(", ");
  const killed = killAfterMs === undefined ? "" : `, killed after ${killAfterMs} ms`;
  return `${what}, ${lastMs} ms${killed}${hasNeighbour ? ", with a neighbour" : ""}`;
}
