import type { Hono } from "@hono/hono";
import { type Action, can, type Session } from "../../people/accounts/mod.ts";
import type { WriteOperation } from "../../operating/operations/mod.ts";
import { type Env, notFound, type PageRequest } from "./request.tsx";
import { toSignIn } from "./wanted_page.ts";

/** Where guarded pages are added. */
export type GuardedApp = Hono<Env>;

/** Handles requests for a page or form of which an action of the table of permissions says who may. */
export interface GuardedHandler {
  (c: PageRequest): Response | Promise<Response>;
  readonly action: Action;
  /** Of a form: the write that it posts, which says who may, besides the action of the page that it is on. */
  readonly operation?: WriteOperation | undefined;
}

/** A guarded page or form. */
export interface GuardedRoute {
  readonly method: string;
  readonly path: string;
  /** `undefined` for pages that everybody may see. */
  readonly action: Action | undefined;
  readonly operation: WriteOperation | undefined;
}

/**
 * Guards a page or form. For those who may not do the action, it does not exist.
 *
 * @param action The action. For the team in the path's `:team`, roles in that team count.
 * @param handler Called if the session may do the action.
 * @param operation Of a form: the write that it posts.
 */
export function may(
  action: Action,
  handler: (c: PageRequest, session: Session) => Response | Promise<Response>,
  operation?: WriteOperation,
): GuardedHandler {
  return Object.assign((c: PageRequest) => {
    const { session } = c.var;
    if (session === undefined) return toSignIn(c);
    const about = { teamId: c.req.param("team"), accountId: session.account.id };
    return can(session, action, about) ? handler(c, session) : notFound(c);
  }, { action, operation });
}

/** The pages and forms of an app, with the actions that guard them. */
export function guardedRoutes(app: GuardedApp): GuardedRoute[] {
  return app.routes.filter(({ method }) => method !== "ALL").map(({ method, path, handler }) => {
    // the router does not know what `may` adds to a handler
    const { action, operation } = handler as Partial<GuardedHandler>;
    return { method, path, action, operation };
  });
}
