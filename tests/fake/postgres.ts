/** A PostgreSQL that runs, with an empty database `postgres`. */
export interface PostgresServer extends AsyncDisposable {
  readonly url: string;
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
}

/** Where distributions put its programs; those of the highest version are taken. */
const DEBIAN = "/usr/lib/postgresql";
const USER = "postgres";

/** Why no server can be started on this machine; undefined if one can. */
export async function whyNoPostgres(): Promise<string | undefined> {
  if (await folderOfPrograms() === undefined) return `there are no programs in ${DEBIAN}`;
  return undefined;
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
  const folder = await Deno.makeTempDir({ dir: "/tmp", prefix: "sluice-postgres-" });
  if (Deno.uid() === 0) await must("chown", [USER, folder]);
  const data = `${folder}/data`;
  await asUser(`${programs.path}/initdb`, [
    ...["-D", data, "-A", "trust", "-U", USER, "--locale=C", "-E", "UTF8", "--no-sync"],
  ]);
  const port = freePort();
  const settings = `-p ${port} -k ${folder} -c listen_addresses=127.0.0.1,127.0.0.2 -c fsync=${
    durable ? "on" : "off"
  }`;
  // as a daemon: its end is this command's, not that of a process which the test would have to wait for
  await asUser(`${programs.path}/pg_ctl`, [
    ...["-D", data, "-o", settings, "-l", `${folder}/log`, "-w", "-t", "60", "start"],
  ]);
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
    async [Symbol.asyncDispose]() {
      await asUser(`${programs.path}/pg_ctl`, ["-D", data, "-m", "immediate", "-w", "stop"]);
      await Deno.remove(folder, { recursive: true });
    },
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

/** Runs one of its programs, which refuse to run as root. */
async function asUser(program: string, args: readonly string[]): Promise<void> {
  if (Deno.uid() !== 0) return await must(program, args);
  await must("setpriv", [`--reuid=${USER}`, `--regid=${USER}`, "--clear-groups", program, ...args]);
}

async function must(program: string, args: readonly string[]): Promise<void> {
  // its server keeps the outputs that it is given
  const { success, code } = await new Deno.Command(program, {
    args: [...args],
    cwd: "/",
    stdout: "null",
    stderr: "null",
  }).output();
  if (!success) throw new Error(`${program} ended with ${code}`);
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
