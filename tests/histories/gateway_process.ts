/**
 * A gateway whose clock is off, as `sluice` runs one: prints where it listens, and stops when it is asked to.
 *
 *   gateway_process.ts DIRECTORY MILLISECONDS
 */

import { assemble, waitingStart } from "../../src/assemble/mod.ts";
import { createLog } from "../../src/ground/telemetry/mod.ts";
import { loadConfig } from "../../src/settings/config/mod.ts";
import { say } from "../fake/command.ts";

const [directory = "", offMs = "0"] = Deno.args;
const now = () => Date.now() + Number(offMs);
const stopped = new Promise<void>((stop) => Deno.addSignalListener("SIGTERM", () => stop()));
const log = createLog({
  format: "json",
  level: "warn",
  now,
  write: (text) => Deno.stderr.writeSync(new TextEncoder().encode(text)),
});
const config = await loadConfig({ env: {}, directory, file: `${directory}/sluice.jsonc` });
const gateway = await waitingStart(config, {
  log,
  now,
  waits: true,
  start: (config, environment) => assemble(config, { log, now, lendFrom: 1, ...environment }),
});
say(`listening on ${(await gateway.listen()).url}`);
gateway.guardProcess();
await stopped;
await gateway.stop();
Deno.exit(0);
