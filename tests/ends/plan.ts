import { Random } from "../fake/random.ts";

export const FRONTS = ["chat", "messages", "responses", "socket"] as const;
/** Dialects of upstreams. */
export const BACKS = ["chat", "messages", "responses", "generate"] as const;
export type Front = typeof FRONTS[number];
export type Back = typeof BACKS[number];

/** What the caller does. */
export type Manner =
  | "reads"
  | "aborts after words"
  | "aborts after time"
  | "closes after words"
  | "half-closes"
  | "reads steadily slowly"
  | "stops for a while"
  | "stops for good"
  | "asks to cancel";

/** How the upstream's reply ends. */
export type End =
  | "proper"
  | "closes"
  | "resets"
  | "reports an error"
  | "sends garbage"
  | "stalls"
  | "exceeds its limit"
  | "fails at once";

/** Where a reply breaks that does not end properly. */
export type BreakPlace = "in text" | "after text" | "after finish" | "before the end mark";

/** Where a chat upstream puts a report: in a chunk of its own, in one with text, or in a choice of that. */
export type ReportPlace = "own chunk" | "with text" | "in a choice";

/** What the upstream says of the usage. */
export type UsageKind =
  | "late"
  | "early"
  | "cumulative"
  | "real, then zeros"
  | "input only"
  | "never"
  | "zero"
  | "a total with more"
  | "more reasoning than output"
  | "a little above the limit"
  | "input a little high"
  | "output too high"
  | "input too high";

/** Which limit of the gateway's settings the reply runs into. */
export type Limit = "none" | "streamBytes" | "events" | "eventValues" | "totalMs";

/** One run, as data: it can be printed, and repeated from its seed. */
export interface Plan {
  readonly seed: number;
  readonly number: number;
  readonly onClientDisconnect: "abort" | "drain";
  readonly front: Front;
  readonly back: Back;
  readonly stream: boolean;
  readonly manner: Manner;
  /** Words after which the caller leaves or stops. */
  readonly leaveWords: number;
  /** Milliseconds after which the caller leaves, or for which it stops. */
  readonly leaveMs: number;
  readonly end: End;
  readonly breakPlace: BreakPlace;
  /** Of all text pieces, the part that comes before a break in the text. */
  readonly breakPart: number;
  /** How long the upstream waits before it breaks, in milliseconds. */
  readonly breakDelayMs: number;
  readonly usage: UsageKind;
  readonly reportPlace: ReportPlace;
  readonly limit: Limit;
  /** Words of the prompt. */
  readonly promptWords: number;
  /** Input tokens that the upstream counts. */
  readonly input: number;
  /** Of them, those from a cache. */
  readonly cached: number;
  readonly textWords: number;
  readonly reasoningWords: number;
  /** Output tokens that nothing of the reply shows. */
  readonly hidden: number;
  /** Words in one event. */
  readonly eventWords: number;
  /** Milliseconds between two events; 0 for all of them at once. */
  readonly paceMs: number;
  /** Output limit that the caller asks for; undefined for none. */
  readonly maxTokens: number | undefined;
  readonly choices: number;
  /** Whether the upstream ignores how many choices it is asked for. */
  readonly ignoresChoices: boolean;
  readonly logprobs: boolean;
  /** Whether the route's model may reason where nothing shows it. */
  readonly mayReason: boolean;
  /** Whether a caller of responses asks for what can be read of the reasoning. */
  readonly wantsSummary: boolean;
  /** Further turns of the same WebSocket, before this one and after it. */
  readonly turnsBefore: number;
  readonly turnsAfter: number;
  /** Whether the frames of all turns are sent at once, none of which can then continue another. */
  readonly sendsAhead: boolean;
  /** Whether it continues the turn before it, if that was complete. */
  readonly continues: boolean;
}

/** Whether the caller of a plan keeps the upstream waiting. */
export function isSlow({ manner }: Pick<Plan, "manner">): boolean {
  return manner === "reads steadily slowly" || manner.startsWith("stops");
}

/** Pause between two reads of a caller that reads steadily slowly. */
export const STEADY_MS = 120;
/** How long a caller that has closed its half of the connection reads on. */
export const HALF_CLOSED_MS = 2_000;
/** Part of the runs whose caller reads so slowly that it takes real time. */
const SLOW = 0.04;
const SLOW_SOCKETS = 0.12;
/** Part of the runs that run into a limit of the settings. */
const LIMITED = 0.08;
const LIMITS = ["streamBytes", "events", "eventValues", "totalMs"] as const;

/** Picks one of several values by their weights. */
function weighted<T>(random: Random, choices: readonly (readonly [weight: number, value: T])[]): T {
  let left = random.next() * choices.reduce((sum, [weight]) => sum + weight, 0);
  for (const [weight, value] of choices) if ((left -= weight) < 0) return value;
  return choices.at(-1)![1];
}

/** A number of its own for each run of a seed. */
function seedOf(seed: number, number: number): number {
  return (Math.imul(seed ^ 0x9e3779b9, 0x85ebca6b) + Math.imul(number + 1, 0xc2b2ae35)) | 0;
}

/** Numbers of further turns: even, so that they are of the same settings. */
const FURTHER = 1_000_000_000;

/** Whether a run is a further turn of another one's WebSocket. */
export function isFurther(number: number): boolean {
  return number >= FURTHER;
}

/** All turns of a plan's WebSocket in their order; the plan alone if it has no further ones. The others are only read. */
export function turnsOf(plan: Plan): Plan[] {
  const { seed, number, turnsBefore, turnsAfter } = plan;
  const further = Array.from(
    { length: turnsBefore + turnsAfter },
    (_, at) => planRun(seed, number + (at + 1) * FURTHER, { isFurther: true }),
  );
  return further.toSpliced(turnsBefore, 0, plan);
}

/** The plan of a run: the same for the same seed and number. */
export function planRun(seed: number, number: number, { isFurther = false } = {}): Plan {
  const random = new Random(seedOf(seed, number));
  const front = isFurther ? "socket" : random.pick(FRONTS);
  const back = random.pick(BACKS);
  const isLimited = !isFurther && random.next() < LIMITED;
  const stream = front === "socket" || isLimited || random.next() < 0.75;
  const limit: Limit = isLimited ? random.pick(LIMITS) : "none";
  const manner = stream && !isLimited && !isFurther ? mannerOf(random, front) : "reads";
  const choices = front === "chat" && !isLimited && random.next() < 0.1 ? random.integer(2, 3) : 1;
  const isWaiting = isSlow({ manner });
  const end = isLimited ? "proper" : endOf(random, { stream, choices, isWaiting });
  const isOver = end === "exceeds its limit";
  const maxTokens = isOver ? random.integer(16, 120) : weighted(random, [
    [5, random.integer(300, 1_500)],
    [2, random.integer(16, 40)],
    [front === "messages" ? 0 : 1, undefined],
  ]);
  const isBig = limit === "streamBytes" || limit === "events";
  const [least, most] = isBig ? [120, 200] : weighted(random, [[4, [5, 40]], [1, [40, 160]]]);
  const room = isOver ? 100 : Math.min(most, maxTokens ?? most);
  const textWords = random.integer(Math.min(least, room), room);
  const left = Math.max(0, (maxTokens ?? 1_000) - textWords);
  const isPlain = isOver || random.next() < 0.45;
  const reasoningWords = isPlain || random.next() < 0.5 ? 0 : Math.min(left, random.integer(1, 40));
  const hidden = isPlain || random.next() < 0.4
    ? 0
    : Math.min(left - reasoningWords, random.integer(1, 300));
  const usage = usageOf(random, { back, stream, hidden });
  const promptWords = random.integer(20, 300);
  const input = Math.round(promptWords * (1 + 0.2 * random.next())) + random.integer(3, 12);
  const plan: Plan = {
    seed,
    number,
    onClientDisconnect: number % 2 === 0 ? "drain" : "abort",
    front,
    back,
    stream,
    manner,
    leaveWords: random.integer(1, Math.max(1, Math.floor((textWords + reasoningWords) * 0.8))),
    leaveMs: manner.startsWith("stops") ? random.integer(450, 700) : random.integer(0, 40),
    end,
    breakPlace: weighted(random, [[4, "in text"], [1, "after text"], [2, "after finish"], [
      2,
      "before the end mark",
    ]]),
    breakPart: random.next(),
    breakDelayMs: random.next() < 0.05 ? 250 : 0,
    usage,
    reportPlace: weighted(random, [[2, "own chunk"], [1, "with text"], [1, "in a choice"]]),
    limit,
    promptWords,
    input,
    cached: random.next() < 0.4 ? random.integer(1, input) : 0,
    textWords,
    reasoningWords,
    hidden,
    eventWords: isBig ? 1 : random.integer(1, 9),
    paceMs: isBig
      ? 1
      : manner !== "reads" || isLimited || random.next() < 0.3
      ? random.integer(1, 3)
      : 0,
    maxTokens,
    choices,
    ignoresChoices: random.next() < 0.3,
    logprobs: front !== "messages" && limit === "none" && random.next() < 0.12,
    mayReason: random.next() < 0.5,
    wantsSummary: random.next() < 0.5,
    ...furtherTurns(random, front === "socket" && !isFurther && !isLimited),
    continues: random.next() < 0.7,
  };
  // a model that reports hidden reasoning is known to reason from then on, in other runs as well
  const tells = usage === "more reasoning than output" || usage === "a total with more";
  return tells ? { ...plan, mayReason: true } : plan;
}

function furtherTurns(random: Random, mayHave: boolean) {
  const hasSome = mayHave && random.next() < 0.4;
  return {
    turnsBefore: hasSome ? random.integer(0, 2) : 0,
    turnsAfter: hasSome ? random.integer(0, 1) : 0,
    sendsAhead: hasSome && random.next() < 0.3,
  };
}

function mannerOf(random: Random, front: Front): Manner {
  const isSocket = front === "socket";
  if (random.next() < (isSocket ? SLOW_SOCKETS : SLOW)) {
    const stops = isSocket ? ["stops for good"] as const : [];
    return random.pick(["reads steadily slowly", "stops for a while", ...stops]);
  }
  return weighted<Manner>(random, [
    [5, "reads"],
    [2, "aborts after words"],
    [1, "aborts after time"],
    [1, "closes after words"],
    [0.4, "half-closes"],
    [isSocket ? 0.5 : 0, "asks to cancel"],
  ]);
}

/** How the reply ends; more often badly for a caller that keeps the upstream waiting, who may be why. */
function endOf(
  random: Random,
  { stream, choices, isWaiting }: {
    stream: boolean;
    choices: number;
    isWaiting: boolean;
  },
): End {
  return weighted<End>(random, [
    [isWaiting ? 3 : 10, "proper"],
    [1, "closes"],
    [1, "resets"],
    [1, "reports an error"],
    [1, "sends garbage"],
    [stream ? 0.3 : 0, "stalls"],
    [choices === 1 ? 0.6 : 0, "exceeds its limit"],
    [0.3, "fails at once"],
  ]);
}

function usageOf(
  random: Random,
  { back, stream, hidden }: { back: Back; stream: boolean; hidden: number },
): UsageKind {
  const isChat = (back === "chat" || back === "generate") && hidden > 0;
  return weighted<UsageKind>(random, [
    [4, "late"],
    [stream ? 1 : 0, "early"],
    [stream ? 1 : 0, "cumulative"],
    [stream ? 1 : 0, "real, then zeros"],
    [1, "input only"],
    [1.5, "never"],
    [0.5, "zero"],
    [isChat ? 2 : 0, "a total with more"],
    [isChat ? 1 : 0, "more reasoning than output"],
    [0.4, "a little above the limit"],
    [0.4, "input a little high"],
    [0.4, "output too high"],
    [0.4, "input too high"],
  ]);
}
