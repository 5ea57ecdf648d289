import DatabaseConstructor from "libsql";
import type { SettingsInput } from "../../src/settings/config/mod.ts";
import type { Random } from "../fake/random.ts";
import { type SqldServer, sqldServer } from "../fake/sqld.ts";
import { sleep } from "../fake/temp.ts";

/** The kinds of database that histories are made on. */
export const DATABASES = ["server", "file"] as const;
export type DatabaseKind = typeof DATABASES[number];

/** A database that can be kept from answering. */
export interface AbsentDatabase extends AsyncDisposable {
  readonly settings: NonNullable<SettingsInput["database"]>;
  /** How many gateways it is for. */
  readonly gateways: number;
  /** Keeps it from answering for a while; resolves with how when it answers again. */
  goAway(random: Random, forMs: number): Promise<string>;
}

/** Starts one below a directory. */
export async function absentDatabase(
  kind: DatabaseKind,
  directory: string,
): Promise<AbsentDatabase> {
  return kind === "server" ? await server(`${directory}/sqld`) : file(`${directory}/sluice.db`);
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
