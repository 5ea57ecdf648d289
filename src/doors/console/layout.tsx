import type { Child } from "@hono/hono/jsx";
import { type Action, can, type Session } from "../../people/accounts/mod.ts";
import { Form } from "./components.tsx";

/** Context of a page. */
export interface PageContext {
  /** `undefined` if the visitor is not signed in. */
  readonly session: Session | undefined;
  /** What the session's forms are sent with. */
  readonly csrf: string;
  readonly path: string;
  /** About the write before. */
  readonly notice?: Notice | undefined;
}

/** A page in the navigation, and the letter after `g` that leads there. */
type PageLink = readonly [href: string, name: string, letter?: string];

const TEAMS: PageLink = ["/console/teams", "Teams", "t"];
const LINKS: readonly PageLink[] = [
  ["/console/", "Home", "h"],
  ["/console/keys", "Keys", "k"],
  ["/console/usage", "Usage", "u"],
  ["/console/requests", "Requests", "r"],
  ["/console/credits", "Credits", "c"],
  ["/console/notices", "Notices", "n"],
  ["/console/playground", "Playground", "p"],
  ["/console/models", "Models", "m"],
  ["/docs", "API", "d"],
];
const OPERATOR_LINKS: readonly (readonly [...Required<PageLink>, Action])[] = [
  ["/console/operator", "Overview", "v", "usage.read"],
  ["/console/operator/accounts", "Accounts", "a", "account.read"],
  ["/console/operator/alerts", "Alerts", "e", "alerts.read"],
  ["/console/operator/live", "Live", "l", "live.read"],
  ["/console/operator/upstreams", "Upstreams", "s", "upstreams.read"],
  ["/console/operator/routes", "Routes", "o", "routes.read"],
  ["/console/operator/invites", "Invites", "i", "invites.read"],
  ["/console/operator/payments", "Payments", "y", "payments.read"],
  ["/console/operator/audit", "Audit", "x", "audit.run"],
  ["/console/operator/log", "Log", "j", "log.read"],
  ["/console/operator/settings", "Settings", "g", "settings.read"],
];
const PUBLIC_LINKS: readonly PageLink[] = [
  ["/console/models", "Models", "m"],
  ["/docs", "API", "d"],
  ["/console/sign-in", "Sign in"],
];

/** Links for an account; those who are in no team and see none need no link to teams. */
function linksOf(session: Session): readonly PageLink[] {
  const hasTeams = session.teams.size > 0 || can(session, "team.list");
  return hasTeams ? LINKS.toSpliced(2, 0, TEAMS) : LINKS;
}

/** A message about the result of a write. */
export interface Notice {
  readonly tone: "good" | "bad";
  readonly text: string;
}

/** Returns a notice of an error, or else of what was done. */
export function noticeOf(
  { error, done }: { readonly error?: string | undefined; readonly done?: string | undefined },
): Notice | undefined {
  // errors about one field begin with its name
  if (error !== undefined) {
    return {
      tone: "bad",
      text: error.replace(/^[a-z]/, (first) => first.toUpperCase()),
    };
  }
  return done === undefined ? undefined : { tone: "good", text: done };
}

/** A complete page. */
export function Layout(
  { page, title, notice = page.notice, script, refreshSeconds, leavesTo, children }: {
    page: PageContext;
    title: string;
    /** Default: that of the page's context. */
    notice?: Notice | undefined;
    /** Loads the page again after this time. */
    refreshSeconds?: number | undefined;
    /** Leads on to another page, which may be another host's. */
    leavesTo?: string | undefined;
    /** An additional script, besides the one of all pages. */
    script?: string | undefined;
    children?: Child;
  },
) {
  const { session, path } = page;
  const links = session === undefined ? PUBLIC_LINKS : linksOf(session);
  const operatorLinks: readonly PageLink[] = session === undefined
    ? []
    : OPERATOR_LINKS.filter(([, , , action]) => can(session, action))
      .map(([href, name, letter]) => [href, name, letter]);
  const current = [...links, ...operatorLinks].find(([href]) => isCurrent(href, path));
  return (
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <meta name="robots" content="noindex" />
        {refreshSeconds !== undefined && (
          <meta http-equiv="refresh" content={String(refreshSeconds)} />
        )}
        {leavesTo !== undefined && <meta http-equiv="refresh" content={`0; url=${leavesTo}`} />}
        <title>{title} · Sluice</title>
        <link rel="icon" href="/console/assets/icon.svg" type="image/svg+xml" />
        {/* tables find their widths once: else columns move while a page is being read. (Hono drops `blocking`.) */}
        <link rel="expect" href="#end" {...{ BLOCKING: "render" }} />
        <link rel="stylesheet" href="/console/assets/style.css" />
        <script type="module" src="/console/assets/console.js" />
        {script === undefined ? null : <script type="module" src={`/console/assets/${script}`} />}
      </head>
      <body>
        <a class="skip" href="#main">Skip to content</a>
        <header>
          <a class="brand" href="/console/">Sluice</a>
          {/* beside what it opens, so that a wide screen shows that without a second copy */}
          <details class="menu">
            <summary>
              <span class="unseen">Menu:</span>
              {current?.[1] ?? title}
            </summary>
          </details>
          <nav aria-label="Main">
            <Links links={links} path={path} />
          </nav>
          {session === undefined ? null : (
            <div class="who">
              <a
                href="/console/account"
                aria-current={path === "/console/account" ? "page" : undefined}
              >
                {session.account.name || session.account.email}
              </a>
              <Form action="/console/sign-out" csrf={page.csrf}>
                <button type="submit" class="plain">Sign out</button>
              </Form>
            </div>
          )}
          {operatorLinks.length === 0 ? null : (
            <nav class="operator" aria-label="Operator">
              <Links links={operatorLinks} path={path} />
            </nav>
          )}
        </header>
        <main id="main" tabindex={-1}>
          <h1>{title}</h1>
          {notice === undefined ? null : <Toast {...notice} />}
          {children}
        </main>
        <footer id="end">
          <span data-zone>Times are in UTC.</span>
          <button type="button" class="plain" data-shortcuts hidden>Keyboard shortcuts</button>
        </footer>
      </body>
    </html>
  );
}

/** The result of a write. One that went well can be dismissed, also without scripts. */
export function Toast({ tone, text }: Notice) {
  return (
    <div class={`notice ${tone}`}>
      <p role="status">{text}</p>
      {tone === "bad" ? null : (
        <label class="dismiss">
          <input type="checkbox" class="unseen" aria-label="Dismiss this message" />
          <span aria-hidden="true">×</span>
        </label>
      )}
    </div>
  );
}

function Links({ links, path }: { links: readonly PageLink[]; path: string }) {
  return (
    <ul>
      {links.map(([href, name, letter]) => (
        <li>
          <a
            href={href}
            data-letter={letter}
            aria-current={isCurrent(href, path) ? "page" : undefined}
          >
            {name}
          </a>
        </li>
      ))}
    </ul>
  );
}

/** Pages that are not below the address of the one that leads to them. */
const BELOW: Readonly<Record<string, readonly string[]>> = {
  // forms that were rejected are shown at the addresses that they were sent to
  "/console/credits": [
    "/console/orders",
    "/console/statement",
    "/console/checkout",
    "/console/redeem",
  ],
  "/console/operator/payments": ["/console/operator/codes", "/console/operator/orders"],
};

function isCurrent(href: string, path: string): boolean {
  if (BELOW[href]?.some((other) => isCurrent(other, path))) return true;

  const isFirst = href === "/console/" || href === "/console/operator";
  return path === href || path === `${href}/` || (!isFirst && path.startsWith(`${href}/`));
}
