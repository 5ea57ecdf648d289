import type { Hono } from "@hono/hono";
import type { Session } from "../../accounts/mod.ts";
import { type Env, notFound, type PageRequest, seeOther } from "../request.tsx";

/** Where pages for operators are added. */
export type OperatorApp = Hono<Env>;

/** A page for operators; for everybody else it is not there. */
export function operatorOnly(
  handler: (c: PageRequest, session: Session) => Response | Promise<Response>,
): (c: PageRequest) => Response | Promise<Response> {
  return (c) => {
    const { session } = c.var;
    if (session === undefined) return seeOther(c, "/console/sign-in");
    return isOperator(session) ? handler(c, session) : notFound(c);
  };
}

/** Whether a session, if there is one, is an operator's. */
export function isOperator(session: Session | undefined): boolean {
  return session?.account.role === "owner";
}
