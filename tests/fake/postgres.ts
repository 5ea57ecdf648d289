import * as fs from "node:fs"; // its promises lack statfs before Deno 2.5
import { promisify } from "node:util";
import { openDatabase } from "../../src/ground/database/mod.ts";
import { placeOf } from "../../src/ground/database/postgres/place.ts";
import { PostgresTransport } from "../../src/ground/database/postgres/transport.ts";
import { RULES } from "../../src/money/ledger/mod.ts";
import { DEADLINE_MS, until } from "./temp.ts";

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
  /**
   * Runs a script as the owner of all, and goes on after a statement that fails.
   *
   * @returns Rows without alignment, `|` between columns, and what failed.
   */
  run(script: string): Promise<{ readonly rows: string[]; readonly errors: string[] }>;
  /** Ends it within this turn. */
  endNow(): void;
}

/** Where distributions put its programs; those of the highest version are taken. */
const DEBIAN = "/usr/lib/postgresql";
const USER = "postgres";
const MEMORY = "/dev/shm";
const MIN_ROOM_BYTES = 2_147_483_648;

/** Why no server can be started on this machine; undefined if one can. */
export async function whyNoPostgres(): Promise<string | undefined> {
  if (await folderOfPrograms() === undefined) return `there are no programs in ${DEBIAN}`;
  return undefined;
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
  const programs = await folderOfPrograms();
  if (programs === undefined) throw new Error(await whyNoPostgres());
  // the tests' own directory may be closed to other users
  const dir = durable ? "/tmp" : await folderInMemory() ?? "/tmp";
  const folder = await Deno.makeTempDir({ dir, prefix: "sluice-postgres-" });
  if (Deno.uid() === 0) await must(command("chown", [USER, folder]), "chown");
  const data = `${folder}/data`;
  const made = ["-D", data, "-A", "trust", "-U", USER, "--locale=C", "-E", "UTF8", "--no-sync"];
  await must(asUser(`${programs.path}/initdb`, made), "initdb");
  const port = freePort();
  const settings = `-p ${port} -k ${folder} -c listen_addresses=127.0.0.1,127.0.0.2 -c fsync=${
    durable ? "on" : "off"
  }`;
  // as a daemon: its end is this command's, not that of a process which the test would have to wait for
  const start = ["-D", data, "-o", settings, "-l", `${folder}/log`, "-w", "-t", "60", "start"];
  await must(asUser(`${programs.path}/pg_ctl`, start), "pg_ctl start");
  const endNow = () => {
    const stop = ["-D", data, "-m", "immediate", "-w", "stop"];
    asUser(`${programs.path}/pg_ctl`, stop).outputSync();
    Deno.removeSync(folder, { recursive: true });
  };
  return {
    url: `postgres://${USER}@127.0.0.1:${port}/postgres`,
    port,
    socket: folder,
    version: programs.version,
    async run(script) {
      const psql = new Deno.Command(`${programs.path}/psql`, {
        args: ["-h", folder, "-p", `${port}`, "-U", USER, "-d", "postgres", "-X", "-q", "-A", "-t"],
        stdin: "piped",
        stdout: "piped",
        stderr: "piped",
      }).spawn();
      const input = psql.stdin.getWriter();
      const written = input.write(new TextEncoder().encode(script)).then(() => input.close());
      const { stdout, stderr } = await psql.output();
      await written;
      return {
        rows: lines(stdout),
        errors: lines(stderr).filter((line) => /ERROR|FATAL/.test(line)),
      };
    },
    endNow,
    [Symbol.asyncDispose]: () => Promise.resolve(endNow()),
  };
}

async function folderOfPrograms(): Promise<{ path: string; version: number } | undefined> {
  const versions: number[] = [];
  try {
    for await (const { name } of Deno.readDir(DEBIAN)) versions.push(Number(name));
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
  const version = versions.filter(Number.isInteger).toSorted((a, b) => b - a)[0];
  return version === undefined ? undefined : { path: `${DEBIAN}/${version}/bin`, version };
}

/** If there is one with room: to make a database takes a busy disk seconds. */
async function folderInMemory(): Promise<string | undefined> {
  const { bavail, bsize } = await promisify(fs.statfs)(MEMORY).catch(() => ({
    bavail: 0,
    bsize: 0,
  }));
  return bavail * bsize < MIN_ROOM_BYTES ? undefined : MEMORY;
}

/** One of its programs, which refuse to run as root. */
function asUser(program: string, args: readonly string[]): Deno.Command {
  const setpriv = [`--reuid=${USER}`, `--regid=${USER}`, "--clear-groups", program];
  return Deno.uid() === 0 ? command("setpriv", [...setpriv, ...args]) : command(program, args);
}

/** Its server keeps the outputs that it is given. */
function command(program: string, args: readonly string[]): Deno.Command {
  return new Deno.Command(program, {
    args: [...args],
    cwd: "/",
    stdout: "null",
    stderr: "null",
  });
}

async function must(command: Deno.Command, what: string): Promise<void> {
  const { success, code } = await command.output();
  if (!success) throw new Error(`${what} ended with ${code}`);
}

function lines(bytes: Uint8Array): string[] {
  return new TextDecoder().decode(bytes).split("\n").slice(0, -1);
}

function freePort(): number {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const { port } = listener.addr as Deno.NetAddr;
  listener.close();
  return port;
}
