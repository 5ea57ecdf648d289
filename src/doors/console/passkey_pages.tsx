import type { Account, Session } from "../../people/accounts/mod.ts";
import {
  Passkeys,
  type PasskeyUse,
  SignInError,
  type Site,
  siteOf,
} from "../../people/sign_in/mod.ts";
import { RateLimit } from "../../ground/rate_limits/mod.ts";
import { setCookie, STATUS_CODE } from "../../ground/std/mod.ts";
import { MINUTE_MS } from "../../ground/time.ts";
import { mustWait } from "./attempts.ts";
import type { AuthPages } from "./auth_pages.tsx";
import { cookieOf, readCookie } from "./cookies.ts";
import { type GuardedApp, may } from "./guard.ts";
import { addressOf, type ConsoleParts, type PageRequest, recordOf, seeOther } from "./request.tsx";

/** The cookie of a browser that was asked for a passkey. */
const BROWSER = "sluice-passkey";
const BROWSER_SECONDS = 300;
/** Challenges that an address may have: a page that offers passkeys asks for one every four minutes. */
const CHALLENGES = { limit: 300, windowMs: 10 * MINUTE_MS };
/** Sign-ins of an address that fail: each is checked, and is a line of the log. */
const FAILURES = { limit: 100, windowMs: 10 * MINUTE_MS };
const TOO_MANY = "Too many attempts from your address. Wait 10 minutes.";

/** Adds what signs in by passkeys, and the forms of the page Account that add, rename and remove them. */
export function passkeyRoutes(app: GuardedApp, parts: ConsoleParts, entrance: AuthPages): void {
  const pages = new PasskeyPages(parts, entrance);
  app.post("/console/sign-in/passkey/options", (c) => pages.signInOptions(c));
  app.post("/console/sign-in/passkey", (c) => pages.signIn(c));
  const own = "/console/account";
  for (
    const [path, handler] of Object.entries<typeof pages.add>({
      "/passkeys/options": (c, session) => pages.options(c, session),
      "/passkeys": (c, session) => pages.add(c, session),
      "/passkeys/rename": (c, session) => pages.rename(c, session),
      "/passkeys/remove": (c, session) => pages.remove(c, session),
    })
  ) app.post(`${own}${path}`, may("self.use", handler));
}

class PasskeyPages {
  readonly #parts: ConsoleParts;
  readonly #entrance: AuthPages;
  readonly #passkeys: Passkeys;
  readonly #challenges: RateLimit;
  readonly #failures: RateLimit;

  constructor(parts: ConsoleParts, entrance: AuthPages) {
    this.#parts = parts;
    this.#entrance = entrance;
    this.#passkeys = new Passkeys(parts);
    this.#challenges = new RateLimit({ ...CHALLENGES, now: parts.now });
    this.#failures = new RateLimit({ ...FAILURES, now: parts.now });
  }

  /** Options for signing in, as JSON for the page's script. */
  async signInOptions(c: PageRequest): Promise<Response> {
    return await this.#begin(c, (site, browser) => this.#passkeys.beginSignIn(site, browser));
  }

  async signIn(c: PageRequest): Promise<Response> {
    const { address } = c.env.visitor;
    if (mustWait(c, this.#failures)) {
      return await this.#entrance.signInPage(c, TOO_MANY, "", STATUS_CODE.TooManyRequests);
    }
    let found: Awaited<ReturnType<Passkeys["signIn"]>>;
    try {
      found = await this.#passkeys.signIn(this.#useOf(c));
    } catch (error) {
      const why = this.#refusedBy(error);
      this.#failures.add(address);
      return await this.#entrance.signInPage(c, `${why}.`, "", STATUS_CODE.Unauthorized);
    }
    return await this.#entrance.begin(c, found.account, { passkey: found.passkey });
  }

  /** Options for adding a passkey, as JSON for the page's script. */
  async options(c: PageRequest, session: Session): Promise<Response> {
    return await this.#begin(
      c,
      (site, browser) => this.#passkeys.beginAdding(session, site, browser),
    );
  }

  async add(c: PageRequest, session: Session): Promise<Response> {
    const also = [recordOf(c, this.#parts, { session, operation: "account.add_passkey" })];
    return await this.#change(c, session, "passkey-added", async ({ name }) => {
      await this.#passkeys.register(session, this.#useOf(c), { name, also });
    });
  }

  async rename(c: PageRequest, session: Session): Promise<Response> {
    const operation = "account.rename_passkey";
    return await this.#change(c, session, "passkey-renamed", async ({ account, id, name }) => {
      await this.#passkeys.rename(account, id, {
        name,
        record: (onlyIf) => recordOf(c, this.#parts, { session, operation, onlyIf }),
      });
    });
  }

  async remove(c: PageRequest, session: Session): Promise<Response> {
    const operation = "account.remove_passkey";
    return await this.#change(c, session, "passkey-removed", async ({ account, id }) => {
      await this.#passkeys.remove(
        account,
        id,
        (onlyIf) => recordOf(c, this.#parts, { session, operation, onlyIf }),
      );
    });
  }

  async #change(
    c: PageRequest,
    session: Session,
    done: string,
    change: (of: { account: Account; id: string; name: string }) => Promise<void>,
  ): Promise<Response> {
    const { form } = c.var;
    try {
      await change({ account: session.account, id: form.raw("passkey"), name: form.text("name") });
    } catch (error) {
      return await this.#entrance.accountPage(c, session, `${this.#refusedBy(error)}.`);
    }
    return seeOther(c, `/console/account?done=${done}`);
  }

  /** Responds with the options of a challenge, and has the browser keep what it is bound by. */
  async #begin(
    c: PageRequest,
    begin: (
      site: Site,
      browser: string | undefined,
    ) => Promise<{ readonly browser: string; readonly options: object }>,
  ): Promise<Response> {
    if (mustWait(c, this.#challenges)) {
      return c.json({ error: TOO_MANY }, STATUS_CODE.TooManyRequests);
    }
    this.#challenges.add(c.env.visitor.address);
    try {
      const { browser, options } = await begin(this.#site(c), this.#browser(c));
      const response = c.json(options);
      setCookie(response.headers, {
        ...cookieOf(BROWSER, c.env),
        value: browser,
        maxAge: BROWSER_SECONDS,
      });
      return response;
    } catch (error) {
      return c.json({ error: `${this.#refusedBy(error)}.` }, STATUS_CODE.Forbidden);
    }
  }

  #useOf(c: PageRequest): PasskeyUse {
    return {
      site: this.#site(c),
      browser: this.#browser(c) ?? "",
      result: c.var.form.raw("result"),
    };
  }

  #site(c: PageRequest): Site {
    return siteOf(addressOf(c, this.#parts.config));
  }

  #browser(c: PageRequest): string | undefined {
    return readCookie(c.req.raw.headers, BROWSER, c.env);
  }

  /** Why somebody is refused, for people and for the log. */
  #refusedBy(error: unknown): string {
    if (!(error instanceof SignInError)) throw error;
    this.#parts.log.warn("passkey refused", { reason: error.message });
    return error.message;
  }
}
