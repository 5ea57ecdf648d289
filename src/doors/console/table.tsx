import type { Child } from "@hono/hono/jsx";
import { Name } from "./name.tsx";

/**
 * What a column is for, which decides its place when rows become cards on a narrow screen: `primary` names the row and
 * `figure` is its most important number, so that it is numeric; both are on the first line. `secondary` follows with its name, and an `action`
 * has a line of its own.
 */
export type ColumnRole = "primary" | "figure" | "secondary" | "action";

/** A column of a table. */
export interface Column<Row> {
  readonly name: string;
  /** Default: whether it is the `figure`. */
  readonly numeric?: boolean;
  /** Default: `action` without a name, `primary` for the first column if no other is, else `secondary`. */
  readonly role?: ColumnRole;
  /** Whether the value speaks for itself, such as a time or a state, so that a card omits the column's name. */
  readonly bare?: boolean;
  readonly cell: (row: Row) => Child;
}

/** What rows are made with. */
export interface RowsProps<Row> {
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  /** ID of a row, by which the page's script finds it when rows are added while the page is open. */
  readonly rowId?: ((row: Row) => string) | undefined;
}

/** Tables of more columns are laid out like those with this many. */
const MAX_COLUMNS = 12;

/** A table whose rows become cards where it is too narrow; shows a message if there are no rows. */
export function Table<Row>(
  { caption, columns, rows, empty, rowId }: RowsProps<Row> & { caption: string; empty: Child },
) {
  if (rows.length === 0) return <p class="empty">{empty}</p>;
  return (
    <div
      class={`table columns-${Math.min(columns.length, MAX_COLUMNS)}`}
      role="region"
      aria-label={caption}
    >
      <table>
        <caption>{caption}</caption>
        <thead>
          <tr>
            {columns.map((column) => (
              <th scope="col" class={isNumeric(column) ? "number" : undefined}>
                {column.name === "" ? <span class="unseen">actions</span> : column.name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          <Rows columns={columns} rows={rows} rowId={rowId} />
        </tbody>
      </table>
    </div>
  );
}

/** The rows of a {@linkcode Table}. */
export function Rows<Row>({ columns, rows, rowId }: RowsProps<Row>) {
  const roles = rolesOf(columns);
  const classes = columns.map((column, at) =>
    // most cells are of this kind: a class would be a tenth of a page
    [roles[at] !== "secondary" && roles[at], isNumeric(column) && "number", column.bare && "bare"]
      .filter(Boolean).join(" ")
  );
  return (
    <>
      {rows.map((row) => (
        <tr data-row={rowId?.(row)}>
          {columns.map(({ name, cell }, at) => {
            const content = cell(row);
            const isEmpty = content === "" || content === null || content === "–";
            return (
              <td
                class={(isEmpty ? `${classes[at]} none`.trim() : classes[at]) || undefined}
                data-name={name}
              >
                {typeof content === "string" ? <Name text={content} /> : content}
              </td>
            );
          })}
        </tr>
      ))}
    </>
  );
}

function isNumeric({ numeric, role }: Pick<Column<never>, "numeric" | "role">): boolean {
  return numeric === true || role === "figure";
}

function rolesOf<Row>(columns: readonly Column<Row>[]): readonly ColumnRole[] {
  const first = columns.some(({ role }) => role === "primary") ? -1 : 0;
  return columns.map(({ name, role }, at) =>
    role ?? (name === "" && at > 0 ? "action" : at === first ? "primary" : "secondary")
  );
}
