import { type Account, GroupGrants, type Session } from "../../people/accounts/mod.ts";
import {
  challengeOf,
  checkRecent,
  Identities,
  type Identity,
  type OidcProvider,
  Providers,
  rightsOf,
  SignInError,
  SingleUses,
  Vouchers,
} from "../../people/sign_in/mod.ts";
import { applyGroups, DirectoryRights, providerWays } from "../../operating/provisioning/mod.ts";
import type { OidcSettings } from "../../settings/config/mod.ts";
import { STATUS_CODE } from "../../ground/std/mod.ts";
import { RateLimit } from "../../ground/rate_limits/mod.ts";
import { MINUTE_MS } from "../../ground/time.ts";
import { mustWait } from "./attempts.ts";
import type { AuthPages } from "./auth_pages.tsx";
import { forgetCookie, keepCookie, readCookie } from "./cookies.ts";
import {
  addressOf,
  type ConsoleParts,
  messagePage,
  notFound,
  type PageRequest,
  recordOf,
  seeOther,
} from "./request.tsx";
import { providerOf } from "./tool_pages.tsx";

/** The cookie of a browser that was sent to a provider. */
const VISIT = "sluice-sign-in";
const VISIT_SECONDS = 600;
/** Visits that an address may begin: how many are kept is bounded, and nobody is to crowd out the others'. */
const VISITS = { limit: 300, windowMs: 10 * MINUTE_MS };
const TOO_MANY = "Too many sign-ins were begun from your address. Wait 10 minutes.";

/** Signing in with a provider of the company's. */
export class ProviderPages {
  readonly #parts: ConsoleParts;
  readonly #entrance: AuthPages;
  readonly #providers: Providers;
  readonly #vouchers: Vouchers;
  readonly #visits: SingleUses;
  readonly #begun: RateLimit;
  readonly #identities: Identities;
  readonly #grants: GroupGrants;
  readonly #directoryRights: DirectoryRights;

  constructor(parts: ConsoleParts, entrance: AuthPages) {
    const { database, now } = parts;
    this.#parts = parts;
    this.#entrance = entrance;
    this.#visits = new SingleUses({ database, kind: "visit", now });
    this.#begun = new RateLimit({ ...VISITS, now });
    const providers = parts.config.settings.signIn?.oidc ?? [];
    this.#identities = new Identities({ ...parts, providers });
    this.#directoryRights = new DirectoryRights({ ...parts, providers });
    this.#providers = new Providers({
      settings: () => parts.config.settings,
      waysOf: providerWays,
      now,
    });
    this.#vouchers = new Vouchers({
      database,
      now,
      sealKey: () => parts.operations.sealKey(),
      providerOf: (name) => this.#providers.find(name),
    });
    this.#grants = new GroupGrants(database, now);
  }

  /** Sends the browser to the provider; to link an identity if somebody is signed in and asks for it. */
  async visit(c: PageRequest, link?: Session): Promise<Response> {
    const provider = this.#providers.find(c.req.param("provider") ?? "");
    if (provider === undefined || c.req.method === "HEAD") return notFound(c);
    if (mustWait(c, this.#begun)) {
      return await this.#notSignedIn(c, TOO_MANY, STATUS_CODE.TooManyRequests);
    }
    this.#begun.add(c.env.visitor.address);
    try {
      if (link !== undefined) checkRecent(link, "link an identity");
      const { url, challenge } = await provider.begin(this.#redirectUri(c, provider));
      const { name } = provider.settings;
      await this.#visits.begin(challenge.secret, name, link?.account.id);
      // a browser lets no form lead elsewhere (`form-action` of the content policy)
      const response = link === undefined
        ? c.redirect(url.href, STATUS_CODE.SeeOther)
        : await messagePage(c, {
          title: `Link ${name}`,
          text:
            `The person who signs in to ${name} next in this browser can sign in to this account.`,
          link: { href: url.href, words: `Continue to ${name}` },
        });
      keepCookie(c, response, { own: VISIT, value: challenge.secret, maxAge: VISIT_SECONDS });
      return response;
    } catch (error) {
      return await this.#refused(c, error);
    }
  }

  /** The provider sends the browser back. */
  async callback(c: PageRequest): Promise<Response> {
    const provider = this.#providers.find(c.req.param("provider") ?? "");
    if (provider === undefined || c.req.method !== "GET") return notFound(c);
    const parameters = new URL(c.req.url).searchParams;
    const browser = readCookie(c, VISIT) ?? "";
    try {
      const { settings } = provider;
      const challenge = challengeOf(browser);
      const isOwn = challenge.state === parameters.get("state");
      const visit = isOwn ? await this.#visits.end(browser, settings.name) : undefined;
      if (visit === undefined) {
        throw new SignInError(
          "This sign-in was not begun by this browser, took longer than ten minutes, or is over",
        );
      }
      const identity = await provider.finish(
        parameters,
        challenge,
        this.#redirectUri(c, provider),
      );
      const response = visit.accountId === undefined
        ? await this.#signIn(c, identity, settings)
        : await this.#link(c, identity, settings, visit.accountId);
      await this.#vouchers.note(identity);
      return this.#forget(c, response);
    } catch (error) {
      return this.#forget(c, await this.#refused(c, error));
    }
  }

  /** The provider says that somebody has signed out there; it waits for a status alone. */
  async loggedOut(c: PageRequest): Promise<Response> {
    const provider = this.#providers.find(c.req.param("provider") ?? "");
    if (provider === undefined) return notFound(c);
    const { name, issuer } = provider.settings;
    try {
      const { subject, session } = await provider.readLogout(c.var.form.raw("logout_token"));
      const accountId = subject === undefined
        ? undefined
        : await this.#identities.accountOf(issuer, subject);
      if (subject === undefined || accountId !== undefined) {
        await this.#parts.sessions.endOfProvider(name, {
          providerSession: session,
          accountIds: accountId === undefined ? undefined : [accountId],
        });
      }
      return c.body(null, STATUS_CODE.OK);
    } catch (error) {
      if (!(error instanceof SignInError)) throw error;
      this.#parts.log.warn("logout refused", { reason: error.message });
      return c.json({ error: "invalid_request" }, STATUS_CODE.BadRequest);
    }
  }

  /** Where somebody signs out at the provider as well; `undefined` if the session is not of one, or that has no such page. */
  async logoutUrl(c: PageRequest): Promise<URL | undefined> {
    const name = await providerOf(c, this.#parts, c.var.session!);
    const provider = this.#providers.find(name ?? "");
    const home = `${addressOf(c, this.#parts.config)}/console/sign-in`;
    return await provider?.logoutUrl(home).catch(() => undefined);
  }

  async #signIn(c: PageRequest, identity: Identity, settings: OidcSettings): Promise<Response> {
    const { name: provider } = settings;
    const { account } = await this.#identities.signIn(identity, settings, (one, news) => [
      recordOf(c, this.#parts, {
        session: { account: one, teams: new Map() },
        operation: news === "created" ? "account.register" : "account.link_identity",
      }),
    ]).catch(async (error) => {
      // out of all groups: what they gave goes, although nobody signs in
      if (error instanceof SignInError && error.refused !== undefined) {
        await this.#applyGroups(c, error.refused, settings, []);
      }
      throw error;
    });
    const groups = identity.groups === "too many" ? [] : identity.groups;
    await this.#applyGroups(c, account, settings, groups);
    return await this.#entrance.begin(c, account, { provider, providerSession: identity.session });
  }

  async #applyGroups(
    c: PageRequest,
    account: Account,
    { name: provider, groups: rights }: OidcSettings,
    groups: readonly string[],
  ): Promise<void> {
    const { database, teams, now, log } = this.#parts;
    const by = {
      actor: { account, teams: new Map(), keyId: null, name: account.email },
      origin: { door: "console", address: c.env.visitor.address },
    } as const;
    const { unknownTeams } = await applyGroups({ database, teams, grants: this.#grants, now }, {
      accountIds: [account.id],
      provider,
      rights: rightsOf(groups, rights),
      by,
    });
    await this.#directoryRights.evaluateAccount(by, account);
    if (unknownTeams.length > 0) {
      log.warn("sign-in: the settings name unknown teams", {
        provider,
        teams: unknownTeams.join(", "),
      });
    }
  }

  async #link(
    c: PageRequest,
    identity: Identity,
    settings: OidcSettings,
    accountId: string,
  ): Promise<Response> {
    const { session } = c.var;
    // a page elsewhere may have had the browser finish what somebody else began
    if (session?.account.id !== accountId) {
      throw new SignInError(
        "Sign in to the account that the identity is to be linked to, and link it again",
      );
    }
    await this.#identities.link(
      session,
      identity,
      settings,
      (onlyIf) => recordOf(c, this.#parts, { session, operation: "account.link_identity", onlyIf }),
    );
    return seeOther(c, "/console/account?done=linked");
  }

  /** Says why somebody cannot sign in. */
  async #refused(c: PageRequest, error: unknown): Promise<Response> {
    if (!(error instanceof SignInError)) throw error;
    this.#parts.log.warn("sign-in refused", {
      reason: error.message,
      ...(error.cause instanceof Error && { error: error.cause.message }),
    });
    const status = error.isDown ? STATUS_CODE.ServiceUnavailable : STATUS_CODE.Forbidden;
    return await this.#notSignedIn(c, `${error.message}.`, status);
  }

  #notSignedIn(c: PageRequest, why: string, status: number): Promise<Response> {
    return messagePage(c, {
      title: "Not signed in",
      text: why,
      link: c.var.session === undefined
        ? { href: "/console/sign-in", words: "Back to signing in" }
        : { href: "/console/account", words: "Back to your account" },
      status,
    });
  }

  #forget(c: PageRequest, response: Response): Response {
    forgetCookie(c, response, VISIT);
    // the address of this page has the provider's code
    response.headers.set("referrer-policy", "no-referrer");
    return response;
  }

  #redirectUri(c: PageRequest, { settings }: OidcProvider): string {
    return `${addressOf(c, this.#parts.config)}/console/sign-in/oidc/${settings.name}/callback`;
  }
}
