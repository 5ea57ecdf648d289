/** The server of a database that gateways share, for tests that do not say whose it is. */

import { PostgresCluster, whyNoPostgres } from "./postgres_cluster.ts";
import { canRunSqld, sqldServer } from "./sqld.ts";

/** A server that runs. To dispose of it kills it; what it has committed is there when one is started at its port again. */
export interface SharedServer extends AsyncDisposable {
  readonly url: string;
  readonly port: number;
  signal(name: Deno.Signal): Promise<void>;
}

/** Whether it is PostgreSQL, rather than a libSQL server: `SLUICE_TEST_SERVER=postgres`. */
const isPostgres = Deno.env.get("SLUICE_TEST_SERVER") === "postgres";

/** By their ports. Their data lasts as long as the tests of a file. */
const clusters = new Map<number, PostgresCluster>();

/** Whether one can be started on this machine. */
export async function canShareServer(): Promise<boolean> {
  return isPostgres ? await whyNoPostgres() === undefined : await canRunSqld();
}

/**
 * A server on loopback that waits for the disk.
 *
 * @param directory Where a libSQL server has its data. PostgreSQL's is where its user may write.
 * @param options.port The port of one that ran: it is started on the same data.
 */
export async function sharedServer(
  directory: string,
  { port }: { readonly port?: number } = {},
): Promise<SharedServer> {
  if (isPostgres) return await startCluster(port);
  const { signal, ...server } = await sqldServer(directory, port === undefined ? {} : { port });
  return {
    ...server,
    signal: (name) => Promise.resolve(signal(name)),
  };
}

async function startCluster(port?: number): Promise<SharedServer> {
  const cluster = clusters.get(port ?? NaN) ?? await makeCluster();
  await cluster.start();
  return {
    url: cluster.url,
    port: cluster.port,
    signal: async (name) => void await cluster.signal(name),
    [Symbol.asyncDispose]: () => cluster.kill(),
  };
}

async function makeCluster(): Promise<PostgresCluster> {
  const cluster = await PostgresCluster.create({ onDisk: true, settings: ["fsync=on"] });
  if (clusters.size === 0) {
    globalThis.addEventListener("unload", () => {
      for (const one of clusters.values()) one.endNow();
    });
  }
  clusters.set(cluster.port, cluster);
  await cluster.init();
  return cluster;
}
