import type { Command } from "commander";
import { simulateHttp } from "../upstreams/mod.ts";
import type { CommandContext } from "./context.ts";
import { portOf } from "./settings.ts";

/** `sluice simulate` */
export function simulateCommand(program: Command, context: CommandContext): void {
  program.command("simulate").description("run the simulated upstream as a standalone server")
    .option("--host <host>", "address to listen on", "127.0.0.1")
    .option("--port <port>", "port to listen on; 0 picks a free one", "8788")
    .addHelpText(
      "after",
      "\nExample:\n  sluice simulate --port 9000\n  SLUICE_UPSTREAM_URL=http://127.0.0.1:9000/v1 sluice",
    )
    .action(async ({ host, port }: { host: string; port: string }) => {
      const server = Deno.serve(
        { hostname: host, port: portOf(port), onListen() {} },
        simulateHttp,
      );
      context.out(
        `The simulated upstream is listening on http://${host}:${server.addr.port}/v1\n` +
          `  SLUICE_UPSTREAM_URL=http://${host}:${server.addr.port}/v1\n`,
      );
      await context.stopRequested();
      await server.shutdown();
    });
}
