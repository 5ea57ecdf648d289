import { openStore, type Store } from "../../src/assemble/mod.ts";
import { audit } from "../../src/money/ledger/mod.ts";
import type { Account } from "../../src/people/accounts/mod.ts";
import { loadConfig } from "../../src/settings/config/mod.ts";
import { WIDE_TIERS } from "../fake/gateway.ts";
import { Random } from "../fake/random.ts";
import { sleep, until } from "../fake/temp.ts";
import { compareCharges, readCharges } from "../file_faults/at_rest.ts";
import { Callers } from "../file_faults/callers.ts";
import { ClockedGateway } from "./clocked_gateway.ts";
import { type AbsentDatabase, absentDatabase, type DatabaseKind } from "./database.ts";
import { Model } from "./model.ts";

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

/** One credit by the token of output, so that a charge says which answer it is for. */
const ROUTES = {
  small: {
    targets: [{ upstream: "simulator", model: "small" }],
    context: 10_000,
    maxOutput: 200,
    minimum: 1,
    prices: { input: 0, cached: 0, output: 1_000_000 },
  },
};

/** Gateways with callers, a database that goes away, and an operator; and what must be true of all that in the end. */
export class History implements AsyncDisposable {
  readonly #options: HistoryOptions;
  readonly #random: Random;
  readonly #database: AbsentDatabase;
  readonly #gateways: readonly ClockedGateway[];
  readonly #model = new Model();
  #callers: readonly Callers[] = [];
  #isOver = false;

  private constructor(options: HistoryOptions, database: AbsentDatabase) {
    this.#options = options;
    this.#random = new Random(options.seed);
    this.#database = database;
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
    const settings = {
      port: 0,
      log: "json",
      tiers: WIDE_TIERS,
      routes: ROUTES,
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
      for (const credits of [10_000_000, 10_000_000, 500]) {
        const account = await store.accounts.create({ email: `${credits}-${Math.random()}@x.org` });
        await this.#model.grants(account, credits, () => store.sales.grant(account, { credits }));
        for (const budget of [undefined, undefined, 300]) await this.#issue(store, account, budget);
      }
      return { operator: await store.keys.issue(await store.owner(), { scopes: ["admin"] }) };
    });
    const keys = { callers: this.#model.inUse, operator: operator.secret };
    this.#callers = this.#gateways.map((gateway, at) =>
      new Callers(keys, this.#options.seed + at, () => gateway.url, { count: CALLERS })
    );
    this.#options.say(JSON.stringify({ ...settings, tiers: undefined, routes: undefined }));
  }

  async #withStore<T>(work: (store: Store) => Promise<T>): Promise<T> {
    const directory = this.#directory(0);
    const file = `${directory}/sluice.jsonc`;
    const config = await loadConfig({ env: {}, directory, file });
    await using store = await openStore(config, { besideGateway: true });
    return await work(store);
  }

  async #issue(store: Store, account: Account, budgetCredits: number | undefined): Promise<void> {
    this.#model.issued(await store.keys.issue(account, { budgetCredits }), budgetCredits);
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
      const budget = this.#random.next() < 0.3 ? this.#random.integer(10, 400) : undefined;
      await this.#withStore(async (store) => {
        if (isRevoking) {
          await this.#issue(store, account, budget);
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
      failures.push(...await this.#model.check(database, this.#callers));
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
  }
}
