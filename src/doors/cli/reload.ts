import type { Command } from "commander";
import { announcedGateway, type Announcement } from "../../ground/database/mod.ts";
import { delay } from "../../ground/std/mod.ts";
import { runningGateway } from "./address.ts";
import type { CommandContext } from "./context.ts";
import { defineCommand } from "./define_command.ts";
import { commandText } from "./format.ts";
import { checkProcess } from "./hung_gateway.ts";

/** How long the gateway may take to read its settings and to ask its upstreams for their models. */
const PATIENCE_MS = 30_000;
const LOOK_MS = 50;

/** `sluice reload` */
export function reloadCommand(program: Command, context: CommandContext): void {
  defineCommand(program, context, {
    name: "reload",
    description: "make the running gateway read its settings again",
    help:
      "\nRequests in progress keep the settings that they began with. If the settings have errors, those\n" +
      "in use stay. The address, the data directory, the database, workers and secret need a restart.\n" +
      "SIGHUP does the same.",
    opens: "settings",
    serving: false,
    async run({ config: { settings: { data }, file }, print }) {
      const before = await runningGateway(data);
      if (before === undefined) {
        throw new Error(`No gateway is running on ${data}; start one with: sluice`);
      }
      await checkProcess(before, data);
      const sentMs = Date.now();
      context.signal(before.pid, "SIGHUP");
      const reload = await outcome(data, sentMs);
      if (reload.fault !== null) {
        const fault = reload.fault.replace(
          /environment variable (\w+) is not set/g,
          "environment variable $1 is not set in the gateway's environment: restart it with $1",
        );
        throw new Error(`The gateway keeps the settings in use. ${fault}`);
      }
      const { needRestart } = reload;
      const used = (await announcedGateway(data))?.settings?.file;
      print(
        { reloaded: true, file: used ?? null, needRestart },
        () =>
          (used === undefined ? "Reloaded: no settings file.\n" : `Reloaded ${used}.\n`) +
          (file === undefined || file === used
            ? ""
            : `This gateway does not use ${file}: restart it with ${
              commandText("sluice", { options: { config: file } })
            }\n`) +
          (needRestart.length === 0
            ? ""
            : `Restart the gateway to apply: ${needRestart.join(", ")}.\n`),
      );
    },
  });
}

/** Waits for the gateway to announce a reload that began after it was asked for. */
async function outcome(
  directory: string,
  sentMs: number,
): Promise<NonNullable<Announcement["reload"]>> {
  const untilTick = performance.now() + PATIENCE_MS;
  while (performance.now() < untilTick) {
    await delay(LOOK_MS);
    const reload = (await announcedGateway(directory))?.reload ?? null;
    if (reload !== null && reload.atMs >= sentMs) return reload;
  }
  throw new Error(
    `The gateway has not reloaded its settings in ${PATIENCE_MS / 1_000} s; see its log`,
  );
}
