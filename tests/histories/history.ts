import { openStore, type Store } from "../../src/assemble/mod.ts";
import { audit, setBudget } from "../../src/money/ledger/mod.ts";
import type { Database } from "../../src/ground/database/mod.ts";
import type { Account, Team } from "../../src/people/accounts/mod.ts";
import { loadConfig } from "../../src/settings/config/mod.ts";
import { Random } from "../fake/random.ts";
import { sleep, until } from "../fake/temp.ts";
import { type Charges, compareCharges, readCharges } from "../file_faults/at_rest.ts";
import { Callers } from "../file_faults/callers.ts";
import { ClockedGateway } from "./clocked_gateway.ts";
import { type AbsentDatabase, absentDatabase, type DatabaseKind, LONG_MS } from "./database.ts";
import { KINDS, LIMITED_CREDITS, RICH, ROUTES, STEADY, tiersOf, windowsOf } from "./accounts.ts";
import { gapsAfter } from "./gaps.ts";
import { type KeyBounds, Model } from "./model.ts";
import { SlowUpstream } from "./upstream.ts";

/** Clocks of gateways are off by up to so much. */
const MAX_OFF_MS = 5_000;
const CALLERS = 4;

/** How a history goes. */
export interface HistoryOptions {
  readonly kind: DatabaseKind;
  readonly seed: number;
  readonly seconds: number;
  /** How many gateways. Default: as many as the kind of database is for. */
  readonly gateways?: number | undefined;
  /** How often the database goes away, however long that takes; then nothing else goes wrong. Default: now and then, as do others. */
  readonly outages?: number | undefined;
  /** A directory of its own, which stays as it is at the end. */
  readonly directory: string;
  readonly say: (line: string) => void;
}

/** What came of one. */
export interface HistoryReport {
  readonly failures: readonly string[];
  readonly acknowledged: number;
  readonly refused: number;
  readonly unanswered: number;
  /** After each time that the database went away: the longest time in which a gateway's callers got no reply, in milliseconds. */
  readonly gapsMs: readonly number[];
  /** Requests of which a database that had to lose its last commits has lost the charge, as their gateway was killed at the time. */
  readonly lost: number;
  /** Requests that were charged again, as the database had lost the charge: the audit names them. */
  readonly late: number;
  /** Credits that accounts did not have any more when they were charged, as a loan or a charge was lost: the audit names them. */
  readonly short: number;
  /** Rate windows in which the audit found what such a loss leaves. */
  readonly named: number;
  /** Transactions that a PostgreSQL undid, as they met others. */
  readonly undone: number;
  /** Commits of gateways, but for what those that were killed had not told. */
  readonly commits: number;
}

/** A gateway has charged again what was lost, this time after the database was back. */
const AGAIN_MS = 2_000;
/** In a log of PostgreSQL. */
const UNDONE = /^(?:40\w{3}|0A000):ERROR/gm;
/** Of all commits, those that may be made twice. */
const MAX_UNDONE_PART = 0.01;
const DEADLOCK = /^40P01:ERROR.*(?:\n(?:40P01:|\t).*)*/gm;

/** Gateways with callers, their upstream, a database that goes away, and an operator; and what must be true of all that in the end. */
export class History implements AsyncDisposable {
  readonly #options: HistoryOptions;
  readonly #random: Random;
  readonly #database: AbsentDatabase;
  readonly #gateways: readonly ClockedGateway[];
  readonly #upstream: SlowUpstream;
  /** By the account's ID. */
  readonly #kinds = new Map<string, typeof KINDS[number]>();
  readonly #model = new Model();
  #team: Team | undefined;
  readonly #teamMembers: Account[] = [];
  #callers: readonly Callers[] = [];
  /** When the database went away, and was as it should be. */
  readonly #away: { readonly fromTick: number; untilTick: number }[] = [];
  /** When each gateway was killed. */
  readonly #killed: number[][] = [];
  #isOver = false;

  private constructor(options: HistoryOptions, database: AbsentDatabase) {
    this.#options = options;
    this.#random = new Random(options.seed);
    this.#database = database;
    this.#upstream = new SlowUpstream(new Random(options.seed));
    this.#gateways = Array.from(
      { length: options.gateways ?? database.gateways },
      (_, at) => new ClockedGateway(this.#directory(at)),
    );
  }

  static async open(options: HistoryOptions): Promise<History> {
    return new History(options, await absentDatabase(options.kind, options.directory));
  }

  /** Lets everything happen, and compares the books with what clients were told. */
  async run(): Promise<HistoryReport> {
    const { seconds, outages } = this.#options;
    await this.#prepare();
    for (const gateway of this.#gateways) gateway.start(this.#off());
    await Promise.all(this.#gateways.map((one) => one.started()));
    for (const callers of this.#callers) callers.start();
    const outaged = this.#outages();
    const going = [outaged];
    // what operators do is lost as well
    if (this.#options.kind !== "loss") going.push(this.#operate());
    if (outages === undefined) {
      going.push(this.#kills());
      await sleep(seconds * 1_000);
    } else await outaged;
    await until(() => this.#callers.some((one) => one.acknowledged.size > 0), {
      what: "a reply to anybody", // within the time, a busy machine may have sent none
    });
    this.#isOver = true;
    await Promise.all(going);
    await Promise.all(this.#callers.map((one) => one.stop()));
    return await this.#judge();
  }

  /** Whether nothing goes wrong but the database. */
  get #isSteady(): boolean {
    return this.#options.outages !== undefined;
  }

  #directory(at: number): string {
    return `${this.#options.directory}/gateway-${at}`;
  }

  #off(): number {
    return this.#isSteady ? 0 : this.#random.integer(-MAX_OFF_MS, MAX_OFF_MS);
  }

  async #prepare(): Promise<void> {
    const random = this.#random;
    const windows = windowsOf(random);
    const settings = {
      port: 0,
      log: "json",
      tiers: tiersOf(windows),
      routes: ROUTES,
      upstreams: { slow: { url: this.#upstream.url, discover: false } },
      database: this.#database.settings,
      // leases that end meanwhile, as those of a gateway that is gone, or none
      limits: { holdLeaseMs: random.pick([2_000, 10_000, 60_000]) },
      outage: { patienceMs: random.pick([0, 3_000, 600_000]) },
    };
    for (const at of this.#gateways.keys()) {
      await Deno.mkdir(this.#directory(at));
      await Deno.writeTextFile(`${this.#directory(at)}/sluice.jsonc`, JSON.stringify(settings));
    }
    const { operator } = await this.#withStore(async (store) => {
      for (const kind of this.#isSteady ? STEADY : KINDS) {
        const credits = { ...RICH, poor: 500, limited: LIMITED_CREDITS }[kind];
        const email = `${kind}@example.com`;
        const account = kind === "team"
          ? await this.#makeTeam(store)
          : await store.accounts.create({ email });
        this.#kinds.set(account.id, kind);
        await this.#model.grants(account, credits, () => store.sales.grant(account, { credits }));
        if (kind === "limited") this.#model.limits(account, windows);
        for (const hasBudget of [false, false, true]) await this.#issue(store, account, hasBudget);
      }
      return { operator: await store.keys.issue(await store.owner(), { scopes: ["admin"] }) };
    });
    const keys = { callers: this.#model.inUse, operator: operator.secret };
    this.#callers = this.#gateways.map((gateway, at) =>
      new Callers(keys, this.#options.seed + at, () => gateway.url, { count: CALLERS })
    );
    this.#options.say(JSON.stringify({ ...settings, tiers: windows, routes: undefined }));
  }

  async #withStore<T>(work: (store: Store) => Promise<T>): Promise<T> {
    const directory = this.#directory(0);
    const file = `${directory}/sluice.jsonc`;
    const config = await loadConfig({ env: {}, directory, file });
    await using store = await openStore(config, { besideGateway: true });
    return await work(store);
  }

  /** Makes a team whose members have budgets, and that has one; returns its pool. */
  async #makeTeam(store: Store): Promise<Account> {
    const team = this.#team = await store.teams.create({ name: "Team", pool: true });
    const budget = async (owner: "team" | "member", ownerId: string) => {
      const credits = this.#random.integer(100, 2_000);
      await setBudget(
        store.database,
        { owner, ownerId, period: "life", credits },
        { nowMs: Date.now(), patienceMs: 0 },
      );
      this.#model.budgets(ownerId, credits);
    };
    await budget("team", team.id);
    for (const name of ["one", "other"]) {
      const member = await store.accounts.create({ email: `${name}@example.com` });
      await store.members.add(team, member);
      await budget("member", `${team.id}:${member.id}`);
      this.#teamMembers.push(member);
    }
    return (await store.accounts.byId(team.poolId!))!;
  }

  async #issue(store: Store, account: Account, hasBudget: boolean): Promise<void> {
    const kind = this.#kinds.get(account.id)!;
    const bounds: KeyBounds = {
      // a request that the database decides on recalls loans, and would hide one from which too much is admitted
      ...(hasBudget && kind !== "limited" && { budgetCredits: this.#random.integer(10, 400) }),
      ...(kind === "crowded" && { atOnce: this.#random.integer(1, 3) }),
    };
    if (kind === "team") {
      const [team, member] = [this.#team!, this.#random.pick(this.#teamMembers)];
      const shares = [team.id, `${team.id}:${member.id}`];
      this.#model.issued(
        await store.teamKeys.issue(team, member, bounds),
        { ...bounds, shares },
        1,
      );
      return;
    }
    const share = kind === "crowded" || kind === "limited" ? 4 : 1;
    this.#model.issued(await store.keys.issue(account, bounds), bounds, share);
  }

  /** The database goes away now and then. */
  async #outages(): Promise<void> {
    const { outages = Infinity } = this.#options;
    while (!this.#isOver && this.#away.length < outages) {
      await this.#pause(300, 6_000);
      if (this.#isOver) return;
      const span = { fromTick: performance.now(), untilTick: Infinity };
      this.#away.push(span);
      const isLong = !this.#isSteady && this.#random.next() < 0.3;
      const forMs = this.#random.integer(100, isLong ? 9_000 : LONG_MS);
      const end = this.#model.awayFrom(performance.now());
      this.#tell(
        `database away for ${forMs} ms: ${await this.#database.goAway(this.#random, forMs)}`,
      );
      end(span.untilTick = performance.now());
    }
  }

  /** Gateways end at any moment, and come back with another clock. */
  async #kills(): Promise<void> {
    while (!this.#isOver) {
      await this.#pause(1_000, 9_000);
      if (this.#isOver) return;
      const at = this.#random.integer(0, this.#gateways.length - 1);
      const gateway = this.#gateways[at]!;
      (this.#killed[at] ??= []).push(performance.now());
      await gateway.kill();
      await this.#pause(0, 2_500);
      const offMs = this.#off();
      this.#tell(`gateway ${at} was killed, and starts with a clock off by ${offMs} ms`);
      gateway.start(offMs);
    }
  }

  /** Keys are revoked and made, and an account that has little gets more. */
  async #operate(): Promise<void> {
    const model = this.#model;
    while (!this.#isOver) {
      await this.#pause(200, 2_500);
      const account = this.#random.pick(model.accounts);
      const credits = this.#random.integer(20, 400);
      const isRevoking = this.#random.next() < 0.5;
      const hasBudget = this.#random.next() < 0.3;
      await this.#withStore(async (store) => {
        if (isRevoking) {
          await this.#issue(store, account, hasBudget);
          await model.revokes(account, this.#random, (id) => store.keys.revoke(id));
        } else {
          await model.grants(account, credits, () => store.sales.grant(account, { credits }));
        }
      }).catch(() => {}); // the database is away: the model knows what is not known
    }
  }

  async #pause(leastMs: number, mostMs: number): Promise<void> {
    const untilTick = performance.now() + this.#random.integer(leastMs, mostMs);
    while (!this.#isOver && performance.now() < untilTick) await sleep(50);
  }

  #tell(what: string): void {
    this.#options.say(what);
  }

  async #judge(): Promise<HistoryReport> {
    const { kind } = this.#options;
    const failures: string[] = [];
    let [lost, late, short, named] = [0, 0, 0, 0];
    const endTick = performance.now();
    await Promise.all(this.#gateways.map((one) => one.started()));
    const isAtRest = async ({ url }: ClockedGateway) => {
      const metrics = await (await fetch(`${url}/metrics`)).text();
      return /^sluice_detached 0\n[^]*^sluice_settlements_kept 0$/m.test(metrics);
    };
    await until(async () => (await Promise.all(this.#gateways.map(isAtRest))).every(Boolean), {
      what: "the end of the outboxes",
    });
    for (const gateway of this.#gateways) {
      const code = await gateway.stop();
      if (code !== 0) failures.push(`a gateway stopped with code ${code}`);
      for (const line of gateway.log.split("\n")) {
        if (/"unhandled|refused to settle|program error/i.test(line)) {
          failures.push(line.slice(0, 400));
        }
      }
    }
    await this.#withStore(async ({ database }) => {
      const charges = await readCharges((sql) => database.all(sql));
      const { mismatches, lentCredits, late: again, uncollected } = await audit(database);
      late = again.requests;
      if (kind === "loss") {
        lost = this.#forgetLost(charges);
        short = await this.#expectShort(database);
        if (short > uncollected.credits) {
          failures.push(`the audit names ${uncollected.credits} of ${short} uncollected credits`);
        }
      }
      if (late > 0 && kind !== "loss") failures.push(`${late} charges were lost`);
      // requests that were admitted from a loan which was lost are in no window
      const isOfLoss = ({ noun }: { noun: string }) => kind === "loss" && noun === "window";
      named = mismatches.filter(isOfLoss).length;
      for (const one of mismatches.filter((one) => !isOfLoss(one))) {
        failures.push(`audit: ${JSON.stringify(one).slice(0, 400)}`);
      }
      if (lentCredits > 0) failures.push(`${lentCredits} credits are lent to nobody`);
      for (const { request_id: id } of await database.all("select request_id from holds")) {
        // one of an admission whose confirmation was lost ends with its lease
        const isKnown = this.#callers.some((one) => one.acknowledged.has(String(id)));
        if (isKnown) failures.push(`${id} was answered, and holds credits`);
      }
      compareCharges(charges, this.#callers, failures);
      failures.push(
        ...await this.#model.check(database, {
          callers: this.#callers,
          mostAtOnce: (secret) => this.#upstream.mostAtOnce(secret),
          clocksOffMs: kind === "file" ? MAX_OFF_MS : 0,
          hasLost: kind === "loss",
        }),
      );
    });
    const sum = (of: (one: Callers) => number) =>
      this.#callers.reduce((all, one) => all + of(one), 0);
    const log = await this.#database.log?.() ?? "";
    const undone = log.match(UNDONE)?.length ?? 0;
    const commits = this.#gateways.reduce((all, one) => all + one.commits, 0);
    if (undone > MAX_UNDONE_PART * commits) {
      failures.push(`${undone} of ${commits} commits were undone`);
    }
    for (const [found] of log.matchAll(DEADLOCK)) failures.push(found);
    return {
      failures,
      acknowledged: sum((one) => one.acknowledged.size),
      refused: sum((one) => one.refused.size),
      unanswered: sum((one) => one.unanswered),
      lost,
      late,
      short,
      named,
      gapsMs: gapsAfter(this.#away.map(({ fromTick }) => fromTick), endTick, this.#callers),
      undone,
      commits,
    };
  }

  /**
   * Forgets, and counts, replies from just before the database went away of which it knows nothing any more, if their gateway was killed
   * before it could charge them again.
   */
  #forgetLost({ recorded, taken }: Charges): number {
    let lost = 0;
    for (const [at, { acknowledged, recent }] of this.#callers.entries()) {
      for (const { requestId = "", endTick } of recent) {
        const isLate = this.#away.some((one) =>
          endTick >= one.fromTick && endTick <= one.untilTick &&
          this.#killed[at]?.some((tick) => tick >= endTick && tick <= one.untilTick + AGAIN_MS)
        );
        if (isLate && !recorded.has(requestId) && !taken.has(requestId)) {
          lost += acknowledged.delete(requestId) ? 1 : 0;
        }
      }
    }
    return lost;
  }

  /** Expects charges to be as low as accounts had credits left for; returns what was not collected of the prices that clients were told. */
  async #expectShort(database: Database): Promise<number> {
    const rows = await database.all(
      `select request_id, price_credits, charged_credits from usage_records
        where charged_credits < price_credits`,
    );
    let short = 0;
    for (const { request_id: id, price_credits: price, charged_credits: charged } of rows) {
      for (const { acknowledged } of this.#callers) {
        if (acknowledged.get(String(id)) !== price) continue;
        acknowledged.set(String(id), Number(charged));
        short += Number(price) - Number(charged);
      }
    }
    return short;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isOver = true;
    for (const gateway of this.#gateways) await gateway[Symbol.asyncDispose]();
    await Promise.all(this.#callers.map((one) => one.stop()));
    await this.#database[Symbol.asyncDispose]();
    await this.#upstream[Symbol.asyncDispose]();
  }
}
