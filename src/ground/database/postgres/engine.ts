import type { Engine, ServerPlace, UseOptions } from "../engine.ts";
import { ServerDatabase } from "../server/server.ts";
import { placeOf } from "./place.ts";
import { PostgresTransport } from "./transport.ts";

export { isPostgres, placeOf } from "./place.ts";

/** The engine of PostgreSQL. Its operator keeps copies of its databases. */
export function postgresEngine(
  { url, token }: ServerPlace,
  { durability, observe }: UseOptions,
): Engine {
  const durable = durability === "full";
  const connect = () => PostgresTransport.connect(placeOf(url, token), { durable });
  return {
    open: async () => new ServerDatabase(await connect(), { durable, observe }),
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
