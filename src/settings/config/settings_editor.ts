import jsonc, { type Node, type ParseError } from "jsonc-parser";
import { checkTarget, writeFile } from "../../ground/files/mod.ts";
import { basename, dirname, joinPath } from "../../ground/std/mod.ts";
import { insert, type Json, replaced } from "./settings_text.ts";

/** Changes a settings file as a person would: comments, order and layout of everything else stay. */
export class SettingsEditor {
  /** Path of the file; behind a link, that of what it leads to. */
  readonly path: string;
  readonly #before: string | undefined;
  readonly #mode: number;
  #text: string;

  private constructor(path: string, before: string | undefined, mode: number) {
    this.path = path;
    this.#before = before;
    this.#mode = mode;
    this.#text = before === undefined || plain(before).trim() === "" ? "{\n}\n" : before;
  }

  /**
   * Reads a settings file.
   *
   * @param path The file. One that does not exist is created by {@linkcode write}, readable by its owner only.
   * @throws {Error} If it is not a JSONC object, or no regular file nor a link to one.
   */
  static async open(path: string): Promise<SettingsEditor> {
    const whole = await Deno.realPath(path).catch(() => path);
    await checkTarget(whole); // before it is read: a pipe would be emptied
    const text = await Deno.readTextFile(whole).catch((error) => {
      if (error instanceof Deno.errors.NotFound) return undefined;
      throw error;
    });
    const mode = text === undefined ? undefined : (await Deno.stat(whole)).mode;
    const editor = new SettingsEditor(whole, text, (mode ?? 0o600) & 0o777);
    editor.#root(); // throws if the file is no object
    return editor;
  }

  /** Whether the file exists. */
  get exists(): boolean {
    return this.#before !== undefined;
  }

  /** Whether something was added. */
  get changed(): boolean {
    return this.#text !== this.#before && (this.exists || this.#text !== "{\n}\n");
  }

  /** The text as it would be written. */
  get text(): string {
    return this.#text;
  }

  /**
   * Reads a setting as it is written: `${NAME}` is not replaced.
   *
   * @param path Keys of objects.
   * @returns The value, or `undefined`.
   */
  get(...path: readonly string[]): unknown {
    const node = jsonc.findNodeAtLocation(this.#root(), [...path]);
    return node === undefined ? undefined : jsonc.getNodeValue(node);
  }

  /**
   * Lists the names in a section, such as the upstreams.
   *
   * @param path Keys of objects.
   */
  names(...path: readonly string[]): string[] {
    const node = jsonc.findNodeAtLocation(this.#root(), [...path]);
    return (node?.children ?? []).map((property) => String(property.children?.[0]?.value));
  }

  /**
   * Adds a setting behind the others of its section.
   *
   * @param path Keys of objects. Sections that are missing are added.
   * @param value The value; properties that are `undefined` are left out.
   * @throws {Error} If the setting is there already, or a section is not an object.
   */
  add(path: readonly string[], value: Json): void {
    const root = this.#root();
    let [at, depth] = [root, 0];
    for (; depth < path.length - 1; depth++) {
      const next = jsonc.findNodeAtLocation(at, [path[depth]!]);
      if (next === undefined) break;
      if (next.type !== "object") {
        throw new Error(`${path.slice(0, depth + 1).join(".")} in ${this.path} is not an object`);
      }
      at = next;
    }
    if (jsonc.findNodeAtLocation(at, [path[depth]!]) !== undefined) {
      throw new Error(`${path.join(".")} is in ${this.path} already`);
    }
    const inner = path.slice(depth + 1).reduceRight<Json>((all, key) => ({ [key]: all }), value);
    this.#text = insert(this.#text, at, [path[depth]!, inner]);
  }

  /**
   * Changes a setting, or adds it if it is missing: only what differs is written.
   *
   * @param path Keys of objects. Sections that are missing are added.
   * @param value The value; properties that are `undefined` are left out.
   * @throws {Error} If a section is not an object.
   */
  set(path: readonly string[], value: Json): void {
    if (jsonc.findNodeAtLocation(this.#root(), [...path]) === undefined) this.add(path, value);
    else this.#text = replaced(this.#text, path, { value, parse: (text) => this.#root(text) });
  }

  /** The text as the file has it; `undefined` if it does not exist. */
  get before(): string | undefined {
    return this.#before;
  }

  /**
   * Returns the part of a text that is a setting, with its name, and the indentation of its first line.
   *
   * @param text The text of a settings file.
   * @param path Keys of objects.
   * @returns `undefined` if it is not there.
   */
  static sourceOf(text: string, path: readonly string[]): string | undefined {
    const root = jsonc.parseTree(plain(text), [], { allowTrailingComma: true });
    const node = root && jsonc.findNodeAtLocation(root, [...path])?.parent;
    if (node === undefined) return undefined;
    const indent = /(?:^|[\r\n])([ \t]*)$/.exec(text.slice(0, node.offset))?.[1] ?? "";
    return indent + text.slice(node.offset, node.offset + node.length);
  }

  /**
   * Writes the text beside the file, to look at whether it is valid, and takes it away again.
   *
   * @param check Is given the path of the new text. What it throws is thrown.
   */
  async check(check: (path: string) => Promise<void>): Promise<void> {
    const arriving = this.#arriving();
    try {
      await Deno.writeTextFile(arriving, this.#text, { mode: this.#mode, createNew: true });
      await check(arriving);
    } finally {
      await Deno.remove(arriving).catch(() => {});
    }
  }

  /**
   * Writes the file, whole or not at all.
   *
   * @param check Is given the path of the new text, beside the file, before it takes the file's place. If it throws,
   *   nothing changes.
   * @throws {Error} If the file has changed since it was read.
   */
  async write(check: (path: string) => Promise<void>): Promise<void> {
    if (!this.exists) await Deno.mkdir(dirname(this.path), { recursive: true, mode: 0o700 });
    await this.#replace(this.#text, async (beside) => {
      await check(beside);
      const now = await Deno.readTextFile(this.path).catch(() => undefined);
      if (now === this.#before) return;
      throw new Error(`${this.path} has changed in the meantime: run the command again`);
    });
  }

  /** Puts back what was written over, unless the file has changed since. */
  async undo(): Promise<void> {
    if (this.#before === undefined || await Deno.readTextFile(this.path) !== this.#text) return;
    await this.#replace(this.#before);
  }

  async #replace(text: string, check?: (beside: string) => Promise<void>): Promise<void> {
    await writeFile(this.path, text, { mode: this.#mode, ...(check && { check }) });
  }

  #arriving(): string {
    return joinPath(dirname(this.path), `.${basename(this.path)}.${crypto.randomUUID()}`);
  }

  #root(text = this.#text): Node {
    const errors: ParseError[] = [];
    const root = jsonc.parseTree(plain(text), errors, {
      allowTrailingComma: true,
      allowEmptyContent: true,
    });
    if (root?.type === "object" && errors.length === 0) return root;
    throw new Error(
      `The settings file ${this.path} has errors; see sluice config check. Nothing was written`,
    );
  }
}

/** A byte order mark becomes a space, so that places in the text stay. */
function plain(text: string): string {
  return text.replace(/^\uFEFF/, " ");
}
