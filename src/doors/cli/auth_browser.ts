import { createHash } from "node:crypto";
import * as z from "zod";
import { displayed, randomText, within } from "../../ground/platform/mod.ts";
import { OAUTH, WELL_KNOWN } from "../oauth/mod.ts";
import { askGateway } from "./auth_gateway.ts";
import { type CommandContext, Refused } from "./context.ts";

/** How long somebody has to sign in and to approve this terminal. */
const WAIT_MS = 5 * 60_000;
/** How long it is waited for the browser to have its reply. */
const CLOSE_MS = 2_000;
const VERIFIER_CHARS = 64;
const STATE_CHARS = 43;
const CLIENT = "sluice";
const PATH = "/callback";

const metadata = z.object({ issuer: z.string(), authorization_endpoint: z.string().optional() });

/** Thrown if nobody can sign in by a browser here. The message says why, as part of a sentence. */
export class NoBrowser extends Error {
  override readonly name = "NoBrowser";
}

/**
 * Signs this terminal in by the browser of this machine: a code with PKCE, which comes back to a listener on loopback (RFC 8252).
 *
 * @returns The gateway's reply with tokens.
 * @throws {NoBrowser} If there is another way to go.
 */
export async function loginByBrowser(context: CommandContext, gateway: string): Promise<unknown> {
  const program = browserOf(context.env);
  if (program === undefined) throw new NoBrowser("this machine has no browser");
  const server = metadata.parse(await askGateway(context, gateway, WELL_KNOWN.server));
  const { issuer, authorization_endpoint: endpoint } = server;
  if (endpoint === undefined) throw new NoBrowser("the gateway takes no sign-in by a browser");
  // else another server's code could be fetched for this one (RFC 8414, section 3.3; RFC 9207)
  if (issuer !== gateway || !endpoint.startsWith(`${issuer}/`)) {
    throw new NoBrowser(`the gateway calls itself ${displayed(issuer)}`);
  }
  const [verifier, state] = [randomText(VERIFIER_CHARS), randomText(STATE_CHARS)];
  const back = new Listener({ state, issuer });
  try {
    const url = new URL(endpoint);
    const parameters = {
      client_id: CLIENT,
      redirect_uri: back.uri,
      response_type: "code",
      state,
      code_challenge: createHash("sha256").update(verifier).digest("base64url"),
      code_challenge_method: "S256",
    };
    for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value);
    context.err(
      `Sign in and approve this terminal in the browser. If none opens, open\n${url}\n` +
        "or, on another machine: sluice auth login --device. Waiting …\n",
    );
    const code = await first(
      back.code,
      context.runProgram(program[0]!, [...program[1], url.href], {}),
    );
    return await askGateway(context, gateway, OAUTH.token, {
      grant_type: "authorization_code",
      client_id: CLIENT,
      redirect_uri: back.uri,
      code,
      code_verifier: verifier,
    });
  } finally {
    await back.close();
  }
}

/** The code, unless the browser cannot be opened or nobody approves in time. */
async function first(code: Promise<string>, browser: Promise<number>): Promise<string> {
  const none = Promise.withResolvers<never>();
  const cannotOpen = () => none.reject(new NoBrowser("the browser does not open"));
  browser.then((status) => status === 0 || cannotOpen(), cannotOpen);
  return await within(WAIT_MS, Promise.race([code, none.promise]), () => {
    throw new NoBrowser("nobody approved this terminal in the browser");
  });
}

/** What opens an address, and the arguments before it; `undefined` if nobody would see it. */
function browserOf(
  { BROWSER, DISPLAY, WAYLAND_DISPLAY, SSH_CONNECTION }: CommandContext["env"],
): readonly [string, readonly string[]] | undefined {
  const [own = ""] = (BROWSER ?? "").split(":");
  if (own !== "") return [own, []];
  if (SSH_CONNECTION !== undefined) return undefined;
  switch (Deno.build.os) {
    case "darwin":
      return ["open", []];
    case "windows":
      return ["rundll32", ["url.dll,FileProtocolHandler"]];
    default:
      return DISPLAY === undefined && WAYLAND_DISPLAY === undefined ? undefined : ["xdg-open", []];
  }
}

/** Where the browser brings the code, on a port of this machine that only this sign-in knows. */
class Listener {
  readonly #server: Deno.HttpServer<Deno.NetAddr>;
  readonly #code = Promise.withResolvers<string>();

  /** @param expected What the answer has to name: the state of this sign-in, and the gateway. */
  constructor(expected: { readonly state: string; readonly issuer: string }) {
    this.#code.promise.catch(() => {}); // there may be none who waits
    this.#server = Deno.serve(
      { hostname: "127.0.0.1", port: 0, onListen() {} },
      (request) => this.#answer(request, expected),
    );
  }

  get uri(): string {
    return `http://127.0.0.1:${this.#server.addr.port}${PATH}`;
  }

  /** Rejected if the gateway says no. */
  get code(): Promise<string> {
    return this.#code.promise;
  }

  async close(): Promise<void> {
    // the browser gets its reply; connections that it opened and has sent nothing on are not waited for
    await within(CLOSE_MS, this.#server.shutdown(), () => {});
  }

  #answer(
    request: Request,
    { state, issuer }: { readonly state: string; readonly issuer: string },
  ): Response {
    const { pathname, searchParams: sent } = new URL(request.url);
    if (request.method !== "GET" || pathname !== PATH) return said("There is nothing here.", 404);
    // any page in any browser can come here: what is not this sign-in's changes nothing
    if (sent.get("state") !== state || sent.get("iss") !== issuer) {
      return said("This is not the answer that the terminal waits for.", 400);
    }
    const [code, error] = [sent.get("code"), sent.get("error")];
    if (code !== null && error === null) {
      this.#code.resolve(code);
      return said("The terminal goes on. You can close this window.", 200);
    }
    const message = error === "access_denied"
      ? "This terminal was denied"
      : displayed(sent.get("error_description") ?? error ?? "The gateway sent no code");
    this.#code.reject(new Refused(error ?? "server_error", message));
    return said("The terminal is not signed in. You can close this window.", 200);
  }
}

function said(text: string, status: number): Response {
  return new Response(`${text}\n`, {
    status,
    headers: {
      "content-type": "text/plain; charset=utf-8",
      "cache-control": "no-store",
      "referrer-policy": "no-referrer",
      connection: "close",
    },
  });
}
