import type { Engine, UseOptions } from "../engine.ts";
import { ServerDatabase, type ServerOptions } from "./server.ts";

/** The engine of a libSQL server. Its operator keeps copies of its databases. */
export function serverEngine(
  place: Pick<ServerOptions, "url" | "token">,
  { durability, observe }: UseOptions,
): Engine {
  return { open: () => ServerDatabase.connect({ ...place, durability }, observe) };
}
