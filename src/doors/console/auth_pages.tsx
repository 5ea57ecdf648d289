import {
  type Account,
  AccountError,
  checkAccount,
  checkPassword,
  type Session,
  type SessionStart,
} from "../../people/accounts/mod.ts";
import type { Statement } from "../../ground/database/mod.ts";
import { OWNER_SIGN_IN } from "../../people/operation_log/mod.ts";
import { checkRecent, Identities, Passkeys, SignInError } from "../../people/sign_in/mod.ts";
import { STATUS_CODE } from "../../ground/std/mod.ts";
import { siteOf } from "../../ground/web/mod.ts";
import { Attempts } from "./attempts.ts";
import { count } from "./format.ts";
import { ownKeysOf } from "./own_keys.ts";
import { AccountPage } from "./pages/account.tsx";
import { RegisterPage, SignInPage } from "./pages/sign_in.tsx";
import {
  type ConsoleParts,
  messagePage,
  notFound,
  page,
  pageOf,
  type PageRequest,
  recordOf,
  seeOther,
  strangersPage,
} from "./request.tsx";
import { forgetCookie, keepCookie, readCookie, SESSION } from "./cookies.ts";
import { forgetWantedPage, toWantedPage } from "./wanted_page.ts";

const SESSION_SECONDS = 30 * 86_400;

const SIGN_IN_REFUSED = "Incorrect email or password.";

/** Coming in and going out: passwords, links, registration, sessions. */
export class AuthPages {
  readonly #parts: ConsoleParts;
  readonly #attempts: Attempts;

  constructor(parts: ConsoleParts) {
    this.#parts = parts;
    this.#attempts = new Attempts(parts.now);
  }

  signInPage(
    c: PageRequest,
    error?: string,
    email = "",
    status?: number,
  ): Response | Promise<Response> {
    const { signIn } = this.#parts.config.settings;
    return page(
      c,
      <SignInPage
        page={pageOf(c, error)}
        registration={this.#registration}
        email={email}
        providers={signIn?.oidc.map(({ name }) => name) ?? []}
        onlyOwners={signIn?.password === false}
        passkeys={signIn?.passkeys ?? false}
      />,
      status,
    );
  }

  async signIn(c: PageRequest): Promise<Response> {
    const { accounts, passwords } = this.#parts;
    const { address } = c.env.visitor;
    const email = c.var.form.text("email").toLowerCase().slice(0, 254);
    const waitMs = this.#attempts.waitMs(email, address);
    if (waitMs > 0) {
      const wait = `Too many attempts. Wait ${waitOf(c, waitMs)}, or use a sign-in link.`;
      return this.signInPage(c, wait, email, STATUS_CODE.TooManyRequests);
    }
    // recorded before the check, so that concurrent attempts are all counted
    this.#attempts.failed(email, address);
    const account = await accounts.find(email);
    const right = await passwords.matches(account, c.var.form.raw("password"));
    if (!right || account?.disabledAtMs !== null) {
      return this.signInPage(c, SIGN_IN_REFUSED, email, STATUS_CODE.Unauthorized);
    }
    this.#attempts.succeeded(email, address);
    return await this.begin(c, account, { also: this.#pastProviders(c, account, "password") });
  }

  async useLink(c: PageRequest): Promise<Response> {
    if (c.req.method !== "GET") return notFound(c); // a HEAD request of a link preview does not use it up
    const account = await this.#parts.sessions.useLink(c.req.param("token") ?? "");
    if (account !== undefined) {
      const also = this.#pastProviders(c, account, "link");
      return await this.begin(c, account, { byLink: true, also });
    }
    return await messagePage(c, {
      title: "This link does not work",
      text: "This link has been used, has expired, or is incomplete. Ask for a new one.",
      link: { href: "/console/sign-in", words: "Sign in" },
      status: STATUS_CODE.NotFound,
    });
  }

  /** Begins a session, and leads to the page that was wanted. */
  async begin(c: PageRequest, account: Account, by: SessionStart): Promise<Response> {
    const { signIn } = this.#parts.config.settings;
    const seconds = signIn === undefined ? SESSION_SECONDS : signIn.sessionHours * 3_600;
    const token = await this.#parts.sessions.begin(account, {
      before: c.var.token,
      ...(signIn && { address: c.env.visitor.address, agent: c.req.header("user-agent") }),
      ...by,
    });
    const response = toWantedPage(c);
    keepCookie(c, response, { own: SESSION, value: token, maxAge: seconds });
    forgetWantedPage(c, response);
    return response;
  }

  /** @param elsewhere Where to sign out at the provider as well: by a link, as a browser lets no form lead there. */
  async signedOut(c: PageRequest, done: string, elsewhere?: URL): Promise<Response> {
    const response = elsewhere === undefined
      ? seeOther(c, `/console/sign-in?done=${done}`)
      : await messagePage(c, {
        page: strangersPage(c),
        title: "Signed out",
        text: "You are signed out here, and still signed in at your provider.",
        link: { href: elsewhere.href, words: "Sign out there as well" },
      });
    forgetCookie(c, response, SESSION);
    forgetWantedPage(c, response);
    return response;
  }

  /** Ends the session, and leads back to the page Account by way of signing in. */
  async signInAgain(c: PageRequest): Promise<Response> {
    await this.#parts.sessions.end(c.var.token!);
    const response = seeOther(c, "/console/account");
    forgetCookie(c, response, SESSION);
    return response;
  }

  registerPage(
    c: PageRequest,
    error?: string,
    status?: number,
  ): Response | Promise<Response> {
    const registration = this.#registration;
    if (registration === "closed") return notFound(c);
    const form = c.req.method === "POST" ? c.var.form : undefined;
    return page(
      c,
      <RegisterPage
        page={pageOf(c, error)}
        registration={registration}
        email={form?.text("email") ?? ""}
        name={form?.text("name") ?? ""}
        code={form?.text("code") ?? c.req.query("code")?.slice(0, 100) ?? ""}
      />,
      status,
    );
  }

  /** Shows the same page whether or not the email address is in use. */
  async register(c: PageRequest): Promise<Response> {
    const { registration, accounts, passwords } = this.#parts;
    const mode = this.#registration;
    if (mode === "closed") return notFound(c);
    const { form } = c.var;
    const { address } = c.env.visitor;
    const [email, name, code] = [form.text("email"), form.text("name"), form.text("code")];
    const password = form.raw("password");
    const waitMs = this.#attempts.registerWaitMs(address);
    if (waitMs > 0) {
      const wait = `Too many attempts from your address. Wait ${waitOf(c, waitMs)}.`;
      return this.registerPage(c, wait, STATUS_CODE.TooManyRequests);
    }
    try {
      if (mode === "invite" && code === "") {
        throw new AccountError("An invite code is required to register");
      }
      // the same errors, whether or not the email address is in use
      checkPassword(password);
      checkAccount({ email, name });
      this.#checkUnclaimed(email);
      const inviteCode = code === "" ? undefined : code;
      await registration.inviterOf(inviteCode);
      const setting = await passwords.hashed(password); // takes the same time
      if (await accounts.find(email) === undefined) {
        await registration.register(
          { email, name, inviteCode, network: siteOf(address) },
          (made) => [
            setting(made),
            recordOf(c, this.#parts, {
              session: { account: made, teams: new Map() },
              operation: "account.register",
            }),
          ],
        );
      }
    } catch (error) {
      if (!(error instanceof AccountError)) throw error;
      return this.registerPage(c, `${error.message}.`);
    }
    return seeOther(c, "/console/sign-in?done=registered");
  }

  async accountPage(
    c: PageRequest,
    session: Session,
    error?: string,
    status?: number,
  ): Promise<Response> {
    const { passwords, sessions, now } = this.#parts;
    const hasPassword = await passwords.isSet(session.account);
    const ownKeys = await ownKeysOf(this.#parts, { accountId: session.account.id });
    const { signIn } = this.#parts.config.settings;
    return await page(
      c,
      <AccountPage
        page={pageOf(c, error)}
        session={session}
        hasPassword={passwords.mayUse(session.account) ? hasPassword : undefined}
        ownKeys={ownKeys}
        signIn={signIn && {
          sessions: await sessions.list(session.account, { own: c.var.token }),
          links: await new Identities(this.#parts).list(session.account),
          providers: signIn.oidc.map(({ name }) => name),
          passkeys: signIn.passkeys
            ? await new Passkeys(this.#parts).list(session.account)
            : undefined,
        }}
        nowMs={now()}
      />,
      status,
    );
  }

  /** Ends one session of the account, maybe the one that asks. */
  async endSession(c: PageRequest, session: Session): Promise<Response> {
    await this.#parts.sessions.endOne(
      session.account,
      c.req.param("session") ?? "",
      (onlyIf) => recordOf(c, this.#parts, { session, operation: "account.end_session", onlyIf }),
    );
    return seeOther(c, "/console/account?done=session-ended");
  }

  /** Unlinks an identity at a provider. */
  async unlink(c: PageRequest, session: Session): Promise<Response> {
    const { form } = c.var;
    await new Identities(this.#parts).unlink(
      session.account,
      { issuer: form.raw("issuer"), subject: form.raw("subject") },
      {
        except: c.var.token,
        record: (onlyIf) =>
          recordOf(c, this.#parts, { session, operation: "account.unlink_identity", onlyIf }),
      },
    );
    return seeOther(c, "/console/account?done=unlinked");
  }

  async setPassword(c: PageRequest, session: Session): Promise<Response> {
    const { passwords, sessions } = this.#parts;
    const { account } = session;
    const { address } = c.env.visitor;
    const { form } = c.var;
    const asks = !session.byLink && await passwords.isSet(account);
    if (asks) {
      const waitMs = this.#attempts.waitMs(account.email, address);
      if (waitMs > 0) {
        const wait = `Too many attempts. Wait ${waitOf(c, waitMs)}.`;
        return await this.accountPage(c, session, wait, STATUS_CODE.TooManyRequests);
      }
      // recorded before the check, as at sign-in
      this.#attempts.failed(account.email, address);
      if (!await passwords.matches(account, form.raw("current"))) {
        return await this.accountPage(c, session, "Current password is incorrect.");
      }
      this.#attempts.succeeded(account.email, address);
    }
    try {
      if (!asks) checkRecent(session, "set a password");
      const setting = await passwords.hashed(form.raw("password"));
      const record = recordOf(c, this.#parts, { session, operation: "account.password" });
      await sessions.endAll(account, { except: c.var.token, also: [setting(account), record] });
    } catch (error) {
      if (!(error instanceof AccountError || error instanceof SignInError)) throw error;
      return await this.accountPage(c, session, `${error.message}.`);
    }
    return seeOther(c, "/console/account?done=password");
  }

  /**
   * Refuses addresses of a domain whose people a provider signs in: no word of a provider says whose it is, and the account that was made for it
   * would be the real person's at their first sign-in, with a password that somebody else knows.
   */
  #checkUnclaimed(email: string): void {
    const domain = email.slice(email.lastIndexOf("@") + 1).trim().toLowerCase();
    const { signIn } = this.#parts.config.settings;
    const claimed = signIn?.oidc.find(({ domains }) => domains.includes(domain));
    if (claimed === undefined) return;
    throw new AccountError(`Addresses of ${domain} do not register: sign in with ${claimed.name}`);
  }

  /** Who may register: a new account has nothing but a password to sign in with. */
  get #registration() {
    const { registration, signIn } = this.#parts.config.settings;
    return signIn?.password === false ? "closed" : registration;
  }

  /** What records that an owner signs in without a provider although there are some: the watch makes an alert of it. */
  #pastProviders(c: PageRequest, account: Account, by: "password" | "link"): readonly Statement[] {
    const { oidc = [] } = this.#parts.config.settings.signIn ?? {};
    if (account.role !== "owner" || oidc.length === 0) return [];
    const session = { account, teams: new Map() };
    return [recordOf(c, this.#parts, { session, operation: OWNER_SIGN_IN, after: { by } })];
  }
}

/** The session's token that a request carries. */
export function tokenOf(c: PageRequest): string | undefined {
  return readCookie(c, SESSION);
}

/** Tells a client when it may try again, and says so in words. */
function waitOf(c: PageRequest, waitMs: number): string {
  c.header("retry-after", String(Math.ceil(waitMs / 1_000)));
  return count(Math.ceil(waitMs / 60_000), "minute");
}
