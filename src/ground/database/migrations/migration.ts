/**
 * One step of the schema: tables, columns, indexes, changes of data. Released steps are never edited, only
 * followed by others. No rule is installed while it runs, so what a trigger keeps in step it does itself.
 */
export interface Migration {
  readonly version: number;
  readonly name: string;
  readonly statements: readonly string[];
}
