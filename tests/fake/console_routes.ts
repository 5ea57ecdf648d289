import { Console } from "../../src/doors/console/mod.ts";
import type { TestGateway } from "./gateway.ts";

/** All pages and forms of a gateway's console. */
export function routesOf({ gateway }: TestGateway) {
  return new Console(
    {
      ...gateway,
      catalog: () => gateway.catalog,
      upstreamStates: () => Promise.resolve([]),
      reloads: () => undefined,
      liveRequests: () => Promise.resolve([]),
      log: { debug() {}, info() {}, warn() {}, error() {} },
      now: Date.now,
      aside: (work: (database: unknown) => unknown) => work(gateway.database),
      closing: AbortSignal.timeout(60_000),
      openApi: () => Promise.resolve({}),
    } as unknown as ConstructorParameters<typeof Console>[0],
  ).routes
    .filter(({ path }) => !path.endsWith("*"));
}
