import { Hono } from "@hono/hono";
import type { ConsoleParts } from "../request.tsx";
import { accountRoutes } from "./account_routes.tsx";
import { accountsRoutes } from "./accounts.tsx";
import { alertsRoutes } from "./alerts.tsx";
import { auditRoutes } from "./audit.tsx";
import { codesRoutes } from "./codes.tsx";
import { invitesRoutes } from "./invites.tsx";
import { liveRoutes } from "./live.tsx";
import type { GuardedApp } from "../guard.ts";
import { logRoutes } from "./log.tsx";
import { orderRoutes } from "./order.tsx";
import { overviewRoutes } from "./overview.tsx";
import { paymentsRoutes } from "./payments.tsx";
import { routeTableRoutes } from "./route_table.tsx";
import { settingsRoutes } from "./settings.tsx";
import { signInRoutes } from "./sign_in.tsx";
import { upstreamsRoutes } from "./upstreams.tsx";

/** Pages for operators; for everybody else they are not there. */
export function operatorRoutes(parts: ConsoleParts): GuardedApp {
  const app: GuardedApp = new Hono();
  overviewRoutes(app, parts);
  accountsRoutes(app, parts);
  accountRoutes(app, parts);
  alertsRoutes(app, parts);
  liveRoutes(app, parts);
  upstreamsRoutes(app, parts);
  routeTableRoutes(app, parts);
  settingsRoutes(app, parts);
  signInRoutes(app, parts);
  invitesRoutes(app, parts);
  paymentsRoutes(app, parts);
  orderRoutes(app, parts);
  codesRoutes(app, parts);
  auditRoutes(app, parts);
  logRoutes(app, parts);
  return app;
}
