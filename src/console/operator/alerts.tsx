import { markRead, notices } from "../../alerts/mod.ts";
import { NoticesPage } from "../pages/notices.tsx";
import { type ConsoleParts, page, pageOf, seeOther } from "../request.tsx";
import { type GuardedApp, may } from "../guard.ts";

const MAX_ROWS = 200;
const PATH = "/console/operator/alerts";

/** Alerts of the whole gateway, and their deliveries. */
export function alertsRoutes(app: GuardedApp, { database, now }: ConsoleParts): void {
  app.get(
    "/alerts",
    may("alerts.read", async (c, { csrfToken }) =>
      await page(
        c,
        <NoticesPage
          page={pageOf(c)}
          title="Alerts"
          action={PATH}
          csrf={csrfToken}
          notices={await notices(database, { limit: MAX_ROWS })}
          nowMs={now()}
          isRead={({ readAtMs }) => readAtMs !== null}
          shows="deliveries"
        />,
      )),
  );
  app.post(
    "/alerts",
    may("alerts.read", async (c) => {
      const upToMs = c.var.form.count("up_to");
      if (upToMs !== undefined) await markRead(database, { upToMs, nowMs: now() });
      return seeOther(c, PATH);
    }),
  );
}
