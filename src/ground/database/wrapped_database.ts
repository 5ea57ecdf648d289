import type {
  BatchOptions,
  Database,
  GroupWrite,
  JsonObject,
  ReadOptions,
  Row,
  Statement,
  Value,
} from "./database.ts";

/** Another database, but for what a class of it does in another way. It has no line, and writes nothing behind. */
export class WrappedDatabase implements Database {
  protected readonly inner: Database;

  constructor(inner: Database) {
    this.inner = inner;
  }

  get place(): string {
    return this.inner.place;
  }

  get dialect(): Database["dialect"] {
    return this.inner.dialect;
  }

  get isUnfinished(): Database["isUnfinished"] {
    return this.inner.isUnfinished;
  }

  get waiting(): number {
    return this.inner.waiting;
  }

  get replica(): Database["replica"] {
    return this.inner.replica;
  }

  all(sql: string, args?: readonly Value[], options?: ReadOptions): Promise<Row[]> {
    return this.inner.all(sql, args, options);
  }

  one(sql: string, args?: readonly Value[]): Promise<Row | undefined> {
    return this.inner.one(sql, args);
  }

  batch(statements: readonly Statement[], options?: BatchOptions): Promise<Row[][]> {
    return this.inner.batch(statements, options);
  }

  write<Item extends JsonObject, Outcome>(
    write: GroupWrite<Item, Outcome>,
    item: Item,
  ): Promise<Outcome> {
    return this.inner.write(write, item);
  }

  close(): Promise<void> {
    return this.inner.close();
  }
}
