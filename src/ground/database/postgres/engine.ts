import type { Engine, UseOptions } from "../engine.ts";
import { ServerDatabase } from "../server/server.ts";
import { placeOf } from "./place.ts";
import { PostgresTransport } from "./transport.ts";

export { isPostgres, placeOf } from "./place.ts";

/**
 * The engine of PostgreSQL. Its operator keeps copies of its databases.
 *
 * @param options.password Used if the URL has none.
 */
export function postgresEngine(
  url: string,
  { durability, observe, password }: UseOptions & { readonly password?: string | undefined },
): Engine {
  const durable = durability === "full";
  const connect = () => PostgresTransport.connect(placeOf(url, password), { durable });
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
