import { displayed } from "../../ground/platform/mod.ts";
import { basename, joinPath } from "../../ground/std/mod.ts";
import { proxiesIn, userDirectory } from "../../settings/config/mod.ts";
import { writeFile } from "../../ground/files/mod.ts";
import { tokensOf } from "./auth.ts";
import { AuthStore } from "./auth_store.ts";
import type { ClientGateway } from "./client_environment.ts";
import type { CommandContext } from "./context.ts";
import type { PlaceOptions } from "./settings.ts";
import { chosenModels, modelsAt } from "./tool_models.ts";

/** A gateway that this user is signed in to, for a program. */
export interface SignedInGateway {
  readonly gateway: ClientGateway;
  /** When the token ends, in milliseconds since the epoch. */
  readonly expiresAtMs: number;
  /** Writes a file for the program that only this user can read, and resolves with its path. */
  file(name: string, text: string): Promise<string>;
}

/**
 * The gateway that this user has signed in to last, with a token that is valid; `undefined` if there is none, or if an account or the
 * gateway of a place is asked for: then a key of that is used.
 *
 * @param tool What it is used for.
 * @throws {Error} If the gateway cannot be reached, or has signed this user out.
 */
export async function signedInGateway(
  context: CommandContext,
  options: PlaceOptions & { readonly account?: string },
  tool: string,
): Promise<SignedInGateway | undefined> {
  const { env, directory } = context;
  const { account, config, data } = options;
  const named = [account, config, data, env.SLUICE_CONFIG, env.SLUICE_DATA];
  if (named.some((one) => one !== undefined && one !== "")) return undefined;
  const own = userDirectory("state", { env, directory });
  if (own === undefined) return undefined;
  const found = await new AuthStore(context).read();
  if (found === undefined) return undefined;
  const { url } = found;
  const tokens = await tokensOf(context, url);
  const all = await modelsAt(url, proxiesIn(env));
  if (all === undefined) {
    throw new Error(
      `The gateway ${url}, which you are signed in to, cannot be reached: sign out with sluice auth logout, ` +
        "or name another with --data",
    );
  }
  const as = tokens.email === undefined ? "" : ` as ${displayed(tokens.email)}`;
  context.err(`sluice: using ${url}, signed in${as}\n`);
  return {
    gateway: {
      url,
      key: tokens.accessToken,
      models: chosenModels(all),
      renewal: [program(), "auth", "token", "--gateway", url],
    },
    expiresAtMs: tokens.expiresAtMs,
    async file(name, text) {
      const folder = joinPath(own, "tools", tool.replaceAll(/[^a-z0-9-]/gi, "").slice(0, 32));
      await Deno.mkdir(folder, { recursive: true, mode: 0o700 });
      const path = joinPath(folder, name);
      await writeFile(path, text, { mode: 0o600 });
      return path;
    },
  };
}

/** How others start this program. */
function program(): string {
  const path = Deno.execPath();
  return basename(path).startsWith("deno") ? "sluice" : path; // run from its source
}
