import { type Finding, ok, warning } from "../../ground/finding.ts";
import { DatabaseError, type PostgresHealth, type Replica } from "../../ground/database/mod.ts";

const SEE = "see docs/scaling.md";

/** What would be lost with a PostgreSQL, and what its role may not do. */
export function postgresFindings(health: PostgresHealth): Finding[] {
  const { database, role, mayCreate } = health;
  return [
    durability(health),
    ...(mayCreate ? [] : [
      warning(
        "role",
        `${role} may not create schemas in ${database}, so sluice credits audit cannot compare the schema`,
        `as the database's owner: grant create on database ${database} to ${role}`,
      ),
    ]),
  ];
}

/** What to do about a PostgreSQL that cannot be used; `undefined` if what it said tells nothing. */
export function postgresAdvice(error: unknown): string | undefined {
  if (!(error instanceof DatabaseError)) return undefined;
  switch (error.code) {
    case "3D000":
      return "create it: createdb --owner ROLE --template template0 --encoding UTF8 --locale C NAME";
    case "28000":
    case "28P01":
      return "check the role in database.url and its password (SLUICE_DATABASE_TOKEN, PGPASSWORD or ~/.pgpass), and pg_hba.conf of the server";
    case "ECONNREFUSED":
    case "ENOTFOUND":
    case "EAI_AGAIN":
    case "EHOSTUNREACH":
    case "ENETUNREACH":
    case "ETIMEDOUT":
      return "check the host and port in database.url (SLUICE_DATABASE_URL), and that the server runs and listens there";
  }
  return undefined;
}

/** Whether reports can read the replica. */
export async function replicaFinding(replica: Replica): Promise<Finding> {
  const { isReadable, about } = await replica.look()
    .catch((error) => ({ isReadable: false, about: String(error) }));
  const what = `${replica.place}: ${about}`;
  if (isReadable) return ok("replica", what);
  return warning("replica", what, `reports read the database itself until it can be used: ${SEE}`);
}

/** What the loss of the server would cost that takes the writes. */
function durability({ fsync, synchronousCommit, standbyNames }: PostgresHealth): Finding {
  const check = "durability";
  const set = `synchronous_commit is ${synchronousCommit}`;
  if (fsync === "off" || synchronousCommit === "off") {
    return warning(
      check,
      `a commit waits for no disk (fsync is ${fsync}, ${set}): the last charges are lost with the server's power`,
      "switch both on in the server's settings",
    );
  }
  if (standbyNames === "" || synchronousCommit === "local") {
    return warning(
      check,
      `a commit waits for the server's own disk alone (${set}, synchronous_standby_names is "${standbyNames}"): if it is ` +
        "lost, so are charges that no standby and no archive has yet",
      `have commits wait for a standby by synchronous_standby_names, or accept that: ${SEE}`,
    );
  }
  const what = synchronousCommit === "remote_write" ? "memory" : "disk";
  return ok(
    check,
    `a commit waits for the disk of the server and the ${what} of a standby (${standbyNames}): if the server is lost, no ` +
      `charge is${what === "disk" ? "" : ", unless the standby loses its power at the same time"}`,
  );
}
