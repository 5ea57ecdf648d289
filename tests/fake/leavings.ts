/** What an action left behind in a gateway, and that it left nothing else. */

import { HttpPool, type HttpReply } from "../../src/ground/http1/mod.ts";
import type { Database } from "../../src/ground/database/mod.ts";
import { jsonArray } from "../../src/ground/sql/mod.ts";
import type { TestGateway } from "./gateway.ts";
import { columnsOf, rowAsJson } from "./tables.ts";
import { until } from "./temp.ts";

/** What an action leaves behind. Whatever is not named is expected zero times. */
export interface Leavings {
  /** Rows by table: `lots` for rows that are new, `~lots` for such that changed, `-lots` for such that are gone. */
  readonly rows?: Readonly<Record<string, number>>;
  /**
   * Requests that the gateway sent, by where and what: `NAME/chat/completions` of an upstream, a service or a receiver of the
   * settings, `127.0.0.1:80/path` of a host that is none of them.
   */
  readonly calls?: Readonly<Record<string, number>>;
  /** Log lines by level and message: `info request`. */
  readonly log?: Readonly<Record<string, number>>;
  /** Files of the data directory: `+name`, `~name` for one of another size, `-name`. */
  readonly files?: Readonly<Record<string, number>>;
}

/** What an action left behind. */
export interface Left extends Required<Leavings> {
  /** Rows and log lines that have a secret. */
  readonly secrets: readonly string[];
}

/** Tables and columns that change without any action, and why. */
export const VOLATILE: Readonly<Record<string, string>> = {
  alert_jobs: "which gateway looks for alerts, and when it last did",
  probes: "rewritten to see whether the database takes writes",
  pruned_windows: "when old windows were deleted",
  "holds.lease_until_ms": "leases are renewed",
  "loans.lease_until_ms": "leases are renewed",
};

/** What no log line and no row may have: secrets by their form, and what tests write where only its receiver should read it. */
const SECRET =
  /\bsk-[\w-]{16,}|\brt-key_\w+-\d+-|\bwhsec_\w{8,}|\b[sr]k_(?:test|live)_\w{8,}|private-words/;

/** Text for a prompt, a password, or a field, that must never be stored or logged. */
export const PRIVATE_WORDS = "private-words";

/** How often is looked at what should not be there: an action has ended when all that it has to leave is there. */
const LOOKS = 50;

type Found = Map<string, string[]>;

/** What is there that was not before, with its texts. */
type Look = { readonly [what in keyof Leavings]-?: Found } & {
  readonly secrets: readonly string[];
};

/** All there is at one moment, as texts by what names them. */
interface Snapshot {
  /** By table and primary key. */
  readonly rows: ReadonlyMap<string, string>;
  readonly files: ReadonlyMap<string, string>;
}

/** Looks at a gateway of this process. */
export class Witness {
  readonly #gateway: Pick<TestGateway, "gateway" | "directory" | "log">;
  #rowsSql: Promise<string> | undefined;

  constructor(gateway: Pick<TestGateway, "gateway" | "directory" | "log">) {
    this.#gateway = gateway;
  }

  /**
   * Runs `action`, waits until nothing goes on any more, and compares.
   *
   * @returns What the action returned.
   * @throws {Error} that lists each thing that was not expected, and each that is missing.
   */
  async leaves<T>(expected: Leavings, action: () => Promise<T>): Promise<T> {
    return await this.#watch(action, async (result, look) => {
      let faults: readonly string[] = [];
      let looks = 0;
      // what is missing may still come, however slow the machine is; what should not be there may still go
      await until(async () => {
        faults = faultsOf(expected, await look());
        const isLate = faults.every((fault) => fault.startsWith("missing"));
        return faults.length === 0 || !isLate && looks++ >= LOOKS;
      }).catch(() => {}); // the faults say what did not come
      if (faults.length > 0) throw new Error(`What was left:\n${faults.join("\n")}`);
      return result;
    });
  }

  /** Runs `action`, and returns what it left, for a rule to be checked on it. */
  async left<T>(action: () => Promise<T>): Promise<{ result: T; left: Left }> {
    return await this.#watch(action, async (result, look) => {
      const { rows, calls, log, files, secrets } = await look();
      const counted = (those: Found) =>
        Object.fromEntries([...those].map(([name, { length }]) => [name, length]));
      const left = {
        rows: counted(rows),
        calls: counted(calls),
        log: counted(log),
        files: counted(files),
        secrets,
      };
      return { result, left };
    });
  }

  async #watch<T, Seen>(
    action: () => Promise<T>,
    see: (result: T, look: () => Promise<Look>) => Promise<Seen>,
  ): Promise<Seen> {
    await this.#quiet();
    const before = await this.#snapshot();
    const logged = this.#gateway.log().length;
    const calls = watchCalls(this.#namesOfHosts());
    try {
      return await see(await action(), () => this.#look(before, logged, calls));
    } finally {
      calls.stop();
    }
  }

  async #look(before: Snapshot, logged: number, calls: Calls): Promise<Look> {
    await until(() => calls.open === 0, { what: "the end of all exchanges with upstreams" });
    await this.#quiet();
    const after = await this.#snapshot();
    const lines = this.#gateway.log().slice(logged).split("\n").filter((line) => line !== "");
    const rows = changes(before.rows, after.rows);
    const written = rows.filter(([kind]) => kind !== "-").map(([, , text]) => text);
    return {
      rows: summed(rows, (kind, key) => `${kind === "+" ? "" : kind}${tableOf(key)}`),
      calls: Map.groupBy(calls.sent, (call) => call),
      log: Map.groupBy(lines, (line) => {
        const { level, message } = JSON.parse(line);
        return `${level} ${message}`;
      }),
      files: summed(changes(before.files, after.files), (kind, name) => `${kind}${name}`),
      secrets: [...written, ...lines].filter((text) => SECRET.test(text)),
    };
  }

  /** Waits until all requests are over, and lets what looks for alerts look. */
  async #quiet(): Promise<void> {
    const { inFlight, database, alerts } = this.#gateway.gateway;
    await until(() => inFlight.count === 0 && database.waiting === 0, {
      what: "the end of all requests and writes",
    });
    await alerts.watch.see();
    await alerts.watch.pass();
  }

  async #snapshot(): Promise<Snapshot> {
    const { directory, gateway: { database } } = this.#gateway;
    const sql = await (this.#rowsSql ??= selectAll(database));
    const rows = await database.all(sql);
    const files = new Map<string, string>();
    for await (const [name, size] of filesIn(directory)) {
      files.set(name, /\.db(-\w+)?$/.test(name) ? "" : `${size} bytes`);
    }
    return { rows: new Map(rows.map(({ key, row }) => [String(key), String(row)])), files };
  }

  /** Names of addresses that the settings have: those that hold an `url`, and what is called `apiBase`. */
  #namesOfHosts(): Map<string, string> {
    const names = new Map<string, string>();
    const visit = (value: unknown, name: string): void => {
      if (typeof value !== "object" || value === null) return;
      for (const [key, inner] of Object.entries(value)) {
        if ((key === "url" || key === "apiBase") && typeof inner === "string") {
          names.set(inner.replace(/\/$/, ""), name);
        } else visit(inner, key);
      }
    };
    visit(this.#gateway.gateway.config.settings, "");
    return names;
  }
}

const tableOf = (key: string) => key.slice(0, key.indexOf(" "));

/** One statement that reads every row of every table, but what is volatile. */
async function selectAll(database: Database): Promise<string> {
  const columns = await columnsOf(database);
  const known = new Set(columns.flatMap(({ table, column }) => [table, `${table}.${column}`]));
  const gone = Object.keys(VOLATILE).filter((one) => !known.has(one));
  if (gone.length > 0) throw new Error(`volatile, but not in the schema: ${gone.join(", ")}`);
  const tables = Map.groupBy(columns, ({ table }) => table);
  return [...tables].filter(([table]) => !(table in VOLATILE)).map(([table, all]) => {
    const key = all.filter(({ isKey }) => isKey).map(({ column }) => `"${column}"`);
    const kept = all.map(({ column }) => column).filter((one) => !(`${table}.${one}` in VOLATILE));
    return `select '${table} ' || ${jsonArray(...key)} as key,
      ${rowAsJson(database, table, kept)} as row from "${table}"`;
  }).join(" union all ");
}

async function* filesIn(directory: string, folder = ""): AsyncGenerator<[string, number]> {
  for await (const { name, isDirectory } of Deno.readDir(`${directory}/${folder}`)) {
    if (isDirectory) yield* filesIn(directory, `${folder}${name}/`);
    else {
      const info = await Deno.lstat(`${directory}/${folder}${name}`).catch(() => undefined);
      if (info !== undefined) yield [`${folder}${name}`, info.size];
    }
  }
}

type Change = readonly [kind: "+" | "~" | "-", key: string, text: string];

function changes(
  before: ReadonlyMap<string, string>,
  after: ReadonlyMap<string, string>,
): Change[] {
  const found: Change[] = [];
  for (const [key, text] of after) {
    const earlier = before.get(key);
    if (earlier === undefined) found.push(["+", key, text]);
    else if (earlier !== text) found.push(["~", key, `${earlier}\n      → ${text}`]);
  }
  for (const [key, text] of before) if (!after.has(key)) found.push(["-", key, text]);
  return found;
}

function summed(all: readonly Change[], name: (kind: string, key: string) => string): Found {
  const found: Found = new Map();
  for (const [kind, key, text] of all) {
    const what = name(kind, key);
    found.set(what, [...found.get(what) ?? [], text]);
  }
  return found;
}

/** What is missing, and what is there besides, each with its text. */
function faultsOf(expected: Leavings, { secrets, ...found }: Look): string[] {
  return [
    ...secrets.map((text) => `a secret: ${text}`),
    ...Object.entries(found).flatMap(([what, those]) =>
      differences(what, expected[what as keyof Leavings] ?? {}, those)
    ),
  ];
}

function differences(
  what: string,
  expected: Readonly<Record<string, number>>,
  found: Found,
): string[] {
  const names = new Set([...Object.keys(expected), ...found.keys()]);
  return [...names].flatMap((name) => {
    const [wanted, those] = [expected[name] ?? 0, found.get(name) ?? []];
    if (those.length === wanted) return [];
    const kind = those.length < wanted ? "missing" : "unexpected";
    const texts = those.slice(0, 3).map((text) => `\n    ${text.slice(0, 1_500)}`);
    return `${kind} ${what}: ${name}: ${those.length} instead of ${wanted}${texts.join("")}`;
  });
}

/** Requests that the gateway has begun to send since the watch began. */
interface Calls {
  readonly sent: readonly string[];
  /** Those of them that have not ended. */
  readonly open: number;
  stop(): void;
}

/** Watches all that goes out of this process by its HTTP client, by which the gateway does everything (`ground/http1`). */
function watchCalls(names: ReadonlyMap<string, string>): Calls {
  const sent: string[] = [];
  const replies: HttpReply[] = [];
  const { send } = HttpPool.prototype;
  HttpPool.prototype.send = function (request) {
    const { target } = request;
    const url = `${target.startsWith("http") ? "" : `http://${this.host}`}${target}`;
    const known = [...names].find(([base]) => url.startsWith(`${base}/`) || url === base);
    sent.push(
      known === undefined ? url.replace("http://", "") : `${known[1]}${url.slice(known[0].length)}`,
    );
    const reply = send.call(this, request);
    replies.push(reply);
    return reply;
  };
  return {
    sent,
    get open() {
      return replies.filter(({ isOver }) => !isOver).length;
    },
    stop() {
      HttpPool.prototype.send = send;
    },
  };
}
