import { notices } from "../../../operating/alerts/mod.ts";
import { NoticesPage } from "../pages/notices.tsx";
import { ALERT_READ, isoOf } from "../../../operating/operations/mod.ts";
import { type ConsoleParts, operate, page, pageOf, seeOther } from "../request.tsx";
import { type GuardedApp, may } from "../guard.ts";

const MAX_ROWS = 200;
const PATH = "/console/operator/alerts";

/** Alerts of the whole gateway, and their deliveries. */
export function alertsRoutes(app: GuardedApp, parts: ConsoleParts): void {
  const { database, now } = parts;
  app.get(
    "/alerts",
    may("alerts.read", async (c) =>
      await page(
        c,
        <NoticesPage
          page={pageOf(c)}
          title="Alerts"
          action={PATH}
          notices={await notices(database, { limit: MAX_ROWS })}
          nowMs={now()}
          isRead={({ readAtMs }) => readAtMs !== null}
          shows="deliveries"
        />,
      )),
  );
  app.post(
    "/alerts",
    may("alerts.read", async (c, session) => {
      const upToMs = c.var.form.count("up_to");
      if (upToMs !== undefined) {
        await operate(c, parts, session, [ALERT_READ, { up_to: isoOf(upToMs) }]);
      }
      return seeOther(c, PATH);
    }, ALERT_READ),
  );
}
