import { openStore, type Store } from "../../src/assemble/mod.ts";
import { audit } from "../../src/money/ledger/mod.ts";
import type { Account } from "../../src/people/accounts/mod.ts";
import { loadConfig } from "../../src/settings/config/mod.ts";
import { Random } from "../fake/random.ts";
import { sleep, until } from "../fake/temp.ts";
import { compareCharges, readCharges } from "../file_faults/at_rest.ts";
import { Callers } from "../file_faults/callers.ts";
import { ClockedGateway } from "./clocked_gateway.ts";
import { type AbsentDatabase, absentDatabase, type DatabaseKind } from "./database.ts";
import { type KeyBounds, Model, type Windows } from "./model.ts";
import { SlowUpstream } from "./upstream.ts";

/** Clocks of gateways are off by up to so much. */
const MAX_OFF_MS = 5_000;
const CALLERS = 4;

/** How a history goes. */
export interface HistoryOptions {
  readonly kind: DatabaseKind;
  readonly seed: number;
  readonly seconds: number;
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
}

const UNLIMITED = { minute: 1e9, hour: 1e9, day: 1e9 };
/** Accounts: with keys that may have few requests at once, with few credits, with narrow rate windows, and with nothing of that. */
const KINDS = ["plain", "crowded", "poor", "limited"] as const;
/** A balance that grows into no tier with other limits, however much is granted in a history. */
const LIMITED_CREDITS = 1_000_000;

/** Narrow rate windows for accounts with about `LIMITED_CREDITS`, and none for others. */
function tiersOf({ key, account }: Windows) {
  return [
    { above: 0, ...UNLIMITED },
    { above: LIMITED_CREDITS / 2, ...UNLIMITED, ...key, account: { ...UNLIMITED, ...account } },
    { above: LIMITED_CREDITS * 2, ...UNLIMITED },
  ];
}

/** Windows that are used up: so narrow that the database decides on each request, or so wide that gateways are lent places. */
function windowsOf(random: Random): Windows {
  const minute = random.next() < 0.5 ? random.integer(2, 12) : random.integer(40, 70);
  return {
    key: { minute, hour: random.integer(minute, 2 * minute) },
    account: {
      minute: random.integer(minute, 2 * minute),
      hour: random.integer(minute, 2 * minute),
    },
  };
}

/** One credit by the token of output, so that a charge says which answer it is for. */
const ROUTES = {
  small: {
    targets: [{ upstream: "slow", model: "small" }],
    context: 10_000,
    maxOutput: 200,
    minimum: 1,
    prices: { input: 0, cached: 0, output: 1_000_000 },
  },
};

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
  #callers: readonly Callers[] = [];
  #isOver = false;

  private constructor(options: HistoryOptions, database: AbsentDatabase) {
    this.#options = options;
    this.#random = new Random(options.seed);
    this.#database = database;
    this.#upstream = new SlowUpstream(new Random(options.seed));
    this.#gateways = Array.from(
      { length: database.gateways },
      (_, at) => new ClockedGateway(this.#directory(at)),
    );
  }

  static async open(options: HistoryOptions): Promise<History> {
    return new History(options, await absentDatabase(options.kind, options.directory));
  }

  /** Lets everything happen, and compares the books with what clients were told. */
  async run(): Promise<HistoryReport> {
    const { seconds } = this.#options;
    await this.#prepare();
    for (const gateway of this.#gateways) gateway.start(this.#off());
    await Promise.all(this.#gateways.map((one) => one.started()));
    for (const callers of this.#callers) callers.start();
    const going = [this.#outages(), this.#kills(), this.#operate()];
    await sleep(seconds * 1_000);
    await until(() => this.#callers.some((one) => one.acknowledged.size > 0), {
      what: "a reply to anybody", // within the time, a busy machine may have sent none
    });
    this.#isOver = true;
    await Promise.all(going);
    await Promise.all(this.#callers.map((one) => one.stop()));
    return await this.#judge();
  }

  #directory(at: number): string {
    return `${this.#options.directory}/gateway-${at}`;
  }

  #off(): number {
    return this.#random.integer(-MAX_OFF_MS, MAX_OFF_MS);
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
      for (const kind of KINDS) {
        const credits =
          { plain: 10_000_000, crowded: 10_000_000, poor: 500, limited: LIMITED_CREDITS }[kind];
        const account = await store.accounts.create({ email: `${kind}@example.com` });
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

  async #issue(store: Store, account: Account, hasBudget: boolean): Promise<void> {
    const kind = this.#kinds.get(account.id)!;
    const bounds: KeyBounds = {
      // a request that the database decides on recalls loans, and would hide one from which too much is admitted
      ...(hasBudget && kind !== "limited" && { budgetCredits: this.#random.integer(10, 400) }),
      ...(kind === "crowded" && { atOnce: this.#random.integer(1, 3) }),
    };
    const share = kind === "crowded" || kind === "limited" ? 4 : 1;
    this.#model.issued(await store.keys.issue(account, bounds), bounds, share);
  }

  /** The database goes away now and then. */
  async #outages(): Promise<void> {
    while (!this.#isOver) {
      await this.#pause(300, 6_000);
      if (this.#isOver) return;
      const forMs = this.#random.integer(100, this.#random.next() < 0.3 ? 9_000 : 2_500);
      const end = this.#model.awayFrom(performance.now());
      this.#tell(
        `database away for ${forMs} ms: ${await this.#database.goAway(this.#random, forMs)}`,
      );
      end(performance.now());
    }
  }

  /** Gateways end at any moment, and come back with another clock. */
  async #kills(): Promise<void> {
    while (!this.#isOver) {
      await this.#pause(1_000, 9_000);
      if (this.#isOver) return;
      const at = this.#random.integer(0, this.#gateways.length - 1);
      const gateway = this.#gateways[at]!;
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
    const failures: string[] = [];
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
      const { mismatches, lentCredits } = await audit(database);
      for (const one of mismatches) failures.push(`audit: ${JSON.stringify(one).slice(0, 400)}`);
      if (lentCredits > 0) failures.push(`${lentCredits} credits are lent to nobody`);
      for (const { request_id: id } of await database.all("select request_id from holds")) {
        // one of an admission whose confirmation was lost ends with its lease
        const isKnown = this.#callers.some((one) => one.acknowledged.has(String(id)));
        if (isKnown) failures.push(`${id} was answered, and holds credits`);
      }
      const charges = await readCharges((sql) => database.all(sql));
      compareCharges(charges, this.#callers, failures);
      failures.push(
        ...await this.#model.check(database, {
          callers: this.#callers,
          mostAtOnce: (secret) => this.#upstream.mostAtOnce(secret),
          clocksOffMs: this.#options.kind === "file" ? MAX_OFF_MS : 0,
        }),
      );
    });
    const sum = (of: (one: Callers) => number) =>
      this.#callers.reduce((all, one) => all + of(one), 0);
    return {
      failures,
      acknowledged: sum((one) => one.acknowledged.size),
      refused: sum((one) => one.refused.size),
      unanswered: sum((one) => one.unanswered),
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isOver = true;
    for (const gateway of this.#gateways) await gateway[Symbol.asyncDispose]();
    await Promise.all(this.#callers.map((one) => one.stop()));
    await this.#database[Symbol.asyncDispose]();
    await this.#upstream[Symbol.asyncDispose]();
  }
}
