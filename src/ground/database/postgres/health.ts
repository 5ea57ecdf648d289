import type { Database } from "../database.ts";

/** What a PostgreSQL says of itself. */
export interface PostgresHealth {
  readonly version: string;
  readonly bytes: number;
  readonly isEncrypted: boolean;
  readonly database: string;
  readonly role: string;
  /** Whether the role may make schemas, as the audit does. */
  readonly mayCreate: boolean;
  readonly fsync: string;
  readonly synchronousCommit: string;
  /** Standbys that a commit waits for, as the server's settings name them. */
  readonly standbyNames: string;
  /** Connections of gateways and commands, but for this one. */
  readonly others: number;
}

const HEALTH = `select current_setting('server_version') as version,
    pg_database_size(current_database()) as bytes,
    (select ssl from pg_stat_ssl where pid = pg_backend_pid()) as encrypted,
    current_database() as database, current_user as role,
    has_database_privilege(current_database(), 'create') as creates,
    current_setting('fsync') as fsync,
    current_setting('synchronous_commit') as synchronous_commit,
    current_setting('synchronous_standby_names') as standby_names,
    (select count(*) from pg_stat_activity
      where datname = current_database() and application_name = 'sluice' and pid <> pg_backend_pid()) as others`;

/** Asks a PostgreSQL; undefined for a database of another engine. */
export async function postgresHealth(database: Database): Promise<PostgresHealth | undefined> {
  if (database.dialect !== "postgres") return undefined;
  const row = (await database.one(HEALTH))!;
  return {
    version: String(row.version),
    bytes: Number(row.bytes),
    isEncrypted: row.encrypted === 1,
    database: String(row.database),
    role: String(row.role),
    mayCreate: row.creates === 1,
    fsync: String(row.fsync),
    synchronousCommit: String(row.synchronous_commit),
    standbyNames: String(row.standby_names),
    others: Number(row.others),
  };
}
