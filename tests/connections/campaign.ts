import type { Sockets } from "../../src/doors/http/sockets.ts";
import { Random } from "../fake/random.ts";
import { inTime, sleep } from "../fake/temp.ts";
import { type Attack, attackOf, describe } from "./attack.ts";
import { Attacker, type Outcome } from "./attacker.ts";
import type { Kind, Target } from "./steps.ts";

/** Attacks that are remembered for the report of a failure. */
const REMEMBERED = 30;
/** Connections that may be open at once, those that are only held among them. */
const MAX_OPEN = 400;
const CONNECT_MS = 5_000;
/** Max pause of an attacker between two attacks. */
const MAX_PAUSE_MS = 100;

/** What attackers need. */
export interface CampaignOptions {
  readonly seed: number;
  readonly kinds: readonly Kind[];
  readonly target: Target;
  readonly sockets: Sockets | undefined;
  /** Attackers that send at once. */
  readonly attackers: number;
  /** The only attack to carry out, again and again. */
  readonly only: number | undefined;
  /** The attack to begin with. */
  readonly from: number;
  /** Text of the description that an attack must have to be carried out. */
  readonly match: string;
}

interface Running {
  readonly attack: Attack;
  readonly attacker: Attacker;
}

/** Attackers, each of which carries out one attack after the other. */
export class Campaign {
  readonly #options: CampaignOptions;
  readonly #running = new Set<Running>();
  readonly #recent: string[] = [];
  readonly #ending = new Set<Promise<void>>();
  /** By kind: attacks, bytes that were sent, and those that the gateway cut. */
  readonly tally = new Map<string, { attacks: number; bytes: number; cut: number }>();
  /** How often the gateway did not take a connection. */
  notAccepted = 0;
  #number: number;
  #isOver = false;

  constructor(options: CampaignOptions) {
    this.#options = options;
    this.#number = options.from;
  }

  /** Attacks until it is stopped. */
  async run(): Promise<void> {
    const all = Array.from({ length: this.#options.attackers }, (_, at) => this.#attackAll(at));
    await Promise.all(all);
  }

  /** Ends the attack and all its connections. */
  async stop(): Promise<void> {
    this.#isOver = true;
    for (const { attacker } of this.#running) attacker.close();
    await Promise.all(this.#ending);
  }

  /** Attacks that are being carried out or held. */
  get current(): string[] {
    return [...this.#running].map(({ attack }) => describe(attack));
  }

  /** The last attacks with what came of them. */
  get recent(): readonly string[] {
    return this.#recent;
  }

  async #attackAll(at: number): Promise<void> {
    const random = new Random(this.#options.seed + at);
    await sleep(random.integer(0, 500)); // they do not begin together
    while (!this.#isOver) {
      if (this.#running.size >= MAX_OPEN) await sleep(MAX_PAUSE_MS);
      else await this.#attack();
      await sleep(random.integer(0, MAX_PAUSE_MS));
    }
  }

  async #attack(): Promise<void> {
    const { target, sockets } = this.#options;
    const attack = this.#next();
    const connecting = Attacker.connect(attack, target, sockets);
    const attacker = await inTime(connecting.catch(() => undefined), CONNECT_MS, undefined);
    if (attacker === undefined) {
      connecting.then((late) => late.close(), () => {});
      this.notAccepted++;
      return;
    }
    const running = { attack, attacker };
    this.#running.add(running);
    await attacker.send();
    // what is only held is not waited for: another attack begins meanwhile
    const ending = attacker.end().then((outcome) => {
      this.#running.delete(running);
      this.#note(attack, outcome);
    });
    this.#ending.add(ending);
    ending.finally(() => this.#ending.delete(ending));
  }

  #next(): Attack {
    const { seed, kinds, target, only, match } = this.#options;
    while (true) {
      const number = only ?? this.#number++;
      const attack = attackOf({ seed, number, kinds, target });
      if (only !== undefined || describe(attack).includes(match)) return attack;
    }
  }

  #note(attack: Attack, { sentBytes, receivedBytes, status, isCut, tookMs }: Outcome): void {
    const row = this.tally.get(attack.kind) ?? { attacks: 0, bytes: 0, cut: 0 };
    this.tally.set(attack.kind, row);
    row.attacks++;
    row.bytes += sentBytes;
    if (isCut) row.cut++;
    this.#recent.push(
      `${describe(attack)} → sent ${sentBytes}, got ${receivedBytes} ${JSON.stringify(status)}, ${
        isCut ? "cut" : "not cut"
      }, ${tookMs.toFixed(0)} ms`,
    );
    if (this.#recent.length > REMEMBERED) this.#recent.shift();
  }
}
