import { fromFileUrl, joinPath } from "../../src/ground/std/mod.ts";
import type { Finished } from "./outcome.ts";

const ROOT = fromFileUrl(new URL("../..", import.meta.url));

/**
 * Which steps have passed of the files as they are, noted in the repository's own directory: all proofs take hours, and go on
 * where they were ended.
 */
export class Proven {
  readonly #root: string;
  readonly #path: string;
  readonly #names: Set<string>;

  private constructor(root: string, path: string, names: Iterable<string>) {
    this.#root = root;
    this.#path = path;
    this.#names = new Set(names);
  }

  /** @returns `undefined` where files differ from the commit, whose steps they are not then, and where there is no repository. */
  static async open(root = ROOT): Promise<Proven | undefined> {
    if (await git(root, "status", "--porcelain") !== "") return undefined;
    const tree = await git(root, "rev-parse", "HEAD^{tree}");
    const directory = await git(root, "rev-parse", "--absolute-git-dir");
    const path = joinPath(directory!, "proven", tree!);
    const lines = (await Deno.readTextFile(path).catch(() => "")).split("\n");
    return new Proven(root, path, lines.map((line) => line.split(" ")[0]!));
  }

  has(name: string): boolean {
    return this.#names.has(name);
  }

  /** Notes a step that has ended, if it has passed and the files are still the same. */
  async ended({ step: { name }, seconds, faults, skipped }: Finished): Promise<void> {
    if (faults.length > 0 || skipped !== undefined) return;
    const now = await Proven.open(this.#root);
    if (now === undefined || now.#path !== this.#path) return;
    this.#names.add(name);
    await Deno.mkdir(joinPath(this.#path, ".."), { recursive: true });
    const line = `${name} ${seconds.toFixed(0)} s, ended ${new Date().toISOString()}\n`;
    await Deno.writeTextFile(this.#path, line, { append: true });
  }
}

/** What git prints; `undefined` if it fails. */
async function git(cwd: string, ...args: string[]): Promise<string | undefined> {
  const { success, stdout } = await new Deno.Command("git", { args, cwd, stderr: "null" }).output();
  return success ? new TextDecoder().decode(stdout).trim() : undefined;
}
