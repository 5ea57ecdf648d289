import type { Child } from "@hono/hono/jsx";
import { type Action, can, type Session } from "../accounts/mod.ts";
import { Form } from "./components.tsx";

/** Context of a page. */
export interface PageContext {
  /** `undefined` if the visitor is not signed in. */
  readonly session: Session | undefined;
  readonly path: string;
}

const TEAMS: [string, string] = ["/console/teams", "Teams"];
const LINKS: readonly [string, string][] = [
  ["/console/", "Home"],
  ["/console/keys", "Keys"],
  ["/console/usage", "Usage"],
  ["/console/requests", "Requests"],
  ["/console/credits", "Credits"],
  ["/console/notices", "Notices"],
  ["/console/playground", "Playground"],
  ["/console/models", "Models"],
  ["/docs", "API"],
];
const OPERATOR_LINKS: readonly [string, string, Action][] = [
  ["/console/operator/accounts", "Accounts", "account.read"],
  ["/console/operator/alerts", "Alerts", "alerts.read"],
  ["/console/operator/live", "Live", "live.read"],
  ["/console/operator/upstreams", "Upstreams", "upstreams.read"],
  ["/console/operator/routes", "Routes", "routes.read"],
  ["/console/operator/invites", "Invites", "invites.read"],
  ["/console/operator/payments", "Payments", "payments.read"],
  ["/console/operator/audit", "Audit", "audit.run"],
  ["/console/operator/log", "Log", "log.read"],
  ["/console/operator/settings", "Settings", "settings.read"],
];
const PUBLIC_LINKS: readonly [string, string][] = [
  ["/console/models", "Models"],
  ["/docs", "API"],
  ["/console/sign-in", "Sign in"],
];

/** Links for an account; those who are in no team and see none need no link to teams. */
function linksOf(session: Session): readonly (readonly [string, string])[] {
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
  if (error !== undefined) return { tone: "bad", text: error };
  return done === undefined ? undefined : { tone: "good", text: done };
}

/** A complete page. */
export function Layout(
  { page, title, notice, script, refreshSeconds, children }: {
    page: PageContext;
    title: string;
    notice?: Notice | undefined;
    /** Loads the page again after this time. */
    refreshSeconds?: number;
    /** An additional script, besides the one of all pages. */
    script?: string;
    children?: Child;
  },
) {
  const { session, path } = page;
  const operatorLinks = session === undefined
    ? []
    : OPERATOR_LINKS.filter(([, , action]) => can(session, action));
  return (
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <meta name="robots" content="noindex" />
        {refreshSeconds === undefined
          ? null
          : <meta http-equiv="refresh" content={String(refreshSeconds)} />}
        <title>{title} · Sluice</title>
        <link rel="icon" href="/console/assets/icon.svg" type="image/svg+xml" />
        <link rel="stylesheet" href="/console/assets/style.css" />
        <script type="module" src="/console/assets/console.js" />
        {script === undefined ? null : <script type="module" src={`/console/assets/${script}`} />}
      </head>
      <body>
        <a class="skip" href="#main">Skip to content</a>
        <header>
          <a class="brand" href="/console/">Sluice</a>
          <nav aria-label="Main">
            <Links links={session === undefined ? PUBLIC_LINKS : linksOf(session)} path={path} />
          </nav>
          {session === undefined ? null : (
            <div class="who">
              <a
                href="/console/account"
                aria-current={path === "/console/account" ? "page" : undefined}
              >
                {session.account.name || session.account.email}
              </a>
              <Form action="/console/sign-out" csrf={session.csrfToken}>
                <button type="submit" class="plain">Sign out</button>
              </Form>
            </div>
          )}
        </header>
        {operatorLinks.length === 0 ? null : (
          <nav class="operator" aria-label="Operator">
            <Links links={operatorLinks} path={path} />
          </nav>
        )}
        <main id="main">
          <h1>{title}</h1>
          {notice === undefined
            ? null
            : <p class={`notice ${notice.tone}`} role="status">{notice.text}</p>}
          {children}
        </main>
      </body>
    </html>
  );
}

function Links(
  { links, path }: { links: readonly (readonly [string, string, ...unknown[]])[]; path: string },
) {
  return (
    <ul>
      {links.map(([href, name]) => {
        const current = href === "/console/"
          ? path === href
          : path === href || path.startsWith(`${href}/`);
        return (
          <li>
            <a href={href} aria-current={current ? "page" : undefined}>{name}</a>
          </li>
        );
      })}
    </ul>
  );
}
