/** Tables of this folder: what the database knows about itself. */
export const TABLES = [
  /** The migrations that were applied. */
  "schema_versions",
  /** One row: the rules that are installed. */
  "installed_rules",
  /** One row: the ID by which the database is recognized. */
  "database_identity",
  /** One row that is rewritten to see whether writes are taken. */
  "probes",
] as const;
