/**
 * Puts `sluice` on the PATH, as a launcher of this clone: `deno task install`.
 *
 * `deno install --global` copies the settings of the project without its lock file, and so runs other packages than
 * were tested, or none where the lock file is frozen. The launcher runs `main.ts` where it is, with both.
 *
 *   INSTALL_DIR  where to (default: ~/.local/bin)
 */
// deno-lint-ignore-file no-console -- a script for a terminal

import { delimiter, dirname, fromFileUrl, joinPath } from "../src/ground/std/mod.ts";
import config from "../deno.json" with { type: "json" };

const ROOT = dirname(dirname(fromFileUrl(import.meta.url)));
const isWindows = Deno.build.os === "windows";

const directory = Deno.env.get("INSTALL_DIR") ?? usualDirectory();
const file = joinPath(directory, isWindows ? "sluice.cmd" : "sluice");
await Deno.mkdir(directory, { recursive: true });
await Deno.remove(file).catch(() => {}); // not written through a link to something else
await Deno.writeTextFile(file, launcher(), { mode: 0o755 });

const { code, stdout } = await new Deno.Command(file, { args: ["version"], stderr: "inherit" })
  .output();
if (code !== 0) Deno.exit(code);
const [version] = new TextDecoder().decode(stdout).split("\n");
console.log(`Installed ${version} as ${file}`);
if (!isOnPath(directory)) {
  console.log(`Add it to your PATH: export PATH="${directory}:$PATH"`);
}

/** What runs `main.ts` as `deno task start` does. */
function launcher(): string {
  const [, ...args] = config.tasks.start.split(" ").slice(0, -1);
  const main = joinPath(ROOT, "main.ts");
  const settings = joinPath(ROOT, "deno.json");
  if (isWindows) {
    return `@"${Deno.execPath()}" ${args.join(" ")} --config "${settings}" "${main}" %*\r\n`;
  }
  // the runtime may be one that npx keeps for a while only
  return `#!/bin/sh
deno=${quoted(Deno.execPath())}
[ -x "$deno" ] || deno=deno
exec "$deno" ${args.join(" ")} --quiet --config ${quoted(settings)} ${quoted(main)} "$@"
`;
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

function usualDirectory(): string {
  const home = Deno.env.get(isWindows ? "USERPROFILE" : "HOME");
  if (home === undefined) throw new Error("Cannot tell where to install: set INSTALL_DIR");
  return joinPath(home, ".local", "bin");
}

function isOnPath(path: string): boolean {
  return (Deno.env.get("PATH") ?? "").split(delimiter).includes(path);
}
