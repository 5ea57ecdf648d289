import { openDatabase } from "../../src/ground/database/mod.ts";
import { placeOf } from "../../src/ground/database/postgres/place.ts";
import { PostgresTransport } from "../../src/ground/database/postgres/transport.ts";
import { RULES } from "../../src/money/ledger/mod.ts";
import { PostgresCluster } from "./postgres_cluster.ts";
import { DEADLINE_MS, until } from "./temp.ts";

export { whyNoPostgres } from "./postgres_cluster.ts";

/** A database on a PostgreSQL that runs. */
export interface PostgresDatabase extends AsyncDisposable {
  readonly url: string;
}

/** A PostgreSQL that runs, with an empty database `postgres`. */
export interface PostgresServer extends PostgresDatabase {
  readonly port: number;
  /** The directory of its socket. */
  readonly socket: string;
  /** Of the server's program, such as 15. */
  readonly version: number;
  readonly run: PostgresCluster["run"];
  /** Ends it within this turn. */
  endNow(): void;
}

/** Whether tests that do not say where their database is have it on PostgreSQL, rather than in a file: `SLUICE_TEST_DATABASE=postgres`. */
export const isOnPostgres = Deno.env.get("SLUICE_TEST_DATABASE") === "postgres";

let shared: Promise<{ server: PostgresServer; template: string }> | undefined;
let databases = 0;

/**
 * A database with schema and rules, but no rows. Those of a file of tests are on one server, which lasts as long as they: it takes a
 * second to start, a database a tenth of it.
 */
export async function postgresDatabase(): Promise<PostgresDatabase> {
  const { server, template } = await (shared ??= sharedServer());
  const name = `bench_${databases++}`;
  await asOwner(server, `create database ${name} template ${template}`);
  return {
    url: urlOf(server, name),
    async [Symbol.asyncDispose]() {
      await asOwner(server, `drop database ${name} with (force)`);
    },
  };
}

async function sharedServer() {
  const server = await postgresServer();
  globalThis.addEventListener("unload", server.endNow);
  const template = "template_sluice";
  await asOwner(server, `create database ${template}`);
  const database = await openDatabase({
    file: undefined,
    server: { url: urlOf(server, template), token: undefined },
    durability: "normal",
    rules: RULES,
    now: () => 1,
  });
  await database.close();
  const isLeft = `select count(*) as n from pg_stat_activity where datname = '${template}'`;
  await until(async () => (await asOwner(server, isLeft))[0]?.n === 0);
  return { server, template };
}

const urlOf = ({ url }: PostgresServer, database: string) => url.replace(/[^/]*$/, database);

async function asOwner({ url }: PostgresServer, sql: string) {
  const transport = await PostgresTransport.connect(placeOf(url), { durable: false });
  try {
    return await transport.read(sql, [], DEADLINE_MS);
  } finally {
    await transport.close();
  }
}

/**
 * A real PostgreSQL on loopback, its data in a folder of its own.
 *
 * @param options.durable Whether it waits for the disk.
 */
export async function postgresServer(
  { durable = false }: { readonly durable?: boolean } = {},
): Promise<PostgresServer> {
  const settings = [`fsync=${durable ? "on" : "off"}`];
  const cluster = await PostgresCluster.create({ onDisk: durable, settings });
  await cluster.init({ mayCopy: true });
  await cluster.start();
  const { url, port, folder: socket, version } = cluster;
  const endNow = () => cluster.endNow();
  return {
    url,
    port,
    socket,
    version,
    run: (script) => cluster.run(script),
    endNow,
    [Symbol.asyncDispose]: () => Promise.resolve(endNow()),
  };
}
