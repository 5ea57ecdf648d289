/**
 * Sluice: arguments to a command. The only place that exits.
 *
 * @module
 */

import { assemble, assembleParts } from "./src/assemble.ts";
import { runCommand } from "./src/cli/mod.ts";

const encoder = new TextEncoder();

/** Writes all of a text, however little the other end takes at a time. */
function write(target: { writeSync(bytes: Uint8Array): number }): (text: string) => void {
  return (text) => {
    let bytes = encoder.encode(text);
    while (bytes.length > 0) bytes = bytes.subarray(target.writeSync(bytes));
  };
}

/** Resolves at the first signal to stop; the second one ends the process at once. */
function stopRequested(): Promise<string> {
  const signals: Deno.Signal[] = Deno.build.os === "windows"
    ? ["SIGINT", "SIGBREAK"]
    : ["SIGINT", "SIGTERM"];
  return new Promise((resolve) => {
    let asked = false;
    for (const signal of signals) {
      Deno.addSignalListener(signal, () => {
        if (asked) Deno.exit(130);
        asked = true;
        resolve(signal);
      });
    }
  });
}

if (import.meta.main) {
  const status = await runCommand(Deno.args, {
    env: Deno.env.toObject(),
    directory: Deno.cwd(),
    now: Date.now,
    out: write(Deno.stdout),
    err: write(Deno.stderr),
    colour: Deno.stdout.isTerminal() && !Deno.noColor,
    openParts: (config) => assembleParts(config),
    openGateway: (config, log) => assemble(config, { log }),
    stopRequested,
  });
  Deno.exit(status);
}
