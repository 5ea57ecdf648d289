import { generateKeyPairSync } from "node:crypto";
import { OAuth2Server } from "oauth2-mock-server";
import { assertEquals } from "../assert.ts";
import type { Person } from "./oidc_provider.ts";

/** Something that signs somebody in and sends the browser back. */
export interface SignsIn {
  /** Goes through the provider's pages. @returns Where the browser is sent. */
  signIn(url: URL, subject: string): Promise<URL>;
}

/** A browser with a jar of cookies, which follows nothing by itself. */
export class JarBrowser {
  readonly #origin: string;
  readonly cookies = new Map<string, string>();

  constructor(origin: string) {
    this.#origin = origin;
  }

  async open(path: string, init: RequestInit = {}) {
    const cookie = [...this.cookies].map(([name, value]) => `${name}=${value}`).join("; ");
    const response = await fetch(new URL(path, this.#origin), {
      redirect: "manual",
      ...init,
      headers: { cookie, "sec-fetch-site": "same-origin", ...init.headers },
    });
    for (const set of response.headers.getSetCookie()) {
      const [, name, value] = /^([^=]+)=([^;]*)/.exec(set)!;
      if (value === "") this.cookies.delete(name!);
      else this.cookies.set(name!, value!);
    }
    return {
      status: response.status,
      location: response.headers.get("location"),
      headers: response.headers,
      text: await response.text(),
    };
  }

  /** Goes to the provider and through its pages. @returns The path that it sends the browser back to. */
  async away(provider: SignsIn, subject: string, name = "company"): Promise<string> {
    const away = await this.open(`/console/sign-in/oidc/${name}`);
    assertEquals(away.status, 303, away.text);
    const back = await provider.signIn(new URL(away.location!), subject);
    return `${back.pathname}${back.search}`;
  }

  /** Goes to the provider, through its pages, and back. */
  async signIn(provider: SignsIn, subject: string, name = "company") {
    return await this.open(await this.away(provider, subject, name));
  }

  /** Sends a form of the page. */
  async send(page: string, path: string, fields: Record<string, string> = {}) {
    const csrf = /name="csrf" value="([0-9a-f]{64})"/.exec((await this.open(page)).text)![1]!;
    const body = new URLSearchParams({ csrf, ...fields });
    return await this.open(path, { method: "POST", body });
  }
}

/** A provider that asks nothing: quick, and a test may have it lie. */
export interface QuickProvider extends SignsIn, AsyncDisposable {
  readonly issuer: string;
  readonly server: OAuth2Server;
  /** Claims by subject, besides it. */
  readonly people: Map<string, Person>;
}

/** Keys of providers, made once in a process: two beside each other have different ones. */
const KEYS: ReturnType<typeof newKey>[] = [];
let started = 0;

function newKey() {
  return generateKeyPairSync("rsa", { modulusLength: 2_048 }).privateKey.export({ format: "jwk" });
}

/** Starts one. @param now By which its tokens are made. */
export async function quickProvider(now: () => number = Date.now): Promise<QuickProvider> {
  const server = new OAuth2Server();
  const key = KEYS[started++ % 2] ??= newKey();
  await server.issuer.keys.add({ ...key, kid: "first", alg: "RS256" });
  await server.start(0, "127.0.0.1");
  const issuer = `http://127.0.0.1:${server.address().port}`;
  server.issuer.url = issuer;
  const people = new Map<string, Person>();
  const subjects = new Map<string, string>();
  server.service.on("beforeTokenSigning", ({ payload }, { body }) => {
    const sub = subjects.get(body.code as string) ?? "nobody";
    const nowS = Math.floor(now() / 1_000);
    Object.assign(payload, { sub, iat: nowS, nbf: nowS, exp: nowS + 300, ...people.get(sub) });
  });
  return {
    issuer,
    server,
    people,
    async signIn(url, subject) {
      const response = await fetch(url, { redirect: "manual" });
      await response.body?.cancel();
      const back = new URL(response.headers.get("location")!);
      subjects.set(back.searchParams.get("code")!, subject);
      return back;
    },
    async [Symbol.asyncDispose]() {
      if (server.listening) await server.stop();
    },
  };
}
