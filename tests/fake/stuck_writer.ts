/** Begins to replace a file, says so, and goes no further. Argument: the file. */

import { replaceFile } from "../../src/ground/files/mod.ts";
import { say } from "./command.ts";

await replaceFile(Deno.args[0]!, async (beside) => {
  await Deno.writeTextFile(beside, String(Deno.pid));
  await Deno.writeTextFile(`${beside}-journal`, String(Deno.pid));
  say("begun");
  setInterval(() => {}, 60_000); // which keeps the process
  return await new Promise<never>(() => {});
}, { mode: 0o600 });
