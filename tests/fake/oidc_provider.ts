import { createServer } from "node:http";
import Provider from "oidc-provider";

/** What the provider says of a person. */
export type Person = Readonly<Record<string, unknown>>;

/** A real, certified OpenID provider on loopback. */
export interface FakeProvider extends AsyncDisposable {
  readonly issuer: string;
  readonly client: { readonly id: string; readonly secret: string };
  /** Those who may sign in, by subject. */
  readonly people: Map<string, Person>;
  /** Replies with tokens, as they were sent. */
  readonly issued: readonly Readonly<Record<string, unknown>>[];
  /** Those of them whom the company has removed. */
  readonly removed: Set<string>;
  /**
   * Signs somebody in through the provider's pages, as a browser would.
   *
   * @param url Where the gateway sent the browser.
   * @returns Where the provider sends the browser, with what it says.
   */
  signIn(url: URL, subject: string): Promise<URL>;
}

const CLIENT = { id: "sluice", secret: "a-secret-of-the-client-0123456789" };
/** Claims that scopes give, besides those of the standard. */
const CLAIMS = {
  openid: ["sub", "groups", "roles", "realm_access", "_claim_names", "hasgroups"],
  email: ["email", "email_verified"],
  profile: ["name"],
};
/** Pages and redirects of one sign-in, at most. */
const MAX_STEPS = 12;

/**
 * Starts a provider.
 *
 * @param redirectUris Where it may send browsers; asked at its first request, as a gateway may not run before.
 * @param inUserinfo Whether claims of scopes are left out of identity tokens, as Okta does.
 */
export async function startProvider(
  { redirectUris, inUserinfo = false, refreshes = false, logoutUri }: {
    readonly redirectUris: () => readonly string[];
    readonly inUserinfo?: boolean;
    /** Whether it gives refresh tokens, each for one use. */
    readonly refreshes?: boolean;
    /** Where it says that somebody has signed out. */
    readonly logoutUri?: () => string;
  },
): Promise<FakeProvider> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as { port: number };
  const issuer = `http://127.0.0.1:${port}`;
  const people = new Map<string, Person>();
  const issued: Readonly<Record<string, unknown>>[] = [];
  const removed = new Set<string>();
  const make = () => {
    const provider = new Provider(issuer, {
      clients: [{
        client_id: CLIENT.id,
        client_secret: CLIENT.secret,
        redirect_uris: redirectUris(),
        grant_types: ["authorization_code", "refresh_token"],
        post_logout_redirect_uris: redirectUris(),
        backchannel_logout_session_required: true,
        ...(logoutUri !== undefined && { backchannel_logout_uri: logoutUri() }),
      }],
      claims: CLAIMS,
      conformIdTokenClaims: inUserinfo,
      findAccount: (_: unknown, sub: string) =>
        removed.has(sub) ? undefined : {
          accountId: sub,
          claims: () => ({ sub, ...people.get(sub) }),
        },
      issueRefreshToken: () => refreshes,
      rotateRefreshToken: true,
      features: { devInteractions: { enabled: true }, backchannelLogout: { enabled: true } },
      cookies: { keys: ["a-key-of-cookies"] },
    });
    provider.on(
      "grant.success",
      ({ body }: { body: Record<string, unknown> }) => issued.push(body),
    );
    return provider;
  };
  let handle: ReturnType<InstanceType<typeof Provider>["callback"]> | undefined;
  server.on("request", (request, response) => (handle ??= make().callback())(request, response));
  return {
    issuer,
    client: CLIENT,
    people,
    issued,
    removed,
    signIn: (url, subject) => walk(url, issuer, subject),
    async [Symbol.asyncDispose]() {
      if (!server.listening) return; // a test has closed it; Deno 2.4 would not come back
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Follows the provider's pages and forms with its cookies until it sends the browser elsewhere. */
async function walk(start: URL, issuer: string, subject: string): Promise<URL> {
  const cookies = new Map<string, string>();
  let url = start;
  let body: URLSearchParams | undefined;
  for (let step = 0; step < MAX_STEPS; step++) {
    const response = await fetch(url, {
      method: body === undefined ? "GET" : "POST",
      body: body ?? null,
      headers: { cookie: [...cookies].map(([name, value]) => `${name}=${value}`).join("; ") },
      redirect: "manual",
    });
    for (const cookie of response.headers.getSetCookie()) {
      const [, name, value] = /^([^=]+)=([^;]*)/.exec(cookie)!;
      cookies.set(name!, value!);
    }
    const text = await response.text();
    const location = response.headers.get("location");
    if (location !== null) {
      body = undefined;
      url = new URL(location, url);
      if (url.origin !== issuer) return url;
      continue;
    }
    const action = /<form[^>]* action="([^"]+)"/.exec(text)?.[1];
    const prompt = /name="prompt" value="([^"]+)"/.exec(text)?.[1];
    if (action === undefined || prompt === undefined) {
      throw new Error(`${response.status} of ${url.pathname}: ${text.slice(0, 300)}`);
    }
    url = new URL(action, url);
    body = new URLSearchParams({ prompt, login: subject, password: "x" });
  }
  throw new Error("the provider's pages have no end");
}
