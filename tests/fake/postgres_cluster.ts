/** Clusters of PostgreSQL, by the programs that a distribution has: what a server is made of, and a standby. */

import { delay } from "@std/async/delay";
import { basename } from "../../src/ground/std/mod.ts";
import { freePort } from "./free_port.ts";
import { until } from "./temp.ts";

/** How often a server is started whose earlier processes are still there, and the time between. */
const MAX_TRIES = 100;
const RETRY_MS = 200;

/** Where distributions put its programs; those of the highest version are taken. */
const DEBIAN = "/usr/lib/postgresql";
/** A folder of other programs of a server. */
const OTHER = Deno.env.get("SLUICE_TEST_POSTGRES");
const USER = "postgres";
/**
 * Files in memory. Deno takes those for devices, for which all must be allowed, so that programs do what is done with them. On a disk, tests
 * that make and remove clusters at the same time spend most of a server's time in ext4's search for a free inode.
 */
const MEMORY = "/dev/shm";
const MIN_ROOM_KB = 2_097_152;
/** An empty cluster, whose copies take a tenth of the time that making one does: {@linkcode makeEmptyCluster}. */
export const EMPTY_CLUSTER = "SLUICE_TEST_EMPTY_CLUSTER";
/** Part of the names of folders: of those outside its directory, a gate that ends removes what has its mark (`.ci/reap`). */
const GATE = Deno.env.get("SLUICE_GATE_RUN") || "none";

interface Programs {
  /** Folder of the server's programs. */
  readonly path: string;
  readonly version: number;
  /** Folder of those that ask a server. */
  readonly clients: string;
}

/** Why no server can be started on this machine; undefined if one can. */
export async function whyNoPostgres(): Promise<string | undefined> {
  if (await programsHere() === undefined) return `there are no programs in ${DEBIAN}`;
  return undefined;
}

/** How a cluster is made. */
export interface ClusterOptions {
  /** Whether its data is on the disk, rather than in memory. */
  readonly onDisk?: boolean;
  /** Settings `NAME=VALUE` of its server. */
  readonly settings: readonly string[];
}

/** A cluster in a folder of its own, and the server that runs on it at a port on loopback. */
export class PostgresCluster {
  readonly port: number = freePort();
  /** The directory of its socket. */
  readonly folder: string;
  readonly #programs: Programs;
  readonly #data: string;
  readonly #settings: string;

  private constructor(
    programs: Programs,
    { folder, data }: { readonly folder: string; readonly data: string },
    settings: readonly string[],
  ) {
    this.#programs = programs;
    this.folder = folder;
    this.#data = data;
    const all = [
      "listen_addresses=127.0.0.1,127.0.0.2",
      "log_line_prefix=%e:",
      "dynamic_shared_memory_type=mmap", // what a killed server leaves is in its folder
      ...settings,
    ];
    this.#settings = [`-p ${this.port} -k ${folder}`, ...all.map((one) => `-c ${one}`)].join(" ");
  }

  /** Makes a folder for one, which {@linkcode init} or {@linkcode copy} fills. */
  static async create({ onDisk = false, settings }: ClusterOptions): Promise<PostgresCluster> {
    const programs = await programsHere();
    if (programs === undefined) throw new Error(await whyNoPostgres());
    const folder = await makeFolder("sluice-postgres");
    const data = `${folder}/data`;
    const inMemory = !onDisk && await hasRoomInMemory();
    const place = inMemory ? `${MEMORY}/${basename(folder)}` : data;
    await run("mkdir", ["-m", "700", place]);
    if (inMemory) await Deno.symlink(place, data);
    if (Deno.uid() === 0) await run("chown", [USER, folder, place]);
    return new PostgresCluster(programs, { folder, data: place }, settings);
  }

  get url(): string {
    return `postgres://${USER}@127.0.0.1:${this.port}/postgres`;
  }

  /** Of the server's program, such as 15. */
  get version(): number {
    return this.#programs.version;
  }

  /**
   * Makes an empty one, with a database `postgres`.
   *
   * @param options.mayCopy Whether others may have the same identifier.
   */
  async init({ mayCopy = false }: { readonly mayCopy?: boolean } = {}): Promise<void> {
    const empty = mayCopy ? Deno.env.get(EMPTY_CLUSTER) : undefined;
    if (empty === undefined) return await init(this.#programs, this.#data);
    await run("cp", ["-a", `${empty}/.`, this.#data]);
  }

  /** Makes it a standby of another one, in place of what it was. */
  async copy(primary: PostgresCluster): Promise<void> {
    await run("find", [this.#data, "-mindepth", "1", "-delete"]);
    const from = ["-h", "127.0.0.1", "-p", `${primary.port}`, "-U", USER];
    const how = ["-X", "stream", "-c", "fast", "-R", "--no-sync"];
    await must(
      program(this.#programs, "pg_basebackup", ["-D", this.#data, ...from, ...how]),
      "pg_basebackup",
    );
  }

  /** Starts its server; resolves when that answers. */
  async start(): Promise<void> {
    // as a daemon: its end is this command's, not that of a process which the test would have to wait for
    const log = `${this.folder}/log`;
    const how = ["-o", this.#settings, "-l", log, "-w", "-t", "60", "start"];
    for (let tries = 1;; tries++) {
      const { success } = await program(this.#programs, "pg_ctl", ["-D", this.#data, ...how])
        .output();
      if (success) return;
      const last = (await Deno.readTextFile(log).catch(String)).slice(-1_000);
      // the processes of a server that was killed notice it in their own time
      const isOfEarlier = /still in use|Address already in use|lock file .* exists/.test(last);
      if (!isOfEarlier || tries === MAX_TRIES) throw new Error(`pg_ctl start: ${last}`);
      await delay(RETRY_MS);
    }
  }

  /** Has a standby take writes; resolves when it does. */
  async promote(): Promise<void> {
    await must(
      program(this.#programs, "pg_ctl", ["-D", this.#data, "-w", "-t", "60", "promote"]),
      "pg_ctl promote",
    );
  }

  /** Sends a signal to the server's processes, or to those of one kind, such as `walsender`. */
  async signal(name: Deno.Signal, kind = ""): Promise<number[]> {
    const pid = await new Deno.Command("head", { args: ["-1", `${this.#data}/postmaster.pid`] })
      .output();
    if (!pid.success) throw new Error("it does not run");
    const main = parseInt(new TextDecoder().decode(pid.stdout));
    const args = ["-o", "pid=,args=", "--ppid", `${main}`, "-p", `${main}`];
    // a program of the system reads it: Deno's permission to read leaves /proc out
    const { stdout } = await new Deno.Command("ps", { args }).output();
    const pids = linesOf(stdout).filter((line) => line.includes(kind)).map((line) =>
      parseInt(line)
    );
    for (const pid of pids) {
      try {
        Deno.kill(pid, name);
      } catch (error) {
        if (!(error instanceof Deno.errors.NotFound)) throw error; // it ended by itself
      }
    }
    return pids;
  }

  /** Kills all its processes at once, as if its machine were lost; resolves when there are none. */
  async kill(): Promise<void> {
    const pids = await this.signal("SIGKILL");
    const args = ["-o", "stat=", ...pids.flatMap((pid) => ["-p", `${pid}`])];
    await until(async () => {
      const { stdout } = await new Deno.Command("ps", { args }).output();
      return linesOf(stdout).every((state) => state.startsWith("Z"));
    }, { what: "the end of a killed server" });
    // a process that nobody has reaped yet counts as one that runs
    await run("rm", [
      `${this.#data}/postmaster.pid`,
      `${this.folder}/.s.PGSQL.${this.port}.lock`,
    ]);
  }

  /**
   * Runs a script as the owner of all, and goes on after a statement that fails.
   *
   * @returns Rows without alignment, `|` between columns, and what failed.
   */
  async run(script: string): Promise<{ readonly rows: string[]; readonly errors: string[] }> {
    const place = ["-h", this.folder, "-p", `${this.port}`, "-U", USER, "-d", "postgres"];
    const psql = new Deno.Command(`${this.#programs.clients}/psql`, {
      args: [...place, "-X", "-q", "-A", "-t"],
      stdin: "piped",
      stdout: "piped",
      stderr: "piped",
    }).spawn();
    const input = psql.stdin.getWriter();
    const written = input.write(new TextEncoder().encode(script)).then(() => input.close());
    const { stdout, stderr } = await psql.output();
    await written;
    return {
      rows: linesOf(stdout),
      errors: linesOf(stderr).filter((line) => /ERROR|FATAL/.test(line)),
    };
  }

  /** What its servers have logged: lines begin with the state of SQL and a colon. */
  async log(): Promise<string> {
    return await Deno.readTextFile(`${this.folder}/log`);
  }

  /** Ends it, also one whose processes were stopped. */
  async end(): Promise<void> {
    await this.signal("SIGCONT").catch(() => {}); // it does not run
    this.endNow();
  }

  /** Ends it within this turn. */
  endNow(): void {
    const stop = ["-D", this.#data, "-m", "immediate", "-w", "stop"];
    program(this.#programs, "pg_ctl", stop).outputSync();
    command("rm", ["-rf", this.#data, this.folder]).outputSync();
  }
}

/**
 * Makes an empty cluster that others are copies of, while {@linkcode EMPTY_CLUSTER} names it.
 *
 * @returns Its folder; undefined where there are no programs to make one.
 */
export async function makeEmptyCluster(): Promise<string | undefined> {
  const programs = await programsHere();
  if (programs === undefined) return undefined;
  const folder = await makeFolder("sluice-cluster");
  if (Deno.uid() === 0) await run("chown", [USER, folder]);
  await init(programs, folder);
  return folder;
}

/** Makes a folder where other users may go: the tests' own directory may be closed to them. */
function makeFolder(name: string): Promise<string> {
  return Deno.makeTempDir({ dir: "/tmp", prefix: `${name}-${GATE}-` });
}

async function init(programs: Programs, data: string): Promise<void> {
  const more = ["-A", "trust", "-U", USER, "--locale=C", "-E", "UTF8", "--no-sync"];
  await must(program(programs, "initdb", ["-D", data, ...more]), "initdb");
}

/** One of a server's programs, which refuse to run as root. */
function program({ path }: Programs, name: string, args: readonly string[]): Deno.Command {
  const program = `${path}/${name}`;
  const setpriv = [`--reuid=${USER}`, `--regid=${USER}`, "--clear-groups", program];
  return Deno.uid() === 0 ? command("setpriv", [...setpriv, ...args]) : command(program, args);
}

async function programsHere(): Promise<Programs | undefined> {
  const versions: number[] = [];
  try {
    for await (const { name } of Deno.readDir(DEBIAN)) versions.push(Number(name));
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
  const version = versions.filter(Number.isInteger).toSorted((a, b) => b - a)[0];
  if (version === undefined) return undefined;
  const path = `${DEBIAN}/${version}/bin`;
  if (OTHER === undefined) return { path, version, clients: path };
  const { stdout } = await new Deno.Command(`${OTHER}/postgres`, { args: ["--version"] }).output();
  const [other] = /\d+/.exec(new TextDecoder().decode(stdout)) ?? [];
  return { path: OTHER, version: Number(other), clients: path };
}

async function hasRoomInMemory(): Promise<boolean> {
  try {
    const args = ["--output=avail", MEMORY];
    const { success, stdout } = await new Deno.Command("df", { args, stderr: "null" }).output();
    return success && Number(linesOf(stdout)[1]) >= MIN_ROOM_KB;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
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

async function run(name: string, args: readonly string[]): Promise<void> {
  await must(command(name, args), name);
}

async function must(command: Deno.Command, what: string): Promise<void> {
  const { success, code } = await command.output();
  if (!success) throw new Error(`${what} ended with ${code}`);
}

function linesOf(bytes: Uint8Array): string[] {
  return new TextDecoder().decode(bytes).split("\n").slice(0, -1);
}
