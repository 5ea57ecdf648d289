import type { Dialect } from "../../sql/mod.ts";
import {
  type BatchOptions,
  type Database,
  DatabaseError,
  type GroupWrite,
  type JsonObject,
  type ObserveCommit,
  type OutboxState,
  type ReadOptions,
  type Replica,
  type Row,
  type Statement,
  type Value,
} from "../database.ts";
import type { KeepOptions, OpenedDatabase } from "../engine.ts";
import { type Committed, GroupWriter, type Writing } from "../group_writer.ts";
import { LOOK_MS, Presence, SERVER_SILENT_MS } from "../presence.ts";
import { type LibsqlOptions, LibsqlTransport } from "./libsql.ts";
import { RecentWrites } from "./recent_writes.ts";
import { ServerOutbox } from "./server_outbox.ts";
import { isOtherTimeline, type Transport } from "./transport.ts";
import { answerWithin } from "../answer_within.ts";

/** How long a settlement waits for the server before it is kept here. */
const KEEP_AFTER_MS = 1_000;

/** A server shared by several gateways. */
export class ServerDatabase implements OpenedDatabase {
  readonly place: string;
  readonly dialect: Dialect;
  replica: Replica | undefined;
  isUnfinished: boolean | undefined;
  readonly #transport: Transport;
  readonly #durable: boolean;
  readonly #writer: GroupWriter;
  readonly #presence = new Presence({ silentMs: SERVER_SILENT_MS, code: "SLUICE_SERVER" });
  #outbox: ServerOutbox | undefined;
  #recent: RecentWrites | undefined;
  readonly #committed: Committed = (items) => this.#recent?.add(items);
  #looking: ReturnType<typeof setInterval> | undefined;

  /**
   * @param transport Connected.
   * @param options.durable Whether what is kept here is to survive the loss of power.
   */
  constructor(
    transport: Transport,
    { durable, observe }: {
      readonly durable: boolean;
      readonly observe?: ObserveCommit | undefined;
    },
  ) {
    this.#transport = transport;
    this.place = transport.place;
    this.dialect = transport.dialect;
    this.#durable = durable;
    this.#writer = new GroupWriter(
      (statements) => this.batch(statements, { beside: true }),
      observe,
      {
        locksFirst: this.dialect === "postgres",
        committed: this.#committed,
      },
    );
  }

  /** Connects to a libSQL server and makes sure that it answers, and that it is as durable as it should be. */
  static async connect(options: LibsqlOptions, observe?: ObserveCommit): Promise<ServerDatabase> {
    const durable = options.durability === "full";
    return new ServerDatabase(await LibsqlTransport.connect(options), { durable, observe });
  }

  get waiting(): number {
    return this.#writer.waiting;
  }

  all(
    sql: string,
    args: readonly Value[] = [],
    { patienceMs }: ReadOptions = {},
  ): Promise<Row[]> {
    return this.#try(() => this.#transport.read(sql, args, patienceMs));
  }

  async one(sql: string, args: readonly Value[] = []): Promise<Row | undefined> {
    return (await this.all(sql, args))[0];
  }

  async batch(statements: readonly Statement[], options?: BatchOptions): Promise<Row[][]> {
    // what was kept comes first: a loan must not be returned before what it was spent on is charged
    const before = () => (this.#outbox?.count ?? 0) > 0 ? this.#outbox!.taken() : undefined;
    return await this.#try(() => this.#transport.commit(statements, options), before);
  }

  write<Item extends JsonObject, Outcome>(
    write: GroupWrite<Item, Outcome>,
    item: Item,
  ): Promise<Outcome> {
    return this.#writer.write(write, item);
  }

  writeBehind: Database["writeBehind"];
  outbox: OutboxState | undefined;
  refused: Database["refused"];
  flush: Database["flush"];

  /**
   * Keeps in files of this gateway from now on what is written behind while the server does not answer; first takes what earlier
   * gateways have kept there.
   *
   * @throws {DatabaseError} If the server does not take that.
   */
  async keepOutbox(options: KeepOptions): Promise<void> {
    const { id } = (await this.all("select id from database_identity"))[0]!;
    const outbox = new ServerOutbox({
      ...options,
      database: String(id),
      durable: this.#durable,
      commit: (statements) => this.#try(() => this.#transport.commit(statements)),
      committed: this.#committed,
      read: async (sql, arg) => Object.values(await this.one(sql, [arg]) ?? {})[0],
    });
    await outbox.takeEarlier(options.writes, false);
    await outbox.prepare();
    const presence = this.#presence;
    this.#outbox = outbox;
    if (this.dialect === "postgres") this.#recent = new RecentWrites(options.writes);
    this.outbox = {
      get isUsable() {
        return outbox.isUsable;
      },
      get kept() {
        return outbox.count;
      },
      get isDetached() {
        return presence.isAway;
      },
      isShared: true,
    };
    this.refused = () => outbox.refused();
    this.flush = async ({ durable }) => {
      if (durable || !presence.isAway) await outbox.taken();
    };
    this.writeBehind = (write, item) => this.#writeOrKeep(outbox, write, item);
    this.#looking = setInterval(() => {
      presence.tell(options.onState ?? (() => {}));
      if (!presence.isAway) this.#recent?.forget();
      if (outbox.isToEmpty) outbox.empty().catch(() => {}); // it stays where it is
    }, LOOK_MS);
  }

  async takeOutboxes(
    writes: readonly Writing[],
    { onlyDead = false }: { readonly onlyDead?: boolean } = {},
  ): Promise<void> {
    if (!this.#presence.isAway) await this.#outbox?.takeEarlier(writes, onlyDead);
  }

  /** Writes an item, or keeps it if the server cannot be used: written twice, it is the same as once. */
  async #writeOrKeep<Item extends JsonObject, Outcome>(
    outbox: ServerOutbox,
    write: GroupWrite<Item, Outcome>,
    item: Item,
  ): Promise<Outcome | undefined> {
    if (!this.#presence.isAway) {
      try {
        return await answerWithin(KEEP_AFTER_MS, this.#writer.write(write, item));
      } catch (error) {
        if (!(error instanceof DatabaseError) || error.isAboutTheData || error.isFinal) throw error;
      }
    }
    try {
      await outbox.keepItem(write, item);
      return undefined;
    } catch { // told to `onFault`
      return await this.#writer.write(write, item);
    }
  }

  async close(): Promise<void> {
    clearInterval(this.#looking);
    await this.#writer.idle();
    await this.#outbox?.close();
    await this.replica?.close();
    await this.#transport.close();
  }

  /** @param before What is waited for first, if anything, and once more when another server has replaced the one before. */
  async #try<T>(work: () => Promise<T>, before?: () => Promise<void> | undefined): Promise<T> {
    for (;;) {
      const first = before?.();
      if (first !== undefined) await first;
      const asked = this.#presence.ask();
      try {
        const result = await work();
        asked.answered();
        return result;
      } catch (error) {
        // one that answers, and that cannot be used, is as good as away
        if (error instanceof DatabaseError && (error.isAboutTheData || error.kind === "busy")) {
          asked.answered();
        } else asked.failed(error);
        if (!isOtherTimeline(error)) throw error;
        for (const one of this.#recent?.all ?? []) this.#outbox?.repeat(one);
      }
    }
  }
}
