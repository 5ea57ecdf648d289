import { jsonIn } from "../../../ground/platform/mod.ts";
import { DatabaseSync } from "node:sqlite";

/** A row as the source has it. */
export type SourceRow = Readonly<Record<string, unknown>>;

/** Which of the two programs wrote the database. They number the types of channels differently. */
export type Flavour = "new-api" | "one-api";

/** A database of New-API or One-API, opened for reading only. */
export class SourceDatabase implements Disposable {
  readonly #database: DatabaseSync;
  readonly flavour: Flavour;

  /** Directory of the copy that is read, if there is one. */
  readonly #copyIn: string | undefined;

  private constructor(database: DatabaseSync, copyIn: string | undefined) {
    this.#database = database;
    this.#copyIn = copyIn;
    const [tokens, channels] = [this.columns("tokens"), this.columns("channels")];
    if (!tokens.includes("remain_quota") || !channels.includes("model_mapping")) {
      throw new Error("it has no tables of New-API or One-API");
    }
    this.flavour = tokens.includes("model_limits") ? "new-api" : "one-api";
  }

  /**
   * Opens a file, which may be in use.
   *
   * @throws {Error} If it is not a database of New-API or One-API.
   */
  static async open(path: string): Promise<SourceDatabase> {
    await Deno.stat(path); // an error that names the file
    const place = await quietPlace(path);
    let database: DatabaseSync | undefined;
    try {
      database = new DatabaseSync(place.path, { readOnly: true });
      return new SourceDatabase(database, place.copyIn);
    } catch (error) {
      database?.close();
      if (place.copyIn !== undefined) await Deno.remove(place.copyIn, { recursive: true });
      const why = error instanceof Error ? error.message : String(error);
      throw new Error(`Cannot read ${path} as a SQLite database of New-API or One-API: ${why}`);
    }
  }

  /** All rows of a table, without those that are marked as deleted; none if there is no such table. */
  rows(table: "channels" | "options" | "tokens" | "users"): SourceRow[] {
    const columns = this.columns(table);
    if (columns.length === 0) return [];
    const order = columns.includes("id") ? " order by id" : "";
    const kept = columns.includes("deleted_at") ? " where deleted_at is null" : "";
    // as text, since numbers may be larger than JavaScript's
    const list = columns.map((name) =>
      `cast("${name.replaceAll('"', '""')}" as text) as "${name.replaceAll('"', '""')}"`
    ).join(", ");
    return this.#database.prepare(`select ${list} from ${table}${kept}${order}`).all();
  }

  /** Tables that hold rows, with their numbers of rows. */
  counts(): Map<string, number> {
    const tables = this.#database.prepare(
      "select name from sqlite_master where type = 'table' and name not like 'sqlite_%' order by name",
    ).all().map(({ name }) => String(name));
    return new Map(tables.flatMap((name): [string, number][] => {
      const quoted = `"${name.replaceAll('"', '""')}"`;
      const row = this.#database.prepare(`select count(*) as number from ${quoted}`).get();
      const number = Number(row?.number ?? 0);
      return number === 0 ? [] : [[name, number]];
    }));
  }

  columns(table: string): string[] {
    return this.#database.prepare("select name from pragma_table_info(?)").all(table)
      .map(({ name }) => String(name));
  }

  [Symbol.dispose](): void {
    this.#database.close();
    if (this.#copyIn !== undefined) Deno.removeSync(this.#copyIn, { recursive: true });
  }
}

/**
 * Where a database is read. One with a log that nobody uses is copied first: SQLite would make `-wal` and `-shm` beside it, and leave
 * them there. One that is in use has them.
 */
async function quietPlace(path: string): Promise<{ path: string; copyIn?: string }> {
  const hasLog = await Deno.stat(`${path}-wal`).then(({ size }) => size > 0, () => false);
  if (hasLog || !await usesLog(path)) return { path };
  const copyIn = await Deno.makeTempDir({ prefix: "sluice-import-" });
  try {
    await Deno.copyFile(path, `${copyIn}/source.db`);
  } catch (error) {
    await Deno.remove(copyIn, { recursive: true });
    throw error;
  }
  return { path: `${copyIn}/source.db`, copyIn };
}

/** Whether the header says that changes are written to a log first. */
async function usesLog(path: string): Promise<boolean> {
  using file = await Deno.open(path);
  const header = new Uint8Array(20);
  await file.read(header);
  return header[18] === 2;
}

/** A text of a row; `undefined` if it is empty. */
export function textOf(row: SourceRow, column: string): string | undefined {
  const value = row[column];
  return typeof value === "string" && value !== "" ? value : undefined;
}

/** A number of a row; 0 if it has none. */
export function numberOf(row: SourceRow, column: string): number {
  const number = Number(row[column] ?? 0);
  return Number.isFinite(number) ? number : 0;
}

/** Whether a row says so: SQLite has numbers, and some drivers write words. */
export function isTrue(row: SourceRow, column: string): boolean {
  return ["1", "true"].includes(String(row[column]).toLowerCase());
}

/** A list that is written with commas. */
export function listOf(row: SourceRow, column: string): string[] {
  return (textOf(row, column) ?? "").split(",").map((one) => one.trim()).filter((one) =>
    one !== ""
  );
}

/** A value of JSON, or `undefined`. */
export function json(written: string | undefined): unknown {
  return written === undefined ? undefined : jsonIn(written);
}
