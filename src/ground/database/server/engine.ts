import type { Engine, UseOptions } from "../engine.ts";
import type { LibsqlOptions } from "./libsql.ts";
import { ServerDatabase } from "./server.ts";

/** The engine of a libSQL server. Its operator keeps copies of its databases. */
export function serverEngine(
  place: Pick<LibsqlOptions, "url" | "token">,
  { durability, observe }: UseOptions,
): Engine {
  return { open: () => ServerDatabase.connect({ ...place, durability }, observe) };
}
