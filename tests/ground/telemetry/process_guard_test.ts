import { assertEquals, assertStringIncludes } from "../../assert.ts";
import { DEADLINE_MS, tempDir } from "../../fake/temp.ts";

/** A program that has a bug after it was guarded, and what it says then. */
const PROGRAM = (bug: string) => `
import { guardProcess } from ${
  JSON.stringify(new URL("../../../src/ground/telemetry/mod.ts", import.meta.url))
};
const log = { debug() {}, info() {}, warn() {}, error: (message, fields) => console.log(message, fields.error) };
let count = 0;
guardProcess({ log, unhandled: () => count++, runsPrograms: false });
${bug}
const look = setInterval(() => {
  if (count === 0) return;
  clearInterval(look);
  console.log("goes on:", count);
  try {
    new Deno.Command("true").outputSync();
    console.log("programs run");
  } catch {
    console.log("no programs");
  }
}, 5);
`;

const BUGS = {
  "a promise that nobody handles": `Promise.reject(new Error("the bug"));`,
  "a throw in a timer": `setTimeout(() => { throw new Error("the bug"); });`,
  "a throw in an event's listener":
    `const target = new EventTarget(); target.addEventListener("x", () => { throw new Error("the bug"); });
     setTimeout(() => target.dispatchEvent(new Event("x")));`,
};

for (const [why, bug] of Object.entries(BUGS)) {
  Deno.test(`guardProcess: ${why} is logged with its stack, counted, and ends nothing`, async () => {
    await using dir = await tempDir();
    const file = `${dir.path}/program.js`;
    await Deno.writeTextFile(file, PROGRAM(bug));
    const config = new URL("../../../deno.json", import.meta.url).pathname;
    const { code, stdout } = await new Deno.Command(Deno.execPath(), {
      args: [
        "run",
        "--quiet",
        "--config",
        config,
        "--allow-run",
        "--allow-env",
        "--allow-read",
        "--allow-sys",
        file,
      ],
      signal: AbortSignal.timeout(DEADLINE_MS),
    }).output();
    const said = new TextDecoder().decode(stdout);
    assertEquals(code, 0);
    assertStringIncludes(said, "unhandled error: this is a bug");
    assertStringIncludes(said, "Error: the bug\n    at ");
    assertStringIncludes(said, "goes on: 1\nno programs\n");
  });
}
