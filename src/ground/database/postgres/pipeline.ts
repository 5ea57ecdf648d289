import type { Row, Value } from "../database.ts";
import { fromPostgres } from "./texts.ts";

/** A statement as it is sent. */
export interface Sent {
  /** By which the connection keeps it prepared; undefined for what is prepared each time. */
  readonly name?: string | undefined;
  readonly text: string;
  readonly values?: readonly Value[];
  /** Whether it depends on what the statement before it has changed. */
  readonly asksForChanges?: boolean;
}

/** The face of a connection of `pg` that is used: each call sends one message of PostgreSQL's protocol. */
interface Wire {
  readonly stream: { cork(): void; uncork(): void };
  close(message: { type: "S"; name: string }): void;
  parse(message: { name: string; text: string }): void;
  bind(message: { statement: string; values: (string | null)[] }): void;
  describe(message: { type: "P"; name: string }): void;
  execute(message: { portal: string; rows: number }): void;
  flush(): void;
  sync(): void;
}

/** A column of a result: its name, and what is made of its text. */
type Column = readonly [name: string, (text: string) => Value];

/** Types of PostgreSQL, by their number, and what a row has of them; all others are texts. */
const PARSERS: Readonly<Record<number, (text: string) => Value>> = {
  16: (text) => text === "t" ? 1 : 0,
  20: Number, // `bigint`
  23: Number,
  1700: Number,
};

/** Says how many rows the statement before has changed. */
const CHANGED = { name: "sluice_changed", text: "select set_config('sluice.changed', $1, true)" };

/** The columns of what a connection has prepared, by its name. */
const prepared = new WeakMap<Wire, Map<string, readonly Column[]>>();

/** A statement, and where its rows go. */
interface Step {
  readonly sent: Sent;
  readonly rows: Row[];
  /** Whether it says what the one before it has changed. */
  readonly tells: boolean;
}

/**
 * Statements that are sent in one go, and are one transaction, all of them or none: the server commits at the one mark that ends them
 * (https://www.postgresql.org/docs/current/protocol-flow.html#PROTOCOL-FLOW-PIPELINING), and answers then. What a connection knows of a
 * prepared statement is not asked again. It is a query of `pg`, which calls what is named `handle…`.
 */
export class Pipeline {
  /** Each statement's rows. */
  readonly rows: Promise<Row[][]>;
  /** Called with why it failed, or without; the driver puts its own in place of it, which ends its timer. */
  callback: (failure?: unknown) => void;
  /** The driver's name for how long it waits. */
  readonly query_timeout: number | undefined;
  readonly #steps: readonly Step[];
  /** The step that is answered next, and the one that is sent next. */
  #at = 0;
  #next = 0;
  #columns: readonly Column[] = [];
  /** Rows that the step before has changed. */
  #changed = 0;

  /** @param patienceMs For the answer. Default: without end. */
  constructor(statements: readonly Sent[], patienceMs?: number) {
    const results = statements.map((): Row[] => []);
    this.#steps = statements.flatMap((sent, at) => {
      if (sent.text === "") return []; // one that only other engines need
      const step = { sent, rows: results[at]!, tells: false };
      return sent.asksForChanges ? [{ sent: CHANGED, rows: [], tells: true }, step] : [step];
    });
    this.query_timeout = patienceMs;
    const { promise, resolve, reject } = Promise.withResolvers<Row[][]>();
    this.rows = promise;
    this.callback = (failure) => failure ? reject(failure) : resolve(results);
  }

  submit(wire: Wire): null {
    this.#expect(wire);
    this.#send(wire);
    return null;
  }

  handleRowDescription(
    { fields }: { fields: readonly { name: string; dataTypeID: number }[] },
  ): void {
    this.#columns = fields.map(({ name, dataTypeID }) =>
      [name, PARSERS[dataTypeID] ?? fromPostgres] as const
    );
  }

  handleDataRow({ fields }: { fields: readonly (string | null)[] }): void {
    const row: Record<string, Value> = {};
    for (let at = 0; at < fields.length; at++) {
      const [name, parse] = this.#columns[at]!;
      const text = fields[at]!;
      row[name] = text === null ? null : parse(text);
    }
    this.#steps[this.#at]!.rows.push(row);
  }

  handleCommandComplete({ text }: { text: string }, wire: Wire): void {
    const { name } = this.#steps[this.#at]!.sent;
    if (name !== undefined) preparedOn(wire).set(name, this.#columns);
    this.#changed = Number(/\d+$/.exec(text) ?? 0);
    this.#at++;
    this.#expect(wire);
    if (this.#at === this.#next) this.#send(wire);
  }

  /** Called for a statement that is nothing but a comment. */
  handleEmptyQuery(wire: Wire): void {
    this.handleCommandComplete({ text: "" }, wire);
  }

  handleReadyForQuery(): void {
    this.callback();
  }

  handleError(failure: unknown, wire: Wire): void {
    // the server skips all until the mark
    if (this.#next < this.#steps.length) wire.sync();
    this.#next = this.#steps.length;
    this.callback(failure);
  }

  /** Sends all, or up to where it has to be said what was changed before. */
  #send(wire: Wire): void {
    if (this.#next === this.#steps.length && this.#next > 0) return; // all were sent
    wire.stream.cork();
    try {
      for (; this.#next < this.#steps.length; this.#next++) {
        const { sent: { name = "", text, values = [] }, tells } = this.#steps[this.#next]!;
        if (tells && this.#at < this.#next) {
          wire.flush();
          return;
        }
        const isKnown = preparedOn(wire).has(name);
        if (!isKnown) {
          // it may have been prepared by what failed afterwards
          if (name !== "") wire.close({ type: "S", name });
          wire.parse({ name, text });
        }
        const texts = (tells ? [this.#changed] : values).map((value) =>
          value === null ? null : `${value}`
        );
        wire.bind({ statement: name, values: texts });
        if (!isKnown) wire.describe({ type: "P", name: "" });
        wire.execute({ portal: "", rows: 0 });
      }
      wire.sync();
    } finally {
      wire.stream.uncork();
    }
  }

  /** The columns of the answer that comes next, as far as they are known. */
  #expect(wire: Wire): void {
    const name = this.#steps[this.#at]?.sent.name;
    this.#columns = name === undefined ? [] : preparedOn(wire).get(name) ?? [];
  }
}

function preparedOn(wire: Wire): Map<string, readonly Column[]> {
  let columns = prepared.get(wire);
  if (columns === undefined) prepared.set(wire, columns = new Map());
  return columns;
}
