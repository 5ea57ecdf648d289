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
  return {
    open: async () =>
      new ServerDatabase(await PostgresTransport.connect(placeOf(url, token), { durable }), {
        durable,
        observe,
      }),
  };
}
