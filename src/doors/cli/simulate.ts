import type { Command } from "commander";
import { BUILTIN_ROUTES } from "../../settings/catalog/mod.ts";
import { simulateHttp } from "../../requests/upstreams/mod.ts";
import { listenUrl } from "../../settings/config/mod.ts";
import type { CommandContext } from "./context.ts";
import { defineCommand, option } from "./define_command.ts";
import { hostOf, portOf, tryPort } from "./settings.ts";

/** It lists the built-in routes and a model for embeddings, so that a gateway in front of it serves them by discovery. */
const MODELS = [...Object.keys(BUILTIN_ROUTES), "text-embedding-3-small"];

/** `sluice simulate` */
export function simulateCommand(program: Command, context: CommandContext): void {
  defineCommand<{ host: string; port: string }>(program, context, {
    name: "simulate",
    description: "run the simulated upstream as a standalone server",
    options: [
      option("--host <host>", "address to listen on", "127.0.0.1"),
      option("--port <port>", "port to listen on; 0 picks a free one", "8788"),
    ],
    help:
      "\nExample:\n  sluice simulate --port 9000\n  SLUICE_UPSTREAM_URL=http://127.0.0.1:9000/v1 sluice",
    json: false,
    async run({ options }) {
      const [host, port] = [hostOf(options.host), portOf(options.port)];
      tryPort({ host, port });
      const server = Deno.serve(
        { hostname: host, port, onListen() {} },
        (request) => simulateHttp(request, MODELS),
      );
      const url = listenUrl(host, server.addr.port, server.addr.hostname);
      context.out(
        `The simulated upstream is listening on ${url}/v1\n  SLUICE_UPSTREAM_URL=${url}/v1\n`,
      );
      await context.stopRequested();
      await server.shutdown();
    },
  });
}
