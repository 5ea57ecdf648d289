import DatabaseConstructor from "libsql";
import type { SettingsInput } from "../../src/settings/config/mod.ts";
import { PostgresCluster, whyNoPostgres } from "../fake/postgres_cluster.ts";
import { PostgresPair } from "../fake/postgres_pair.ts";
import type { Random } from "../fake/random.ts";
import { canRunSqld, type SqldServer, sqldServer } from "../fake/sqld.ts";
import { sleep } from "../fake/temp.ts";

/**
 * The kinds of database that histories are made on: a libSQL server, a file, a PostgreSQL, one with a standby that each commit waits for,
 * and one with a standby that has not got what was committed last when it is needed.
 */
export const DATABASES = ["server", "file", "postgres", "failover", "loss"] as const;
export type DatabaseKind = typeof DATABASES[number];

/** Whether this machine has what a kind needs. */
export async function canHave(kind: DatabaseKind): Promise<boolean> {
  if (kind === "file") return true;
  return kind === "server" ? await canRunSqld() : await whyNoPostgres() === undefined;
}

/** Time away from which on a database is away for long. */
export const LONG_MS = 2_500;

/** A database that can be kept from answering. */
export interface AbsentDatabase extends AsyncDisposable {
  readonly settings: NonNullable<SettingsInput["database"]>;
  /** How many gateways it is for, unless somebody says otherwise. */
  readonly gateways: number;
  /** Keeps it from answering for a while; resolves with how when it answers again. */
  goAway(random: Random, forMs: number): Promise<string>;
  /** What a PostgreSQL has logged. */
  log?(): Promise<string>;
}

/** Starts one below a directory. */
export async function absentDatabase(
  kind: DatabaseKind,
  directory: string,
): Promise<AbsentDatabase> {
  switch (kind) {
    case "server":
      return await server(`${directory}/sqld`);
    case "file":
      return file(`${directory}/sluice.db`);
    case "postgres":
      return await postgres();
    case "failover":
    case "loss":
      return await failover({ losesLast: kind === "loss" });
  }
}

async function server(directory: string): Promise<AbsentDatabase> {
  let running: SqldServer = await sqldServer(directory);
  const { port, url } = running;
  return {
    settings: { url },
    gateways: 2,
    async goAway(random, forMs) {
      if (random.next() < 0.5) {
        running.signal("SIGSTOP");
        await sleep(forMs);
        running.signal("SIGCONT");
        return "stopped";
      }
      await running[Symbol.asyncDispose]();
      await sleep(forMs);
      running = await sqldServer(directory, { port });
      return "killed";
    },
    [Symbol.asyncDispose]: () => running[Symbol.asyncDispose](),
  };
}

async function postgres(): Promise<AbsentDatabase> {
  const cluster = await PostgresCluster.create({ settings: ["fsync=on", "max_connections=200"] });
  await cluster.init();
  await cluster.start();
  return {
    settings: { url: cluster.url },
    gateways: 3,
    async goAway(random, forMs) {
      if (random.next() < 0.5) {
        await cluster.signal("SIGSTOP");
        await sleep(forMs);
        await cluster.signal("SIGCONT");
        return "stopped";
      }
      await cluster.kill();
      await sleep(forMs);
      await cluster.start();
      return "killed";
    },
    log: () => cluster.log(),
    [Symbol.asyncDispose]: () => cluster.end(),
  };
}

/** A primary that is killed, or falls silent where it is to be away for long, and a standby that takes its place. */
async function failover({ losesLast }: { readonly losesLast: boolean }): Promise<AbsentDatabase> {
  const pair = await PostgresPair.start({ isSynchronous: !losesLast });
  return {
    settings: { url: pair.url },
    gateways: 3,
    async goAway(_random, forMs) {
      const silentMs = forMs > LONG_MS ? forMs : 0;
      const awayMs = await pair.failOver({ silentMs, isBehind: losesLast });
      const how = silentMs > 0 ? `silent for ${silentMs} ms` : "killed";
      return `${how}, no primary for ${Math.round(awayMs)} ms`;
    },
    log: () => pair.log(),
    [Symbol.asyncDispose]: () => pair[Symbol.asyncDispose](),
  };
}

/** Another process that writes and does not come to an end. */
function file(path: string): AbsentDatabase {
  return {
    settings: { url: `file:${path}` },
    gateways: 1,
    async goAway(_random, forMs) {
      const other = new DatabaseConstructor(path) as unknown as {
        exec(sql: string): void;
        close(): void;
      };
      try {
        for (;;) {
          try {
            other.exec("begin immediate");
            break;
          } catch { // the gateway writes just now; to wait in this thread would hold up all callers
            await sleep(1);
          }
        }
        await sleep(forMs);
        other.exec("rollback");
      } finally {
        other.close();
      }
      return "locked";
    },
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
}
