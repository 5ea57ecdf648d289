import type { Child } from "@hono/hono/jsx";
import type { Session } from "../accounts/mod.ts";
import { Form } from "./components.tsx";

/** Context of a page. */
export interface PageContext {
  /** `undefined` if the visitor is not signed in. */
  readonly session: Session | undefined;
  readonly path: string;
}

const LINKS: readonly [string, string][] = [
  ["/console/", "Home"],
  ["/console/keys", "Keys"],
  ["/console/usage", "Usage"],
  ["/console/requests", "Requests"],
  ["/console/credits", "Credits"],
  ["/console/playground", "Playground"],
  ["/console/models", "Models"],
  ["/docs", "API"],
];
const OPERATOR_LINKS: readonly [string, string][] = [
  ["/console/operator/accounts", "Accounts"],
  ["/console/operator/live", "Live"],
  ["/console/operator/upstreams", "Upstreams"],
  ["/console/operator/routes", "Routes"],
  ["/console/operator/invites", "Invites"],
  ["/console/operator/payments", "Payments"],
  ["/console/operator/audit", "Audit"],
  ["/console/operator/settings", "Settings"],
];
const PUBLIC_LINKS: readonly [string, string][] = [
  ["/console/models", "Models"],
  ["/docs", "API"],
  ["/console/sign-in", "Sign in"],
];

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
            <Links links={session === undefined ? PUBLIC_LINKS : LINKS} path={path} />
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
        {session?.account.role === "owner"
          ? (
            <nav class="operator" aria-label="Operator">
              <Links links={OPERATOR_LINKS} path={path} />
            </nav>
          )
          : null}
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

function Links({ links, path }: { links: readonly [string, string][]; path: string }) {
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
