import type { RowsToLock } from "../sql/mod.ts";

/** Whole numbers, or texts; each may be null. */
export type ColumnType = "integer" | "text";

type Columns = Readonly<Record<string, ColumnType>>;

/** A view without rows: each row that is inserted into it is one decision, made after the one before it. */
export interface Intake<Named extends Columns = Columns> {
  readonly view: string;
  readonly columns: Named;
}

/** A view of what a query finds. */
export interface View {
  readonly view: string;
  readonly query: string;
}

/**
 * Rows that a trigger needs to itself, from before it reads anything until its transaction ends: no other one that names one of
 * them runs meanwhile. A file and a libSQL server run one transaction after the other, so that nothing comes of it there. An engine
 * that runs several at a time takes the locks of all items of a batch first, each table's in the order of its keys.
 */
export interface Lock extends RowsToLock {
  /** A query, in which `new` is the row that is decided on, or was changed. */
  readonly rows: string;
}

interface TriggerBase {
  /** Its name. */
  readonly trigger: string;
  /** A table, or a view. */
  readonly on: string;
  /** A condition on the row: `new` as it will be, `old` as it was. Default: none. */
  readonly when?: string;
}

interface Statements {
  /** Run one after the other. */
  readonly statements: readonly string[];
}

/** Comes with a change of a row. */
interface RowEvent extends TriggerBase {
  readonly event: `${"before" | "after"} ${"insert" | "update" | "delete"}`;
  /** Of an update: only one that sets one of these. */
  readonly columns?: readonly string[];
}

/** What is done with the change of a row. */
export interface RowTrigger extends RowEvent, Statements {
  /**
   * As of decisions, for what its statements change that those who change the row have not locked. Default: none.
   */
  readonly locks?: readonly Lock[];
}

/** What is done with a row that is inserted into an intake. */
export interface Decision extends TriggerBase, Statements {
  readonly event: "instead of insert";
  /** In the order in which they are taken, the same in all decisions, so that none wait for each other in a circle. */
  readonly locks: readonly Lock[];
  /** What PostgreSQL runs in place of locks and statements: a block of PL/pgSQL. */
  readonly onPostgres?: string;
}

export type Trigger =
  | Decision
  | RowTrigger
  | (RowEvent & {
    /** The message with which the change is refused. */
    readonly refuses: string;
  });

/** What a rule is made of. */
export type RuleObject = Intake | View | Trigger;

/** Whether an object is what is done with a row of an intake. */
export function isDecision(object: RuleObject): object is Decision {
  return "event" in object && object.event === "instead of insert";
}

/** Names of an intake's columns, in their order. */
export function columnsOf<Named extends Columns>(
  { columns }: Intake<Named>,
): readonly (keyof Named & string)[] {
  return Object.keys(columns);
}

/** Such as `trigger entries_delete_is_refused`. */
export function nameOf(object: RuleObject): string {
  return "view" in object ? `view ${object.view}` : `trigger ${object.trigger}`;
}
