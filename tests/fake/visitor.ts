import { assertEquals } from "../assert.ts";
import type { TestGateway } from "./gateway.ts";

/** Somebody with a browser that runs no scripts: keeps cookies, follows nothing by itself. */
export class PlainBrowser {
  readonly #url: string;
  /** The token of the forms of a session, which is the same on all pages, by the session's cookie. */
  readonly #tokens = new Map<string, string>();
  cookie = "";

  constructor(url: string) {
    this.#url = url;
  }

  /** Opens a page. */
  async get(path: string, headers: Record<string, string> = {}): Promise<Response> {
    return await this.#keep(
      await fetch(`${this.#url}${path}`, {
        headers: { cookie: this.cookie, ...headers },
        redirect: "manual",
      }),
    );
  }

  /** Sends a form, with the token of its page unless another is given; the page is read at the first form of a session. */
  async post(
    path: string,
    fields: Record<string, string>,
    { from, headers = {} }: { from?: string; headers?: Record<string, string> } = {},
  ): Promise<Response> {
    const csrf = from === undefined
      ? {}
      : { csrf: this.#tokens.get(this.cookie) ?? await this.token(from) };
    return await this.#keep(
      await fetch(`${this.#url}${path}`, {
        method: "POST",
        headers: { cookie: this.cookie, "sec-fetch-site": "same-origin", ...headers },
        body: new URLSearchParams({ ...csrf, ...fields }),
        redirect: "manual",
      }),
    );
  }

  /** The token that the forms of a page carry. */
  async token(path: string): Promise<string> {
    const text = await (await this.get(path)).text();
    const token = /name="csrf" value="([0-9a-f]{64})"/.exec(text)?.[1] ?? "";
    if (token !== "") this.#tokens.set(this.cookie, token);
    return token;
  }

  async #keep(reply: Response): Promise<Response> {
    if (reply.status === 303) await reply.body?.cancel(); // says nothing besides where to go
    const [, set] = /^([^;]*)/.exec(reply.headers.get("set-cookie") ?? "") ?? [];
    if (set) this.cookie = set;
    return reply;
  }
}

/** The fields of a new key that may use everything, as its form has them. */
export const NEW_KEY = { allow: "all", expires: "never", budget: "", at_once: "" };

/** A browser that is signed in by a link. */
export async function signedIn(
  { gateway, url }: TestGateway,
  email: string,
): Promise<PlainBrowser> {
  const token = await gateway.sessions.makeLink(await gateway.accounts.get(email));
  const browser = new PlainBrowser(url);
  const reply = await browser.get(`/console/link/${token}`);
  assertEquals([reply.status, reply.headers.get("location")], [303, "/console/"]);
  await reply.body?.cancel();
  return browser;
}
