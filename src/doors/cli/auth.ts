import type { Command } from "commander";
import * as z from "zod";
import { exchange } from "../../ground/ways_out/mod.ts";
import { displayed } from "../../ground/platform/mod.ts";
import { proxiesIn, proxyOf } from "../../settings/config/mod.ts";
import { OAUTH } from "../oauth/mod.ts";
import { AuthStore, type SignedInAt } from "./auth_store.ts";
import { type CommandContext, UsageError } from "./context.ts";
import { defineCommand, option } from "./define_command.ts";

const GATEWAY = option(
  "--gateway <url>",
  "the gateway's address; the one signed in to last by default",
);
const DEFAULT_GATEWAY = "http://127.0.0.1:8787";
const TIMEOUT_MS = 30_000;
const MAX_BYTES = 64 * 1_024;
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
const faultReply = z.object({ error: z.string(), error_description: z.string().default("") });

/** `sluice auth`: how the tools of this user sign in to a gateway. */
export function authCommand(program: Command, context: CommandContext): void {
  const auth = program.command("auth").description("sign in to a gateway from this terminal");
  defineCommand<{ gateway?: string; device?: true }>(auth, context, {
    name: "login",
    description: "sign in: somebody approves this terminal in the gateway's console",
    options: [
      GATEWAY,
      option("--device", "by a code that is typed in a browser, here or elsewhere"),
    ],
    json: false,
    run: ({ options }) => login(context, addressIn(options.gateway) ?? DEFAULT_GATEWAY),
  });
  defineCommand<{ gateway?: string }>(auth, context, {
    name: "token",
    description: "print a token that is valid, and nothing else",
    options: [GATEWAY],
    json: false,
    async run({ options }) {
      context.out(`${(await tokensOf(context, addressIn(options.gateway))).accessToken}\n`);
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
async function login(context: CommandContext, url: string): Promise<void> {
  const store = new AuthStore(context);
  const begun = deviceReply.parse(
    await askGateway(context, url, OAUTH.device, { client_id: "sluice" }),
  );
  context.err(
    `Open ${displayed(begun.verification_uri_complete ?? begun.verification_uri)}\n` +
      `and check that it shows the code ${displayed(begun.user_code)}. Waiting …\n`,
  );
  let waitMs = begun.interval * 1_000;
  for (const endMs = context.now() + begun.expires_in * 1_000; context.now() < endMs;) {
    await new Promise((resolve) => setTimeout(resolve, waitMs));
    try {
      const fields = { grant_type: DEVICE_GRANT, device_code: begun.device_code };
      const tokens = kept(context, await askGateway(context, url, OAUTH.token, fields));
      await store.write(url, tokens);
      context.err(
        `Signed in${tokens.email === undefined ? "" : ` as ${displayed(tokens.email)}`}.\n`,
      );
      return;
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
async function tokensOf(context: CommandContext, url?: string): Promise<SignedInAt> {
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
    if (!(error instanceof Refused) || error.fault !== "invalid_grant") throw error;
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
  await askGateway(context, found.url, OAUTH.revoke, { token: found.tokens.refreshToken });
  await store.remove(found.url);
  context.err(`Signed out at ${found.url}.\n`);
}

function kept(context: CommandContext, reply: unknown): SignedInAt {
  const { access_token: accessToken, refresh_token: refreshToken, expires_in: forS, email } =
    tokenReply.parse(reply);
  const expiresAtMs = Math.round(context.now() + forS * 1_000);
  return { accessToken, refreshToken, expiresAtMs, ...(email === undefined ? {} : { email }) };
}

/** Thrown if a gateway says no. */
class Refused extends Error {
  readonly fault: string;

  constructor(fault: string, message: string) {
    super(message);
    this.fault = fault;
  }
}

async function askGateway(
  { env }: CommandContext,
  gateway: string,
  path: string,
  fields: Readonly<Record<string, string>>,
): Promise<unknown> {
  const url = new URL(`${gateway}${path}`);
  const reply = await exchange({
    url,
    method: "POST",
    headers: { "content-type": "application/x-www-form-urlencoded", accept: "application/json" },
    body: new URLSearchParams(fields).toString(),
    proxy: proxyOf(url, { proxies: proxiesIn(env) }),
    timeoutMs: TIMEOUT_MS,
    maxBytes: MAX_BYTES,
    signal: AbortSignal.timeout(TIMEOUT_MS),
  }).catch((error) => {
    throw new Error(`The gateway ${gateway} cannot be reached`, { cause: error });
  });
  let body: unknown;
  try {
    body = JSON.parse(reply.text);
  } catch {
    body = undefined;
  }
  if (reply.status === 200) return body;
  const fault = faultReply.safeParse(body);
  if (fault.success) {
    throw new Refused(
      fault.data.error,
      displayed(fault.data.error_description || fault.data.error),
    );
  }
  throw new Error(
    `The gateway ${gateway} signs no tools in (status ${reply.status}): its operator sets signIn`,
  );
}

/** The address of a gateway, without a slash at its end. */
function addressIn(text: string | undefined): string | undefined {
  if (text === undefined) return undefined;
  if (!URL.canParse(text) || !/^https?:$/.test(new URL(text).protocol)) {
    throw new UsageError(`--gateway ${text}: send an address such as https://llm.example.com`);
  }
  return text.replace(/\/+$/, "");
}
