import { Random } from "../fake/random.ts";
import { sleep } from "../fake/temp.ts";
import { checkAtRest } from "./at_rest.ts";
import { untilBack } from "./back.ts";
import { Callers, type CallersKeys } from "./callers.ts";
import { FaultControl } from "./control.ts";
import { Findings } from "./findings.ts";
import { compileFaulty, FaultyGateway, prepare } from "./gateway.ts";
import { lookAt, startNeighbour } from "./neighbour_process.ts";
import { describePlan, type PlanOptions, planRound, type RoundPlan } from "./plan.ts";
import { contradictions, NOT_READY, Readiness } from "./readiness.ts";

/** Service is to be back within this time once the disk is in order again. */
const BACK_MS = 5_000;
/** After this time it counts as not back without a restart. */
const GIVE_UP_MS = 15_000;
const ROUNDS_PER_CHECK = 10;
/** A larger file is checked at rest only, since that takes long. */
const QUICK_CHECK_BYTES = 16 * 1_048_576;

/** How a run goes. */
export interface RunOptions {
  readonly seed: number;
  readonly seconds: number;
  /** The run ends after this many faults. */
  readonly faults: number;
  readonly plans: PlanOptions;
  /** How long each caller waits after a reply; 0 by default. */
  readonly restMs?: number;
  /** Where the gateway's files are, and copies of damaged ones stay. */
  readonly directory: string;
  readonly say: (line: string) => void;
}

/** Runs the gateway through rounds of faults and checks what it acknowledged. */
export class Harness implements AsyncDisposable {
  readonly findings = new Findings();
  readonly #options: RunOptions;
  readonly #random: Random;
  readonly #control: FaultControl;
  readonly #gateway: FaultyGateway;
  readonly #callers: Callers;
  readonly #readiness: Readiness;
  #isDamaged = false;

  private constructor(options: RunOptions, library: string, keys: CallersKeys) {
    const { directory, seed, restMs = 0 } = options;
    this.#options = options;
    this.#random = new Random(seed);
    this.#control = new FaultControl(`${directory}/control`);
    this.#gateway = new FaultyGateway(directory, library, this.#control.path);
    this.#callers = new Callers(keys, seed, () => this.#gateway.url, { restMs });
    this.#readiness = new Readiness(() => this.#gateway.url);
  }

  static async create(options: RunOptions): Promise<Harness> {
    const library = await compileFaulty(options.directory);
    return new Harness(options, library, await prepare(options.directory));
  }

  async run(): Promise<void> {
    const { seconds, faults, say } = this.#options;
    const untilTick = performance.now() + seconds * 1_000;
    await this.#gateway.start();
    this.#readiness.start();
    this.#callers.start();
    while (
      !this.#isDamaged && performance.now() < untilTick && this.#control.faults < faults
    ) {
      await this.#round();
      if (!this.#isDamaged && this.findings.rounds % ROUNDS_PER_CHECK === 0) {
        await this.#check();
        if (!this.#isDamaged && await this.#restart("after a check")) this.#callers.start();
      }
    }
    if (!this.#isDamaged) await this.#check();
    await this.#callers.stop();
    await this.#readiness.stop();
    const { acknowledged, refused, unanswered } = this.#callers;
    const outcomes = {
      acknowledged: acknowledged.size,
      refused: refused.size,
      "without a reply": unanswered,
    };
    for (const line of this.findings.report(this.#control, outcomes)) say(line);
  }

  /** Some time with faults, and what follows once they are over. */
  async #round(): Promise<void> {
    const { plans, say } = this.#options;
    const plan = planRound(this.#random, plans);
    const name = `round ${++this.findings.rounds}: ${describePlan(plan)}`;
    this.#callers.recent = [];
    this.#readiness.recent = [];
    await sleep(100);
    const before = this.#control.faults;
    await this.#disturb(plan);
    let endTick = performance.now();
    if (this.#gateway.ended !== undefined) {
      this.findings.fail(`${name}: the gateway ended by itself, code ${this.#gateway.ended}`);
    }
    const isDown = this.#gateway.url === undefined;
    if (isDown) {
      endTick = performance.now();
      if (!await this.#restart(name)) return;
    }
    const backMs = await untilBack(this.#callers, this.#readiness, endTick, GIVE_UP_MS);
    const faults = this.#control.faults - before;
    say(
      `${name}: ${faults} faults, back after ${backMs === undefined ? "–" : Math.round(backMs)} ms`,
    );
    this.#judgeReadiness(name, endTick);
    if (backMs === undefined) return await this.#notBack(name);
    (isDown ? this.findings.backAfterKillMs : this.findings.backMs).push(backMs);
    if (backMs > BACK_MS) this.findings.fail(`${name}: back after ${Math.round(backMs)} ms`);
    await this.#checkRunning(name);
  }

  async #disturb(plan: RoundPlan): Promise<void> {
    const { faults, lastMs, killAfterMs, drawSeed, hasNeighbour } = plan;
    await using _neighbour = hasNeighbour ? startNeighbour(this.#database) : undefined;
    if (hasNeighbour) await sleep(250); // it takes this long to start
    if ("number" in faults) this.#control.failOne(faults.call, faults.number, faults.kind);
    else this.#control.start(faults, drawSeed);
    await sleep(killAfterMs ?? lastMs);
    if (killAfterMs !== undefined && this.#gateway.ended === undefined) {
      this.findings.kills++;
      this.findings.readLog(await this.#gateway.kill());
    }
    this.#control.stop();
  }

  get #database(): string {
    return `${this.#options.directory}/data/sluice.db`;
  }

  /** Starts the gateway again, without faults; where that fails, the files say why. */
  async #restart(name: string): Promise<boolean> {
    this.findings.readLog(await this.#gateway.kill());
    try {
      await this.#gateway.start();
      return true;
    } catch (error) {
      this.findings.fail(`${name}: does not start again: ${String(error).slice(0, 600)}`);
      await this.#examine();
      this.#isDamaged = true;
      return false;
    }
  }

  async #notBack(name: string): Promise<void> {
    const error = this.#callers.recent.findLast(({ kind }) => kind !== "acknowledged")?.error;
    const ready = this.#readiness.recent.at(-1);
    const logged = this.#gateway.log.trim().split("\n").at(-1);
    this.findings.notBack++;
    this.findings.fail(
      `${name}: not back after ${GIVE_UP_MS} ms; callers get ${error}; /readyz says ${ready?.text}; ` +
        `logged last: ${logged?.slice(0, 300)}`,
    );
    await this.#restart(name);
  }

  #judgeReadiness(name: string, endTick: number): void {
    const found = contradictions(this.#readiness.recent, this.#callers.recent);
    // to be careful for some time is no fault
    const after = found.filter(({ said, what }) =>
      said.startTick >= endTick + (what === NOT_READY ? BACK_MS : 0)
    );
    for (const { what, said } of found) {
      this.findings.count(`${what}, ${said.startTick >= endTick ? "after" : "during"} faults`);
    }
    const [first] = after;
    if (first === undefined) return;
    const ms = Math.round(first.said.startTick - endTick);
    this.findings.fail(
      `${name}: /readyz was wrong ${after.length} times after the faults, first after ${ms} ms: ` +
        first.what,
    );
  }

  /**
   * Looks at the file beside the gateway that runs, so that damage is found in the round that made it. Damage that is not
   * there at rest is in the index, which the gateway shares with other processes.
   */
  async #checkRunning(name: string): Promise<void> {
    if ((await Deno.stat(this.#database)).size > QUICK_CHECK_BYTES) return;
    const damage = await lookAt(this.#database);
    if (damage === undefined) return;
    this.findings.fail(`${name}: another process finds the file damaged: ${damage}`);
    await this.#examine();
    if (!this.#isDamaged && await this.#restart(name)) this.#callers.start();
  }

  /** Stops the gateway, or kills it, and checks its files. */
  async #check(): Promise<void> {
    const name = `after round ${this.findings.rounds}`;
    if (this.#random.next() < 0.7) {
      await this.#callers.stop();
      const { code, log } = await this.#gateway.stop();
      this.findings.readLog(log);
      if (code !== 0) this.findings.fail(`${name}: stopped with code ${code}`);
    } else {
      this.findings.readLog(await this.#gateway.kill());
      await this.#callers.stop();
    }
    await this.#examine();
  }

  /** Checks a copy of the files of a gateway that has ended, and keeps the copy of one that is not in order. */
  async #examine(): Promise<void> {
    const { findings } = this;
    this.findings.readLog(await this.#gateway.kill());
    await this.#callers.stop();
    findings.checks++;
    const copy = `${this.#options.directory}/copy-${findings.checks}`;
    const found = await checkAtRest(this.#options.directory, copy, this.#callers);
    for (const failure of found.failures) {
      findings.fail(`after round ${findings.rounds}: ${failure} (${copy})`);
    }
    this.#isDamaged ||= found.isDamaged;
    findings.charges = found.charges;
    findings.lateUnknown = found.lateUnknown;
    findings.unansweredCharges = found.unanswered;
    if (found.failures.length === 0) await Deno.remove(copy, { recursive: true });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#gateway[Symbol.asyncDispose]();
    await this.#callers.stop();
    await this.#readiness.stop();
    this.#control[Symbol.dispose]();
  }
}
