import * as z from "zod";
import {
  identifier,
  type Json as SettingValue,
  routeId,
  SettingsEditor,
} from "../../settings/config/mod.ts";
import { type ByHand, defineWrite, type Json, type OperationContext } from "./operation.ts";
import { conflict, OperationError } from "../../people/operation_log/mod.ts";
import type { Nouns, OperationParts } from "./parts.ts";
import { UndoneError } from "./undone_error.ts";
import { digestOf } from "../../ground/platform/mod.ts";

/** Where an entry is in the settings: its section and its name. */
export type EntryPath = readonly ["routes" | "upstreams", string];

/** What a change of an entry would do to the settings file. */
export type EntryPreview =
  /** Texts of the whole file, and a digest of the one before. */
  | {
    readonly kind: "ready";
    readonly path: string;
    readonly before: string;
    readonly after: string;
    readonly digest: string;
  }
  /** The settings would have errors. */
  | { readonly kind: "invalid"; readonly faults: string }
  /** The file cannot be written here. */
  | { readonly kind: "read-only"; readonly path: string; readonly why: string };

type PreviewParts = Pick<OperationParts, "config" | "gateway">;

/**
 * Reads an entry as the settings file has it: `${NAME}` is not replaced.
 *
 * @returns Its settings; `undefined` if the file does not have it or there is none.
 * @throws {OperationError} If the file cannot be read or has errors.
 */
export async function writtenEntry(
  { config }: Pick<OperationParts, "config">,
  path: EntryPath,
): Promise<Json | undefined> {
  if (config.file === undefined) return undefined;
  const editor = await SettingsEditor.open(config.file).catch(unreadable);
  const found = editor.get(...path);
  return typeof found === "object" && found !== null && !Array.isArray(found)
    ? found as Json
    : undefined;
}

/**
 * Computes what a change of an entry would do to the settings file, and checks it as the gateway would. Nothing is changed.
 *
 * @param settings All settings of the entry that the file is to have.
 */
export async function previewEntry(
  parts: PreviewParts,
  entry: EntryPath,
  settings: Json,
): Promise<EntryPreview> {
  const { config: { file, places }, gateway } = parts;
  if (file === undefined || gateway?.settingsFile === undefined) {
    const why = "no settings file is in use: the settings come from the environment and defaults";
    return { kind: "read-only", path: places.settings.path, why };
  }
  let arriving = "";
  let editor: SettingsEditor | undefined;
  try {
    editor = await SettingsEditor.open(file);
    editor.set(entry, settings as SettingValue);
    const { before = "", text: after } = editor;
    await editor.check((path) => gateway.settingsFile!.check(arriving = path));
    return { kind: "ready", path: editor.path, before, after, digest: digestOf(before) };
  } catch (error) {
    const { message } = error instanceof Error ? error : new Error(String(error));
    if (editor !== undefined && arriving === "" && editor.text !== editor.before) {
      const why = `the gateway cannot write to its folder (${message.replace(/[:,] .*$/, "")})`;
      return { kind: "read-only", path: file, why };
    }
    return { kind: "invalid", faults: renamed(message, arriving, file) };
  }
}

/** Names the file in the text of an error instead of the one that was written beside it, if one was. */
function renamed(text: string, from: string, to: string): string {
  return from === "" ? text : text.replaceAll(from, to);
}

/** Writes are made one after the other: each is compared with what the one before has written. */
let writing: Promise<unknown> = Promise.resolve();

/** Settings of an entry as a write takes them. */
const entryInput = {
  settings: z.record(z.string(), z.unknown()).describe("All settings that the file is to have."),
  digest: z.string().describe("Digest of the file that was looked at."),
};
const entryOutput = z.strictObject({ need_restart: z.array(z.string()) });

/** What the writes of all sections have in common. */
const CHANGED = {
  method: "PUT",
  reply(_c: unknown, { result }: { readonly result: Json | undefined }) {
    if (result !== undefined) return Promise.resolve(result);
    throw conflict(
      "The database failed meanwhile, and the outcome is unknown. Look at the settings and at the log.",
    );
  },
} as const;

/** Writes an entry after those that are being written. */
async function writeEntry(
  { parts }: OperationContext,
  { database }: Pick<Nouns, "database">,
  { logIf, ...change }: Pick<ByHand, "logIf"> & Omit<EntryChange, "log">,
): Promise<Json> {
  const log = async () => {
    await database.batch([logIf({ sql: "true", args: [] })]);
  };
  const done = writing.then(() => write(parts, { ...change, log }));
  writing = done.catch(() => {});
  return { need_restart: await done };
}

/** Changes a route in the settings file, and has the gateway read it. In the console only. */
export const ROUTE_WRITE = defineWrite({
  input: z.strictObject({ route: routeId, ...entryInput }),
  output: entryOutput,
}, {
  ...CHANGED,
  name: "route.write",
  path: "/routes",
  summary: "Change a route in the settings file, and reload it",
  action: "routes.write",
  find: (_c, { route }) => Promise.resolve({ target: null, objectId: route }),
  state: async ({ parts }, _target, { route }) =>
    (await writtenEntry(parts, ["routes", route])) ?? null,
  run: (nouns, c, { input: { route, ...rest }, logIf }) =>
    writeEntry(c, nouns, { ...rest, logIf, path: ["routes", route] }),
});

/** Adds an upstream to the settings file, and has the gateway read it. In the console only. */
export const UPSTREAM_ADD = defineWrite({
  input: z.strictObject({ upstream: identifier, ...entryInput }),
  output: entryOutput,
}, {
  ...CHANGED,
  name: "upstream.add",
  path: "/upstreams",
  summary: "Add an upstream to the settings file, and reload it",
  action: "upstreams.write",
  find: (_c, { upstream }) => Promise.resolve({ target: null, objectId: upstream }),
  // what a file has already may hold secrets: nothing of it is read
  state: async ({ parts }, _target, { upstream, settings }) =>
    await writtenEntry(parts, ["upstreams", upstream]) === undefined ? null : settings,
  async run(nouns, c, { input: { upstream, ...rest }, logIf }) {
    await checkIsNew(c.parts, upstream);
    return await writeEntry(c, nouns, { ...rest, logIf, path: ["upstreams", upstream] });
  },
});

/** @throws {OperationError} `conflict` if the settings have an upstream of this name. */
export async function checkIsNew(
  parts: Pick<OperationParts, "config">,
  upstream: string,
): Promise<void> {
  if (await writtenEntry(parts, ["upstreams", upstream]) === undefined) return;
  throw conflict(
    `The settings have an upstream ${upstream} already: choose another name, or edit the file.`,
  );
}

interface EntryChange {
  readonly path: EntryPath;
  readonly settings: Json;
  readonly digest: string;
  readonly log: () => Promise<void>;
}

/**
 * Replaces the file, and has the gateway read it.
 *
 * @param change The change, and what records it: called once all is checked, before the file is replaced, so that a crash
 *   leaves no change unlogged.
 * @returns Names of changed settings that need a restart.
 */
async function write(
  { config, gateway }: PreviewParts,
  { path: entry, settings, digest, log }: EntryChange,
): Promise<readonly string[]> {
  if (config.file === undefined || gateway?.settingsFile === undefined) {
    throw conflict("No settings file is in use that could be changed.");
  }
  const { check, reload } = gateway.settingsFile;
  const editor = await SettingsEditor.open(config.file).catch(unreadable);
  if (digestOf(editor.before ?? "") !== digest) {
    throw conflict(
      "The settings file has changed since the preview: nothing was written. Look at the changes again.",
    );
  }
  editor.set(entry, settings as SettingValue);
  let stage: "check" | "log" | "replace" = "check";
  let arriving = "";
  try {
    await editor.write(async (path) => {
      await check(arriving = path);
      stage = "log";
      await log();
      stage = "replace";
    });
  } catch (error) {
    if (stage as string === "log") throw error;
    const text = renamed(wordsOf(error), arriving, editor.path);
    if (stage as string === "replace") throw new UndoneError(text, { cause: error });
    throw new OperationError("conflict", text, { cause: error });
  }
  const { fault, needRestart } = await reload()
    .catch((error) => ({ fault: String(error), needRestart: [] }));
  if (fault === null) return needRestart;
  const isBack = await editor.undo().then(() => true, () => false);
  throw new UndoneError(
    `The gateway did not take the new settings, and the file ${
      isBack ? "is as it was before" : "could not be put back: edit it"
    }. ${fault}`,
  );
}

function unreadable(error: unknown): never {
  throw new OperationError("conflict", wordsOf(error), { cause: error });
}

function wordsOf(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  return text.includes("othing was written") ? text : `Nothing was written. ${text}`;
}
