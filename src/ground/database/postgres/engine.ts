import type { Engine, ReplicaPlace, UseOptions } from "../engine.ts";
import { ServerDatabase } from "../server/server.ts";
import { placeOf } from "./place.ts";
import { PostgresReplica } from "./replica.ts";
import { PostgresTransport } from "./transport.ts";

export { isPostgres, placeOf } from "./place.ts";

/**
 * The engine of PostgreSQL. Its operator keeps copies of its databases.
 *
 * @param options.password Used if a URL has none.
 */
export function postgresEngine(
  url: string,
  { durability, observe, password, replicaUrl, onReplica = () => {} }: UseOptions & ReplicaPlace & {
    readonly password?: string | undefined;
  },
): Engine {
  const durable = durability === "full";
  const connect = () => PostgresTransport.connect(placeOf(url, password), { durable });
  return {
    async open() {
      const database = new ServerDatabase(await connect(), { durable, observe });
      if (replicaUrl !== undefined) {
        database.replica = new PostgresReplica(placeOf(replicaUrl, password), {
          primary: database,
          onState: onReplica,
        });
      }
      return database;
    },
    async fill(work) {
      const transport = await connect();
      try {
        return await transport.transaction((inside) =>
          work(new ServerDatabase(inside, { durable }))
        );
      } finally {
        await transport.close();
      }
    },
  };
}
