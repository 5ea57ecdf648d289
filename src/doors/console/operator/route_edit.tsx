import { AccountError, type Session } from "../../../people/accounts/mod.ts";
import { type Route, SIMULATOR } from "../../../settings/catalog/mod.ts";
import { OperationError } from "../../../people/operation_log/mod.ts";
import {
  type EntryPath,
  previewEntry,
  ROUTE_WRITE,
  writtenEntry,
} from "../../../operating/operations/mod.ts";
import { configuredUpstreams } from "../../../requests/upstreams/mod.ts";
import { type GuardedApp, may } from "../guard.ts";
import {
  type ConsoleParts,
  operate,
  page,
  pageOf,
  type PageRequest,
  seeOther,
} from "../request.tsx";
import { priceChanges, RouteEditPage, servedChanges } from "./route_edit_page.tsx";
import { type FormValues, routeSettingsOf, valuesOf } from "./route_form.ts";
import { previewPage } from "./settings_preview.tsx";

const PATH = "/console/operator/routes";

/** Changing a route in the settings file: a form, a preview with what would be written, and the write with a reload. */
export function routeEditRoutes(
  app: GuardedApp,
  parts: ConsoleParts,
  /** The page of all routes, with an error. */
  all: (c: PageRequest, session: Session, error: string) => Promise<Response>,
): void {
  const { config, catalog, operations } = parts;
  const upstreams = [...Object.keys(configuredUpstreams(config.settings)), SIMULATOR];

  const about = (
    asked: (c: PageRequest) => string | undefined,
    handler: (c: PageRequest, session: Session, route: Route) => Promise<Response>,
  ) =>
    may(ROUTE_WRITE.action, async (c, session) => {
      const id = asked(c) ?? "";
      const { routes, off } = catalog();
      const route = [...routes, ...off].find((one) => one.id === id);
      if (route !== undefined) {
        try {
          return await handler(c, session, route);
        } catch (error) {
          if (error instanceof AccountError) {
            return await form(c, {
              route,
              values: submitted(c),
              error: `${error.message}.`,
            });
          }
          if (!(error instanceof OperationError)) throw error; // the file cannot be read
          return await all(c, session, error.message);
        }
      }
      return await all(c, session, id === "" ? "Select a route." : "This route is not served.");
    });

  const form = async (
    c: PageRequest,
    { route, values, error }: {
      readonly route: Route;
      /** What was submitted; default: what the file has. */
      readonly values?: FormValues;
      readonly error?: string;
    },
  ) => {
    const written = await writtenEntry(parts, ["routes", route.id]) ?? {};
    return await page(
      c,
      <RouteEditPage
        page={pageOf(c, error)}
        route={route}
        written={written}
        values={values ?? valuesOf(written, route)}
        upstreams={upstreams}
        file={config.file}
      />,
    );
  };

  app.get(
    "/routes/edit",
    about((c) => c.req.query("route"), (c, _session, route) => form(c, { route })),
  );
  const submitted = (c: PageRequest): FormValues => new Map(c.var.form.entries);
  app.post(
    "/routes/edit",
    about(
      (c) => c.var.form.text("route"),
      (c, _session, route) => form(c, { route, values: submitted(c) }),
    ),
  );
  app.post(
    "/routes/preview",
    about((c) => c.var.form.text("route"), async (c, _session, route) => {
      const written = await writtenEntry(parts, ["routes", route.id]);
      const settings = routeSettingsOf(c.var.form, { route, written });
      const entry: EntryPath = ["routes", route.id];
      const preview = await previewEntry(operations, entry, settings);
      if (preview.kind === "invalid") {
        return await form(c, { route, values: submitted(c), error: preview.faults });
      }
      return await previewPage(c, parts, {
        entry,
        settings,
        preview,
        title: `Change ${route.id}`,
        forms: { save: `${PATH}/save`, edit: `${PATH}/edit` },
        back: { href: PATH, text: "All routes" },
        changes: [
          ...servedChanges(catalog(), { route, settings }),
          ...priceChanges(route.prices, settings.prices),
        ],
      });
    }),
  );
  app.post(
    "/routes/save",
    about((c) => c.var.form.text("route"), async (c, session, route) => {
      const written = await writtenEntry(parts, ["routes", route.id]);
      await operate(c, parts, session, [ROUTE_WRITE, {
        route: route.id,
        settings: routeSettingsOf(c.var.form, { route, written }),
        digest: c.var.form.text("digest"),
      }]);
      return seeOther(c, `${PATH}?done=route`);
    }),
  );
}
