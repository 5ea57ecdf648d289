import { previewEntry, ROUTE_WRITE } from "../../../src/operating/operations/mod.ts";
import { checkIsNew, writtenEntry } from "../../../src/operating/operations/settings_entries.ts";
import { UndoneError } from "../../../src/operating/operations/undone_error.ts";
import { digestOf } from "../../../src/ground/platform/mod.ts";
import { OperationError, shellActor } from "../../../src/people/operation_log/mod.ts";
import { assert, assertEquals, assertRejects, assertStringIncludes } from "../../assert.ts";
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
  ["a gateway that does not say why", GOOD, () => Promise.reject("no"), "invalid", '"no"'],
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
    assert(!/settings\.jsonc\.[^" ]|Error:/.test(seen), seen);
    const names = (await Array.fromAsync(Deno.readDir(dir.path))).map((one) => one.name);
    assertEquals(names, [name]);
    assertEquals(await Deno.readTextFile(path), text ?? "{}");
  });
}

Deno.test("an entry is what the file has as an object, and none without it (table)", async () => {
  await using dir = await tempDir();
  const file = `${dir.path}/settings.jsonc`;
  const written = (parts: object) => writtenEntry(parts as Parts, ["routes", "one"]);
  assertEquals(await written({ config: {} }), undefined);
  for (
    const [text, expected] of [
      [`{ "routes": { "one": { "off": true } } }`, { off: true }],
      [`{ "routes": { "one": {} } }`, {}],
      [`{ "routes": { "one": [] } }`, undefined],
      [`{ "routes": { "one": null } }`, undefined],
      [`{ "routes": { "one": 5 } }`, undefined],
      [`{ "routes": {} }`, undefined],
      ["{}", undefined],
    ] as const
  ) {
    await Deno.writeTextFile(file, text);
    assertEquals(
      await written({ config: { file } }),
      expected as typeof expected | undefined,
      text,
    );
  }
  const parts = { config: { file } } as Parts;
  await checkIsNew(parts, "up");
  await Deno.writeTextFile(file, `{ "upstreams": { "up": {} } }`);
  await checkIsNew(parts, "other");
  await assertRejects(() => checkIsNew(parts, "up"), OperationError, "an upstream up already");
  await Deno.writeTextFile(file, "[]");
  await assertRejects(() => written(parts), OperationError, "Nothing was written");
});

/** What a write meets. */
interface Meeting {
  readonly file?: string | undefined;
  readonly gateway?: object | undefined;
  readonly digest?: string;
  readonly log?: (folder: string) => Promise<unknown>;
}

const TAKES = {
  check: TAKEN,
  reload: () => Promise.resolve({ fault: null, needRestart: ["port"] }),
};
const taking = (more: object) => ({ gateway: { settingsFile: { ...TAKES, ...more } } });
const rejecting = (error: unknown) => () => Promise.reject(error);

/** How a write ends: what it returns, or the error and what that says; whether it was logged, and whether the file is changed. */
const WRITES: readonly (readonly [
  what: string,
  meets: Meeting,
  ends: readonly string[] | (new (...args: never[]) => Error),
  says: string,
  isLogged: boolean,
  isChanged: boolean,
])[] = [
  ["what it takes", {}, ["port"], "", true, true],
  ["no file", { file: undefined }, OperationError, "No settings file is in use", false, false],
  [
    "no gateway",
    { gateway: undefined },
    OperationError,
    "No settings file is in use",
    false,
    false,
  ],
  ["a gateway without a file", { gateway: {} }, OperationError, "No settings file", false, false],
  [
    "another file than was seen",
    { digest: "x" },
    OperationError,
    "since the preview",
    false,
    false,
  ],
  [
    "a check that fails",
    taking({ check: (path: string) => Promise.reject(new Error(`${path} has errors`)) }),
    OperationError,
    "^Nothing was written. FOLDER/settings.jsonc has errors$",
    false,
    false,
  ],
  [
    "a check that says so itself",
    taking({ check: rejecting("Sorry, nothing was written.") }),
    OperationError,
    "^Sorry, nothing was written.$",
    false,
    false,
  ],
  [
    "a log that fails",
    { log: rejecting(new Error("away")) },
    Error,
    "^away$",
    true,
    false,
  ],
  [
    "a folder that goes away",
    { log: (folder) => Deno.remove(folder, { recursive: true }) },
    UndoneError,
    "^Nothing was written. ",
    true,
    false,
  ],
  [
    "settings that the gateway does not take after all",
    taking({ reload: () => Promise.resolve({ fault: "No port.", needRestart: [] }) }),
    UndoneError,
    "did not take the new settings, and the file is as it was before. No port.",
    true,
    false,
  ],
  [
    "a gateway that fails",
    taking({ reload: rejecting("away") }),
    UndoneError,
    "the file is as it was before. away",
    true,
    false,
  ],
];

for (const [what, meets, ends, says, isLogged, isChanged] of WRITES) {
  Deno.test(`a change of the settings that meets ${what}`, async () => {
    await using dir = await tempDir();
    const folder = `${dir.path}/folder`;
    await Deno.mkdir(folder);
    const file = `${folder}/settings.jsonc`;
    await Deno.writeTextFile(file, GOOD);
    const { digest, log, ...more } = { file, gateway: { settingsFile: TAKES }, ...meets };
    let logged = false;
    const nouns = {
      database: {
        batch: () => {
          logged = true;
          return log?.(folder) ?? Promise.resolve([]);
        },
      },
    };
    const c = {
      actor: shellActor(),
      parts: { config: { file: more.file }, gateway: more.gateway },
    } as unknown as Parameters<typeof ROUTE_WRITE.prepare>[0];
    const write = await ROUTE_WRITE.prepare(c, {
      route: "one",
      settings: { off: true },
      digest: digest ?? digestOf(GOOD),
    });
    const run = async () =>
      await write.run(nouns as never, { guards: [], logIf: () => ({ sql: "", args: [] }) });
    if (typeof ends === "function") {
      const error = await assertRejects(run, ends);
      const message = error.message.replaceAll(folder, "FOLDER");
      assert(new RegExp(says).test(message), message);
      assertEquals(error instanceof UndoneError, ends === UndoneError);
      assertEquals(error instanceof OperationError, ends !== Error);
    } else assertEquals(await run(), { need_restart: ends });
    assertEquals(logged, isLogged);
    const text = await Deno.readTextFile(file).catch(() => GOOD);
    assertEquals(text !== GOOD, isChanged, text);
  });
}
