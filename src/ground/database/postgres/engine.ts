import type { Engine, UseOptions } from "../engine.ts";
import { ServerDatabase } from "../server/server.ts";
import { placeOf } from "./place.ts";
import { PostgresTransport } from "./transport.ts";

export { isPostgres } from "./place.ts";

/** The engine of PostgreSQL. Its operator keeps copies of its databases. */
export function postgresEngine(url: string, { durability, observe }: UseOptions): Engine {
  const durable = durability === "full";
  return {
    open: async () =>
      new ServerDatabase(await PostgresTransport.connect(placeOf(url), { durable }), {
        durable,
        observe,
      }),
  };
}
