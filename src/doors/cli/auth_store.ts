import * as z from "zod";
import { writeFile } from "../../ground/files/mod.ts";
import { dirname, joinPath } from "../../ground/std/mod.ts";
import { userDirectory } from "../../settings/config/mod.ts";
import type { CommandContext } from "./context.ts";

const signedIn = z.object({
  accessToken: z.string(),
  refreshToken: z.string(),
  /** When the access token ends, in milliseconds since the epoch. */
  expiresAtMs: z.int(),
  email: z.string().optional(),
});

/** What this user has of a gateway. */
export type SignedInAt = z.output<typeof signedIn>;

const stored = z.object({
  /** Address of the gateway that was signed in to last. */
  current: z.string().optional(),
  gateways: z.record(z.string(), signedIn).default({}),
});

const FILE = "auth.json";

/** Tokens of this user, by gateway, in a file that only the user can read. */
export class AuthStore {
  readonly #path: string;

  constructor({ env, directory }: Pick<CommandContext, "env" | "directory">) {
    const own = userDirectory("state", { env, directory });
    if (own === undefined) throw new Error("No home directory is set: set HOME, or use an API key");
    this.#path = joinPath(own, FILE);
  }

  /**
   * Reads what there is of a gateway.
   *
   * @param url Its address; the one that was signed in to last by default.
   */
  async read(
    url?: string,
  ): Promise<{ readonly url: string; readonly tokens: SignedInAt } | undefined> {
    const { current, gateways } = await this.#all();
    const address = url ?? current;
    const tokens = address === undefined ? undefined : gateways[address];
    return tokens === undefined ? undefined : { url: address!, tokens };
  }

  /** Keeps tokens of a gateway. */
  async write(url: string, tokens: SignedInAt): Promise<void> {
    const { gateways } = await this.#all();
    await this.#keep({ current: url, gateways: { ...gateways, [url]: tokens } });
  }

  /** Forgets a gateway. */
  async remove(url: string): Promise<void> {
    const { current, gateways: { [url]: _, ...gateways } } = await this.#all();
    await this.#keep({ ...(current === url ? {} : { current }), gateways });
  }

  async #all(): Promise<z.output<typeof stored>> {
    try {
      return stored.parse(JSON.parse(await Deno.readTextFile(this.#path)));
    } catch (error) {
      if (
        error instanceof Deno.errors.NotFound || error instanceof Deno.errors.NotADirectory
      ) return { gateways: {} };
      if (error instanceof SyntaxError || error instanceof z.ZodError) {
        throw new Error(`${this.#path} is damaged: remove it, and sign in again`);
      }
      throw error;
    }
  }

  async #keep(all: z.input<typeof stored>): Promise<void> {
    await Deno.mkdir(dirname(this.#path), { recursive: true, mode: 0o700 });
    await writeFile(this.#path, `${JSON.stringify(all, null, 2)}\n`, { mode: 0o600 });
  }
}
