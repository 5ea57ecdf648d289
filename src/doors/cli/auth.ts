import { delay } from "../../ground/std/mod.ts";
import type { Command } from "commander";
import * as z from "zod";
import { displayed } from "../../ground/platform/mod.ts";
import { OAUTH } from "../oauth/mod.ts";
import { AuthStore, type SignedInAt } from "./auth_store.ts";
import { loginByBrowser, NoBrowser } from "./auth_browser.ts";
import { addressIn, askGateway } from "./auth_gateway.ts";
import { type CommandContext, Refused } from "./context.ts";
import { defineCommand, option } from "./define_command.ts";

const GATEWAY = option(
  "--gateway <url>",
  "the gateway's address; the one signed in to last by default",
);
const DEFAULT_GATEWAY = "http://127.0.0.1:8787";
/** An access token that ends sooner than that is refreshed: what it is used for takes a while. */
const SOON_MS = 5 * 60_000;
const DEVICE_GRANT = "urn:ietf:params:oauth:grant-type:device_code";

const deviceReply = z.object({
  device_code: z.string(),
  user_code: z.string(),
  verification_uri: z.string(),
  verification_uri_complete: z.string().optional(),
  expires_in: z.number(),
  interval: z.number().default(5),
});
const tokenReply = z.object({
  access_token: z.string(),
  refresh_token: z.string(),
  expires_in: z.number(),
  email: z.string().optional(),
});

/** `sluice auth`: how the tools of this user sign in to a gateway. */
export function authCommand(program: Command, context: CommandContext): void {
  const auth = program.command("auth").description("sign in to a gateway from this terminal");
  defineCommand<{ gateway?: string; device?: true }>(auth, context, {
    name: "login",
    description: "sign in: by a browser here, or by a code that is approved in one elsewhere",
    options: [
      GATEWAY,
      option("--device", "by a code, without a browser on this machine"),
    ],
    json: false,
    run: ({ options: { gateway, device = false } }) =>
      login(context, addressIn(gateway) ?? DEFAULT_GATEWAY, device),
  });
  defineCommand<{ gateway?: string }>(auth, context, {
    name: "token",
    description: "print a token that is valid, and nothing else",
    options: [GATEWAY],
    async run({ options, print }) {
      const { accessToken, expiresAtMs } = await tokensOf(context, addressIn(options.gateway));
      print(
        { token: accessToken, expires_at: new Date(expiresAtMs).toISOString() },
        ({ token }) => `${token}\n`,
      );
    },
  });
  defineCommand<{ gateway?: string }>(auth, context, {
    name: "logout",
    description: "sign out: the tokens end",
    options: [GATEWAY],
    json: false,
    run: ({ options }) => logout(context, addressIn(options.gateway)),
  });
  defineCommand<{ gateway?: string }>(auth, context, {
    name: "status",
    description: "show where this user is signed in, and as whom",
    options: [GATEWAY],
    async run({ options, print }) {
      const found = await new AuthStore(context).read(addressIn(options.gateway));
      const status = {
        signed_in: found !== undefined,
        gateway: found?.url ?? null,
        email: found?.tokens.email ?? null,
        token_expires_at: found === undefined
          ? null
          : new Date(found.tokens.expiresAtMs).toISOString(),
      };
      print(
        status,
        ({ gateway, email }) =>
          found === undefined
            ? "Not signed in. Sign in with: sluice auth login\n"
            : `Signed in to ${gateway}${email === null ? "" : ` as ${displayed(email)}`}.\n`,
      );
    },
  });
}

/** Has somebody approve this terminal, and waits for it. */
async function login(context: CommandContext, url: string, byDevice: boolean): Promise<void> {
  const reply = byDevice ? await loginByDevice(context, url) : await loginByEither(context, url);
  const tokens = kept(context, reply);
  await new AuthStore(context).write(url, tokens);
  context.err(`Signed in${tokens.email === undefined ? "" : ` as ${displayed(tokens.email)}`}.\n`);
}

async function loginByEither(context: CommandContext, url: string): Promise<unknown> {
  try {
    return await loginByBrowser(context, url);
  } catch (error) {
    if (!(error instanceof NoBrowser)) throw error;
    context.err(`Signing in by a code, as ${error.message}.\n`);
    return await loginByDevice(context, url);
  }
}

async function loginByDevice(context: CommandContext, url: string): Promise<unknown> {
  const begun = deviceReply.parse(
    await askGateway(context, url, OAUTH.device, { client_id: "sluice" }),
  );
  context.err(
    `Open ${displayed(begun.verification_uri_complete ?? begun.verification_uri)}\n` +
      `and check that it shows the code ${displayed(begun.user_code)}. Waiting …\n`,
  );
  let waitMs = begun.interval * 1_000;
  for (const endMs = context.now() + begun.expires_in * 1_000; context.now() < endMs;) {
    await delay(waitMs);
    try {
      const fields = { grant_type: DEVICE_GRANT, device_code: begun.device_code };
      return await askGateway(context, url, OAUTH.token, fields);
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      if (error.fault === "slow_down") waitMs += 5_000;
      else if (
        error.fault !== "authorization_pending" && error.fault !== "temporarily_unavailable"
      ) {
        throw error;
      }
    }
  }
  throw new Error("Nobody approved this terminal in time: try again");
}

/** Tokens that are valid for a while. Two processes that refresh at once get the same. */
export async function tokensOf(context: CommandContext, url?: string): Promise<SignedInAt> {
  const store = new AuthStore(context);
  const found = await store.read(url);
  if (found === undefined) {
    throw new Error(
      `Not signed in${url === undefined ? "" : ` to ${url}`}: sign in with sluice auth login`,
    );
  }
  if (found.tokens.expiresAtMs - context.now() > SOON_MS) return found.tokens;
  try {
    const fields = { grant_type: "refresh_token", refresh_token: found.tokens.refreshToken };
    const { email = found.tokens.email, ...tokens } = kept(
      context,
      await askGateway(context, found.url, OAUTH.token, fields),
    );
    const refreshed = { ...tokens, ...(email === undefined ? {} : { email }) };
    await store.write(found.url, refreshed);
    return refreshed;
  } catch (error) {
    if (!(error instanceof Refused) || error.fault !== "invalid_grant") {
      // what the gateway cannot look up now, or cannot be asked, ends no token before its time
      if (found.tokens.expiresAtMs > context.now()) return found.tokens;
      throw error;
    }
    await store.remove(found.url);
    throw new Error(`Signed out at ${found.url}: sign in again with sluice auth login`);
  }
}

async function logout(context: CommandContext, url?: string): Promise<void> {
  const store = new AuthStore(context);
  const found = await store.read(url);
  if (found === undefined) {
    context.err("Not signed in.\n");
    return;
  }
  try {
    await askGateway(context, found.url, OAUTH.revoke, { token: found.tokens.refreshToken });
  } catch (error) {
    if (error instanceof Refused) throw error;
    // one that is gone for good would be used by every program that is run
    await store.remove(found.url);
    throw new Error(
      `${
        error instanceof Error ? error.message : String(error)
      }. The tokens are removed from this machine; ` +
        "there, they are valid until you sign out this terminal on the console's page Keys",
      { cause: error },
    );
  }
  await store.remove(found.url);
  context.err(`Signed out at ${found.url}.\n`);
}

function kept(context: CommandContext, reply: unknown): SignedInAt {
  const { access_token: accessToken, refresh_token: refreshToken, expires_in: forS, email } =
    tokenReply.parse(reply);
  const expiresAtMs = Math.round(context.now() + forS * 1_000);
  return { accessToken, refreshToken, expiresAtMs, ...(email === undefined ? {} : { email }) };
}
