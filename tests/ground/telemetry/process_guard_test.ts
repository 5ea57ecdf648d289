import { assertEquals, assertStringIncludes } from "../../assert.ts";
import { DEADLINE_MS, tempDir } from "../../fake/temp.ts";

const BUGS = {
  "a promise that nobody handles": `Promise.reject(new Error("the promise's bug"));`,
  "a throw in a timer": `setTimeout(() => { throw new Error("the timer's bug"); });`,
  "a throw in an event's listener":
    `const target = new EventTarget(); target.addEventListener("x", () => { throw new Error("the listener's bug"); });
     setTimeout(() => target.dispatchEvent(new Event("x")));`,
};

/** A program that has bugs after it was guarded, and what it says then. */
const PROGRAM = `
import { guardProcess } from ${
  JSON.stringify(new URL("../../../src/ground/telemetry/mod.ts", import.meta.url))
};
const log = { debug() {}, info() {}, warn() {}, error: (message, fields) => console.log(message, fields.error) };
let count = 0;
guardProcess({ log, unhandled: () => count++, runsPrograms: false });
${Object.values(BUGS).join("\n")}
const look = setInterval(() => {
  if (count < ${Object.keys(BUGS).length}) return;
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

Deno.test(
  `guardProcess: ${
    Object.keys(BUGS).join(", ")
  } are logged with their stack, counted, and end nothing`,
  async () => {
    await using dir = await tempDir();
    const file = `${dir.path}/program.js`;
    await Deno.writeTextFile(file, PROGRAM);
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
    for (const whose of ["promise", "timer", "listener"]) {
      assertStringIncludes(
        said,
        `unhandled error: this is a bug, please report it Error: the ${whose}'s bug\n    at `,
      );
    }
    assertStringIncludes(said, "goes on: 3\nno programs\n");
  },
);
