import * as z from "zod";
import type { Account, Key, Keys } from "../../people/accounts/mod.ts";
import type { Statement } from "../../ground/database/mod.ts";
import { recordStatement } from "../../people/operation_log/mod.ts";
import { describeKey } from "../../operating/operations/mod.ts";
import { writeFile } from "../../ground/files/mod.ts";
import { dirname, joinPath } from "../../ground/std/mod.ts";
import { digestOf } from "../../ground/platform/mod.ts";
import { shellBy } from "./operate.ts";

/** What a key is remembered for. */
export interface ClientKeyUse {
  /** Program, or `env`. */
  readonly tool: string;
  /** Where the user works. */
  readonly directory: string;
  /** Name of a new key. */
  readonly name: string;
  readonly lifeMs: number;
}

interface ClientKeysOptions {
  /** The gateway's data directory. */
  readonly data: string;
  readonly keys: Keys;
  readonly now: () => number;
  /** Called with what a person should know. */
  readonly warn: (text: string) => void;
}

const FOLDER = "client-keys";
const KEY_FILE = "key.json";

const remembered = z.strictObject({ secret: z.string(), expiresAtMs: z.int() });

/**
 * The keys of programs that this user runs, one per account, program and directory, so that the next start finds the
 * key of the last one. The database has only their digests, so the keys themselves are files that only the user can
 * read, in `client-keys/` of the data directory.
 */
export class ClientKeys {
  readonly #folder: string;
  readonly #keys: Keys;
  readonly #now: () => number;
  readonly #warn: (text: string) => void;

  constructor({ data, keys, now, warn }: ClientKeysOptions) {
    this.#folder = joinPath(data, FOLDER);
    this.#keys = keys;
    this.#now = now;
    this.#warn = warn;
  }

  /**
   * Resolves with the remembered key if it is still valid, otherwise with a new one.
   *
   * A key is replaced when less than a third of its life is left; it stays valid, for programs that still run with it.
   */
  async keyFor(account: Account, use: ClientKeyUse): Promise<string> {
    const file = this.pathFor(account, use, KEY_FILE);
    const held = await this.#valid(file, account, use);
    if (held !== undefined) return held;
    const expiresAtMs = this.#now() + use.lifeMs;
    const options = { name: use.name, expiresAtMs };
    const { secret } = await this.#keys.issue(account, options, (key) => [recordOfKey(key)]);
    try {
      await this.write(file, JSON.stringify({ secret, expiresAtMs }));
      await this.#removeExpired();
    } catch (error) {
      this.#warn(`cannot keep the key for the next time: ${error}`); // it works nevertheless
    }
    return secret;
  }

  /** Path of a file that belongs to one use, as {@linkcode keyFor} tells them apart. */
  pathFor({ id }: Account, { tool, directory, lifeMs }: ClientKeyUse, name: string): string {
    const digest = digestOf(JSON.stringify([id, tool, directory, lifeMs])).slice(0, 24);
    const slug = tool.replaceAll(/[^a-z0-9-]/gi, "").slice(0, 32);
    return joinPath(this.#folder, `${slug}-${digest}`, name);
  }

  /** Writes a file that only the user can read; whole or not at all, even if several programs write it. */
  async write(file: string, text: string): Promise<void> {
    await Deno.mkdir(dirname(file), { recursive: true, mode: 0o700 });
    await writeFile(file, text, { mode: 0o600 });
  }

  async #valid(
    file: string,
    account: Account,
    { lifeMs }: ClientKeyUse,
  ): Promise<string | undefined> {
    const held = await read(file);
    if (held === undefined) return undefined;
    const key = await this.#keys.bySecret(held.secret); // none in another database
    if (key === undefined || key.accountId !== account.id || key.revokedAtMs !== null) {
      return undefined;
    }
    const leftMs = (key.expiresAtMs ?? Infinity) - this.#now();
    return leftMs * 3 >= lifeMs ? held.secret : undefined;
  }

  /** Forgets the keys of directories where nobody works any more. */
  async #removeExpired(): Promise<void> {
    for await (const { name } of Deno.readDir(this.#folder)) {
      const held = await read(joinPath(this.#folder, name, KEY_FILE));
      if (held === undefined || held.expiresAtMs > this.#now()) continue;
      await Deno.remove(joinPath(this.#folder, name), { recursive: true }).catch(() => {});
    }
  }
}

/** The row of the log about a key that was made for a program. */
function recordOfKey(key: Key): Statement {
  return recordStatement(shellBy(), {
    operation: "key.create",
    about: { accountId: key.accountId, objectId: key.id },
    atMs: key.createdAtMs,
    after: describeKey(key),
  });
}

/** Undefined for a file that is missing, or that something else has written. */
async function read(file: string): Promise<z.output<typeof remembered> | undefined> {
  try {
    return remembered.parse(JSON.parse(await Deno.readTextFile(file)));
  } catch {
    return undefined;
  }
}
