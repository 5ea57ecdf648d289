import dns from "node:dns/promises";
import { isIP } from "node:net";
import { delay } from "../../std/mod.ts";
import { answerWithin } from "../answer_within.ts";
import { DatabaseError, type Row } from "../database.ts";
import { otherTimeline } from "../server/transport.ts";
import { isOutdated, postgresError } from "./failures.ts";
import type { Host, Place } from "./place.ts";
import { Pipeline, type Sent } from "./pipeline.ts";

/** The face of a connection of `pg` that is used; it is loaded only when such a database is. */
export interface Client {
  connect(): Promise<void>;
  query(query: Pipeline): void;
  end(): Promise<void>;
  on(event: "error" | "end", listener: (error?: unknown) => void): void;
}

/** At one database: gateways share what it has. */
const MAX_CONNECTIONS = 8;
/** How long the end of a connection is waited for: its farewell is sent. */
const END_MS = 250;
/** Between two rounds through the hosts, none of which takes writes. */
const ROUND_MS = 50;
/** How long no other connection is asked for where a server answers those that there are, and gives no more. */
const FULL_MS = 10_000;
/** What each statement sees was committed before it began. */
const ISOLATION = "set session characteristics as transaction isolation level read committed";
/**
 * What statements mean is not for the role's or the database's settings to say. And what nobody waits for any more ends soon: its locks
 * would keep others waiting, whose connections would be one more each time that they are tried again.
 */
const SETTINGS = [
  {
    standard_conforming_strings: "on",
    transform_null_equals: "off",
  },
  // not every system can
  { client_connection_check_interval: "1000" },
].map((settings) => {
  const all = Object.entries(settings).map(([name, value]) => `('${name}', '${value}')`);
  return `select set_config(name, value, false)
    from (values ${all.join(", ")}) as wanted (name, value) join pg_settings using (name)`;
}) as [meanings: string, endings: string];
/** How an address is found that a name stands for, as `node:dns` does. */
export type Lookup = (name: string) => Promise<readonly { readonly address: string }[]>;

/** One of the servers that a host stands for. */
interface Server extends Host {
  /** Where it is: the address of a name, the host itself where it is an address or a directory. */
  readonly address: string;
}

/** What a host says of itself. */
const HOST = `select current_setting('transaction_read_only') as read_only,
  current_setting('fsync') as fsync, current_setting('synchronous_commit') as synchronous_commit,
  current_setting('server_encoding') = 'UTF8' and 'Z' < 'a' as has_order,
  current_setting('session_replication_role', true) = 'replica' as is_without_rules`;
/**
 * Which of its cluster's histories a server writes: where a standby is promoted another one begins, with as much as that had. A standby has
 * none. It is asked for apart, as not every server that speaks like PostgreSQL knows it.
 */
const TIMELINE =
  `select system_identifier || ' ' || left(pg_walfile_name(pg_current_wal_lsn()), 8) as timeline
  from pg_control_system() where not pg_is_in_recovery()`;

/** Connections to whichever of a place's hosts can be used, opened as they are needed and kept. */
export class Connections {
  readonly #place: Place;
  readonly #patienceMs: number;
  readonly #durable: boolean;
  readonly #lookup: Lookup;
  /** The one that was connected to last is tried first: another one may be silent. */
  #last: Server | undefined;
  readonly #idle: Client[] = [];
  readonly #waiting: (() => void)[] = [];
  readonly #broken = new WeakSet<Client>();
  /** Of the server that was connected to last, and of each connection. */
  #timeline: string | undefined;
  readonly #timelines = new WeakMap<Client, string | undefined>();
  #open = 0;
  #isClosed = false;
  /** Since when no host was reached, if the last question for one failed. */
  #awaySinceTick: number | undefined;
  /** When a question was answered last. */
  #answeredTick = -Infinity;
  #fullUntilTick = -Infinity;

  /** @param options.durable Whether a host is refused that does not wait for its disk. */
  constructor(
    place: Place,
    { patienceMs, durable, lookup = (name) => dns.lookup(name, { all: true }) }: {
      readonly patienceMs: number;
      readonly durable: boolean;
      readonly lookup?: Lookup;
    },
  ) {
    this.#place = place;
    this.#patienceMs = patienceMs;
    this.#durable = durable;
    this.#lookup = lookup;
  }

  /** The history of the server that is written to; undefined if it does not say. */
  get timeline(): string | undefined {
    return this.#timeline;
  }

  /**
   * Does something with a connection that nobody else uses meanwhile.
   *
   * @param since The timeline that the caller has seen. Default: any.
   * @throws {DatabaseError} What the work fails with, or that there is no connection.
   */
  async use<T>(work: (client: Client) => Promise<T>, since?: string): Promise<T> {
    let client: Client | undefined;
    try {
      client = await this.#take();
      if (since !== undefined && this.#timeline !== since) throw otherTimeline(false);
      const result = await work(client);
      // a reply of a server that was replaced meanwhile does not count
      if (this.#isEarlier(client)) throw otherTimeline(true);
      this.#answeredTick = performance.now();
      return result;
    } catch (error) {
      const failure = postgresError(error);
      const isUnusable = failure.kind === "unusable";
      // what it still has to say would be taken for the answer to another question; what it has prepared fails as often as it is asked for
      if (client !== undefined && (isUnusable || isOutdated(failure))) this.#broken.add(client);
      // all would wait for a host that fell silent, or fail to write at one that became a standby
      const others = isUnusable ? this.#idle.splice(0) : [];
      for (const one of others) this.#end(one);
      throw failure;
    } finally {
      if (client !== undefined) {
        if (this.#broken.has(client) || this.#isClosed || this.#isEarlier(client)) {
          this.#end(client);
        } else this.#idle.push(client);
      }
      this.#waiting.shift()?.();
    }
  }

  /** One that nobody else uses. Where a server gives no more of them, one is waited for. */
  async #take(): Promise<Client> {
    for (;;) {
      while (this.#idle.length === 0 && !this.#mayOpen) {
        await new Promise<void>((free) => this.#waiting.push(free));
      }
      if (this.#isClosed) throw new DatabaseError("SLUICE_CLOSED", "the database is closed");
      const known = this.#idle.pop();
      if (known !== undefined) return known;
      const startedTick = performance.now();
      this.#open++;
      try {
        return await this.#connect();
      } catch (error) {
        this.#open--;
        if (this.#open === 0 || !this.#hasAnswered(startedTick)) throw error;
        this.#fullUntilTick = performance.now() + FULL_MS;
        this.#waiting.shift()?.();
      }
    }
  }

  /** Whether another connection may be opened. */
  get #mayOpen(): boolean {
    if (this.#open === 0) return true;
    return this.#open < MAX_CONNECTIONS && performance.now() >= this.#fullUntilTick;
  }

  /** Whether one that was open has been answered since, so that it is not the server that is away. */
  #hasAnswered(sinceTick: number): boolean {
    return this.#answeredTick > sinceTick;
  }

  /** Ends those that nobody uses; the others end with what they are used for. */
  async close(): Promise<void> {
    this.#isClosed = true;
    for (const free of this.#waiting.splice(0)) free();
    // Deno 2.4 does not say when a connection with TLS has ended
    await Promise.all(
      this.#idle.splice(0).map((client) => answerWithin(END_MS, client.end()).catch(() => {})),
    );
  }

  /** Whether another server has replaced the one that it is connected to. */
  #isEarlier(client: Client): boolean {
    return this.#timelines.get(client) !== this.#timeline;
  }

  /** Ends one that was opened and is not idle, without waiting for that. */
  #end(client: Client): void {
    this.#open--;
    client.end().catch(() => {});
  }

  /** Connects to the first host that takes writes. Once none was reached for as long as they are given, each call tries every host once. */
  async #connect(): Promise<Client> {
    const beganTick = performance.now();
    const startedTick = this.#awaySinceTick ?? beganTick;
    for (;;) {
      let failure: unknown = new Error("no host takes writes");
      const servers = await this.#servers();
      for (const server of servers) {
        try {
          const client = await this.#connectTo(server, this.#patienceMs / servers.length);
          this.#last = server;
          this.#awaySinceTick = undefined;
          return client;
        } catch (error) {
          failure = error;
        }
      }
      if (isRefused(failure) || failure instanceof DatabaseError) throw failure;
      if (this.#hasAnswered(beganTick)) throw failure;
      this.#awaySinceTick ??= startedTick;
      if (this.#isClosed || performance.now() - startedTick >= this.#patienceMs) throw failure;
      await delay(ROUND_MS);
    }
  }

  /** All servers, those of a name apart: a service's name often stands for a primary and its standbys. */
  async #servers(): Promise<readonly Server[]> {
    const { hosts } = this.#place;
    const servers = await Promise.all(hosts.map(async ({ host, port }) => {
      const isName = isIP(host) === 0 && !host.startsWith("/");
      // what cannot be found now is left to the connection, which says so
      const found = isName
        ? await answerWithin(this.#patienceMs / hosts.length, this.#lookup(host)).catch(() => [])
        : [];
      const addresses = found.length === 0 ? [host] : found.map(({ address }) => address);
      return [...new Set(addresses)].map((address) => ({ host, port, address }));
    }));
    const last = this.#last;
    const isLast = ({ address, port }: Server) => address === last?.address && port === last.port;
    return servers.flat().toSorted((one, other) => Number(isLast(other)) - Number(isLast(one)));
  }

  async #connectTo(server: Server, patienceMs: number): Promise<Client> {
    const { tls } = this.#place;
    const ssl = tls !== "disable" && !server.host.startsWith("/");
    try {
      return await this.#connectBy(server, patienceMs, ssl && await tlsOf(this.#place, server));
    } catch (error) {
      if (tls !== "prefer" || !/does not support SSL/.test(String(error))) throw error;
      return await this.#connectBy(server, patienceMs, false);
    }
  }

  async #connectBy(
    { address, port }: Server,
    patienceMs: number,
    ssl: object | false,
  ): Promise<Client> {
    const { user, password, database, mustWrite } = this.#place;
    const { default: pg } = await import("pg");
    const client = new pg.Client({
      host: address,
      port,
      user,
      password,
      database,
      ssl,
      connectionTimeoutMillis: patienceMs,
      keepAlive: true,
      application_name: "sluice",
    }) as unknown as Client;
    const drop = () => {
      this.#broken.add(client);
      const at = this.#idle.indexOf(client);
      if (at === -1) return;
      this.#idle.splice(at, 1);
      this.#end(client);
    };
    client.on("error", drop);
    client.on("end", drop);
    try {
      await client.connect();
      const [meanings, endings] = SETTINGS;
      const first = [ISOLATION, meanings, HOST].map((text) => ({ text }));
      const [, , asked] = await ask(client, first, patienceMs);
      await ask(client, [{ text: endings }], patienceMs).catch(() => {});
      const told = await ask(client, [{ text: TIMELINE }], patienceMs).catch(() => undefined);
      const { read_only, has_order: hasOrder, is_without_rules: isWithoutRules, ...settings } =
        asked![0]!;
      if (mustWrite && read_only !== "off") throw new Error(`${address} takes no writes`);
      if (hasOrder !== 1) throw otherOrder();
      if (isWithoutRules === 1) throw withoutRules();
      if (this.#durable) mustBeDurable(settings);
      const timeline = told?.[0]?.[0]?.timeline as string | undefined ?? this.#timeline;
      this.#timelines.set(client, timeline);
      if (timeline !== this.#timeline) {
        for (const one of this.#idle.splice(0)) this.#end(one);
        this.#timeline = timeline;
      }
      return client;
    } catch (error) {
      client.end().catch(() => {});
      throw error;
    }
  }
}

/**
 * Each statement's rows. They are one transaction.
 *
 * @param patienceMs For the answer. Default: without end.
 */
export function ask(
  client: Client,
  statements: readonly Sent[],
  patienceMs?: number,
): Promise<Row[][]> {
  const pipeline = new Pipeline(statements, patienceMs);
  client.query(pipeline);
  return pipeline.rows;
}

/** What TLS goes by. Its files are read for each connection, as certificates are renewed. */
async function tlsOf({ tls, files }: Place, { host }: Host): Promise<object> {
  const read = await Promise.all(
    Object.entries(files).map(async ([name, path]) =>
      path === undefined ? [] : [[name, await Deno.readTextFile(path)]]
    ),
  );
  // as with libpq, authorities that are named are asked
  const isChecked = tls.startsWith("verify") || tls === "require" && files.ca !== undefined;
  return {
    ...Object.fromEntries(read.flat()),
    ...(isIP(host) === 0 && { servername: host }),
    rejectUnauthorized: isChecked,
    ...(tls === "verify-full" ? {} : { checkServerIdentity: () => undefined }),
  };
}

/** @throws {DatabaseError} If a host acknowledges what it could lose with its power. */
function mustBeDurable(settings: Row): void {
  const off = Object.keys(settings).filter((name) => settings[name] === "off");
  if (off.length === 0) return;
  throw new DatabaseError(
    "SLUICE_NOT_DURABLE",
    `it does not wait for the disk (off: ${
      off.join(", ")
    }), so that charges would be lost with its power; ` +
      `switch that on, or accept the loss by "durability": "normal"`,
  );
}

/** Pages of lists go on after the last text of the one before, in the order of its bytes. */
function otherOrder(): DatabaseError {
  return new DatabaseError(
    "SLUICE_ORDER",
    "it does not order texts by their bytes in UTF-8: make the database with `create database sluice " +
      "template template0 encoding 'UTF8' locale 'C'`",
  );
}

/** What is written would be acknowledged, and nothing done: rules are triggers. */
function withoutRules(): DatabaseError {
  return new DatabaseError(
    "SLUICE_TRIGGERS",
    "it has triggers off (session_replication_role is 'replica'), so that nothing would be charged: reset that " +
      "setting of the role, the database or the server",
  );
}

/** Whether a connection fails in the same way in a moment: by a password, role or database that is unknown, or what is encrypted. */
function isRefused(error: unknown): boolean {
  const { code } = error as { code?: unknown };
  return /certificate|does not support SSL|^Error: SASL/.test(String(error)) ||
    typeof code === "string" && /^(?:28|3D)/.test(code);
}
