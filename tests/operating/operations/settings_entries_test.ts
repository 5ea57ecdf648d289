import { previewEntry } from "../../../src/operating/operations/mod.ts";
import { assert, assertEquals, assertStringIncludes } from "../../assert.ts";
import { tempDir } from "../../fake/temp.ts";

type Parts = Parameters<typeof previewEntry>[0];

const GOOD = `{ "routes": { "one": { "off": false } } }`;
const TAKEN = () => Promise.resolve();

const UNWRITABLE = "a folder that cannot be written";

/** How the preview of a change ends that switches a route off, by what is there; what it says has a text in it. */
const CASES: readonly (readonly [
  what: string,
  /** Text of the file; undefined for a gateway without one. */
  file: string | undefined,
  gateway: "none" | "without a file" | ((path: string) => Promise<void>),
  kind: "ready" | "invalid" | "read-only",
  says: string,
])[] = [
  ["a file that the gateway takes", GOOD, TAKEN, "ready", '"off": true'],
  ["no file", undefined, TAKEN, "read-only", "/etc/sluice/sluice.jsonc"],
  ["no gateway", GOOD, "none", "read-only", "no settings file is in use"],
  ["a gateway without a file", GOOD, "without a file", "read-only", "no settings file is in use"],
  [UNWRITABLE, GOOD, TAKEN, "read-only", "cannot write to its folder"],
  ["a file that is no object", "[]", TAKEN, "invalid", "settings.jsonc"],
  ["a section that is no object", `{ "routes": 1 }`, TAKEN, "invalid", "routes"],
  [
    "a file that the gateway refuses",
    GOOD,
    (path) => Promise.reject(new Error(`${path} has errors, ${path}`)),
    "invalid",
    "settings.jsonc has errors, ",
  ],
];

for (const [what, text, gateway, kind, says] of CASES) {
  Deno.test(`the preview of a change to the settings, with ${what}: ${kind}`, async () => {
    await using dir = await tempDir();
    // a folder that takes no file beside it, which for root no permission brings about: its name would be too long
    const name = what === UNWRITABLE ? "s".repeat(240) : "settings.jsonc";
    const path = `${dir.path}/${name}`;
    await Deno.writeTextFile(path, text ?? "{}");
    const settingsFile = typeof gateway === "string" ? undefined : { check: gateway };
    const parts = {
      config: {
        file: text === undefined ? undefined : path,
        places: { settings: { path: "/etc/sluice/sluice.jsonc" } },
      },
      gateway: gateway === "none" ? undefined : { settingsFile },
    } as unknown as Parts;
    const preview = await previewEntry(parts, ["routes", "one"], { off: true });
    const seen = JSON.stringify(Object.values(preview)).replaceAll('\\"', '"');
    assertEquals(preview.kind, kind, seen);
    assertStringIncludes(seen, says);
    assert(!/settings\.jsonc\.[^" ]/.test(seen), seen);
    const names = (await Array.fromAsync(Deno.readDir(dir.path))).map((one) => one.name);
    assertEquals(names, [name]);
    assertEquals(await Deno.readTextFile(path), text ?? "{}");
  });
}
