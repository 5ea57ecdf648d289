import * as z from "zod";
import { flag, rowOf } from "../../row.ts";
import type { Database } from "../database.ts";

const ROW = rowOf({
  version: z.string(),
  bytes: z.int(),
  is_encrypted: flag,
  database: z.string(),
  role: z.string(),
  /** Whether the role may make schemas, as the audit does. */
  may_create: flag,
  fsync: z.string(),
  synchronous_commit: z.string(),
  /** Standbys that a commit waits for, as the server's settings name them. */
  standby_names: z.string(),
  /** Connections of gateways and commands, but for this one. */
  others: z.int(),
});
/** What a PostgreSQL says of itself. */
export type PostgresHealth = z.output<typeof ROW>;

const HEALTH = `select current_setting('server_version') as version,
    pg_database_size(current_database()) as bytes,
    (select ssl from pg_stat_ssl where pid = pg_backend_pid()) as is_encrypted,
    current_database() as database, current_user as role,
    has_database_privilege(current_database(), 'create') as may_create,
    current_setting('fsync') as fsync,
    current_setting('synchronous_commit') as synchronous_commit,
    current_setting('synchronous_standby_names') as standby_names,
    (select count(*) from pg_stat_activity
      where datname = current_database() and application_name = 'sluice' and pid <> pg_backend_pid()) as others`;

/** Asks a PostgreSQL; undefined for a database of another engine. */
export async function postgresHealth(database: Database): Promise<PostgresHealth | undefined> {
  return database.dialect === "postgres" ? ROW.parse(await database.one(HEALTH)) : undefined;
}
