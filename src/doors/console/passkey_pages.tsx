import type { Session } from "../../people/accounts/mod.ts";
import type { Condition, Statement } from "../../ground/database/mod.ts";
import {
  Passkeys,
  type PasskeyUse,
  SignInError,
  type Site,
  siteOf,
} from "../../people/sign_in/mod.ts";
import { RateLimit } from "../../ground/rate_limits/mod.ts";
import { STATUS_CODE } from "../../ground/std/mod.ts";
import { MINUTE_MS } from "../../ground/time.ts";
import { mustWait } from "./attempts.ts";
import type { AuthPages } from "./auth_pages.tsx";
import { keepCookie, readCookie } from "./cookies.ts";
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
  const passkeys = new Passkeys(parts);
  const challenges = new RateLimit({ ...CHALLENGES, now: parts.now });
  const failures = new RateLimit({ ...FAILURES, now: parts.now });

  const siteIn = (c: PageRequest): Site => siteOf(addressOf(c, parts.config));
  const browserIn = (c: PageRequest) => readCookie(c, BROWSER);
  const useIn = (c: PageRequest): PasskeyUse => ({
    site: siteIn(c),
    browser: browserIn(c) ?? "",
    result: c.var.form.raw("result"),
  });
  /** Why somebody is refused, for people and for the log. */
  const refusedBy = (error: unknown): string => {
    if (!(error instanceof SignInError)) throw error;
    parts.log.warn("passkey refused", { reason: error.message });
    return error.message;
  };
  /** Responds with the options of a challenge, as JSON for the page's script, and has the browser keep what it is bound by. */
  const begin = async (
    c: PageRequest,
    beginning: (
      site: Site,
      browser: string | undefined,
    ) => Promise<{ readonly browser: string; readonly options: object }>,
  ): Promise<Response> => {
    if (mustWait(c, challenges)) {
      return c.json({ error: TOO_MANY }, STATUS_CODE.TooManyRequests);
    }
    challenges.add(c.env.visitor.address);
    try {
      const { browser, options } = await beginning(siteIn(c), browserIn(c));
      const response = c.json(options);
      keepCookie(c, response, { own: BROWSER, value: browser, maxAge: BROWSER_SECONDS });
      return response;
    } catch (error) {
      return c.json({ error: `${refusedBy(error)}.` }, STATUS_CODE.Forbidden);
    }
  };

  app.post(
    "/console/sign-in/passkey/options",
    (c) => begin(c, (site, browser) => passkeys.beginSignIn(site, browser)),
  );
  app.post("/console/sign-in/passkey", async (c) => {
    if (mustWait(c, failures)) {
      return await entrance.signInPage(c, TOO_MANY, "", STATUS_CODE.TooManyRequests);
    }
    let found: Awaited<ReturnType<Passkeys["signIn"]>>;
    try {
      found = await passkeys.signIn(useIn(c));
    } catch (error) {
      const why = refusedBy(error);
      failures.add(c.env.visitor.address);
      return await entrance.signInPage(c, `${why}.`, "", STATUS_CODE.Unauthorized);
    }
    return await entrance.begin(c, found.account, { passkey: found.passkey });
  });

  /** Adds a form of the page Account, with the word of the message afterwards. */
  const addForm = (
    path: string,
    [operation, done]: readonly [operation: string, done: string],
    change: (of: {
      readonly c: PageRequest;
      readonly session: Session;
      readonly id: string;
      readonly name: string;
      readonly record: (onlyIf?: Condition) => Statement;
    }) => Promise<void>,
  ) =>
    app.post(
      `/console/account/passkeys${path}`,
      may("self.use", async (c, session) => {
        const { form } = c.var;
        const record = (onlyIf?: Condition) => recordOf(c, parts, { session, operation, onlyIf });
        try {
          await change({ c, session, id: form.raw("passkey"), name: form.text("name"), record });
        } catch (error) {
          return await entrance.accountPage(c, session, `${refusedBy(error)}.`);
        }
        return seeOther(c, `/console/account?done=${done}`);
      }),
    );
  app.post(
    "/console/account/passkeys/options",
    may(
      "self.use",
      (c, session) => begin(c, (site, browser) => passkeys.beginAdding(session, site, browser)),
    ),
  );
  addForm(
    "",
    ["account.add_passkey", "passkey-added"],
    ({ c, session, name, record }) =>
      passkeys.register(session, useIn(c), { name, also: [record()] }),
  );
  addForm(
    "/rename",
    ["account.rename_passkey", "passkey-renamed"],
    ({ session, id, name, record }) => passkeys.rename(session.account, id, { name, record }),
  );
  addForm(
    "/remove",
    ["account.remove_passkey", "passkey-removed"],
    ({ session, id, record }) => passkeys.remove(session.account, id, record),
  );
}
