import { AccountError, type Session } from "../../accounts/mod.ts";
import { type Route, SIMULATOR } from "../../catalog/mod.ts";
import { OperationError } from "../../operation_log/mod.ts";
import { type Json, previewRoute, ROUTE_WRITE, writtenRoute } from "../../operations/mod.ts";
import { STATUS_CODE } from "../../std/mod.ts";
import { configuredUpstreams } from "../../upstreams/mod.ts";
import { Copyable } from "../components.tsx";
import { type GuardedApp, may } from "../guard.ts";
import { Layout } from "../layout.tsx";
import {
  type ConsoleParts,
  operate,
  page,
  pageOf,
  type PageRequest,
  seeOther,
} from "../request.tsx";
import {
  priceChanges,
  RouteEditPage,
  RoutePreviewPage,
  servedChanges,
} from "./route_edit_page.tsx";
import { type FormValues, routeSettingsOf, valuesOf } from "./route_form.ts";
import { settingsDiff } from "./settings_diff.ts";

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
    may("routes.write", async (c, session) => {
      const id = asked(c) ?? "";
      const { routes, off } = catalog();
      const route = [...routes, ...off].find((one) => one.id === id);
      if (route !== undefined) {
        try {
          return await handler(c, session, route);
        } catch (error) {
          if (!(error instanceof OperationError)) throw error; // the file cannot be read
          return await all(c, session, error.message);
        }
      }
      return await all(c, session, id === "" ? "Select a route." : "This route is not served.");
    });

  const form = async (
    c: PageRequest,
    session: Session,
    { route, values, error }: {
      readonly route: Route;
      /** What was submitted; default: what the file has. */
      readonly values?: FormValues;
      readonly error?: string;
    },
  ) => {
    const written = await writtenRoute(parts, route.id) ?? {};
    return await page(
      c,
      <RouteEditPage
        page={pageOf(c)}
        csrf={session.csrfToken}
        route={route}
        written={written}
        values={values ?? valuesOf(written, route)}
        upstreams={upstreams}
        file={config.file}
        error={error}
      />,
      error === undefined ? STATUS_CODE.OK : STATUS_CODE.BadRequest,
    );
  };

  app.get(
    "/routes/edit",
    about((c) => c.req.query("route"), (c, session, route) => form(c, session, { route })),
  );
  const submitted = (c: PageRequest): FormValues => new Map(c.var.form.entries);
  app.post(
    "/routes/edit",
    about(
      (c) => c.var.form.text("route"),
      (c, session, route) => form(c, session, { route, values: submitted(c) }),
    ),
  );
  app.post(
    "/routes/preview",
    about((c) => c.var.form.text("route"), async (c, session, route) => {
      const written = await writtenRoute(parts, route.id);
      let settings: Json;
      try {
        settings = routeSettingsOf(c.var.form, { route, written });
      } catch (error) {
        if (!(error instanceof AccountError)) throw error;
        return await form(c, session, {
          route,
          values: submitted(c),
          error: `${error.message}.`,
        });
      }
      const preview = await previewRoute(operations, route.id, settings);
      switch (preview.kind) {
        case "invalid":
          return await form(c, session, {
            route,
            values: submitted(c),
            error: preview.faults,
          });
        case "read-only":
          return await page(
            c,
            <Layout page={pageOf(c)} title={`Change ${route.id}`}>
              <p>
                The settings cannot be written here: {preview.why}. Put this into{" "}
                <code>{preview.path}</code>, into its section <code>routes</code>{" "}
                if it has one, and run <code>sluice reload</code>.
              </p>
              <Copyable
                text={JSON.stringify({ routes: { [route.id]: settings } }, null, 2)}
                label="the settings"
              />
              <p>
                <a href={PATH}>All routes</a>
              </p>
            </Layout>,
          );
      }
      const { path, before, after, digest } = preview;
      return await page(
        c,
        <RoutePreviewPage
          page={pageOf(c)}
          csrf={session.csrfToken}
          route={route.id}
          path={path}
          lines={before === after ? [] : settingsDiff(before, after, ["routes", route.id])}
          fields={c.var.form.entries.filter(([name]) => name !== "csrf" && name !== "digest")}
          digest={digest}
          warning={digest === config.digest
            ? undefined
            : "The file has changes already that the gateway does not use yet: they take effect, too."}
          changes={[
            ...servedChanges(catalog(), { route, settings }),
            ...priceChanges(route.prices, settings.prices as Json | undefined),
          ]}
        />,
      );
    }),
  );
  app.post(
    "/routes/save",
    about((c) => c.var.form.text("route"), async (c, session, route) => {
      try {
        const written = await writtenRoute(parts, route.id);
        await operate(c, parts, session, [ROUTE_WRITE, {
          route: route.id,
          settings: routeSettingsOf(c.var.form, { route, written }),
          digest: c.var.form.text("digest"),
        }]);
      } catch (error) {
        if (!(error instanceof AccountError)) throw error;
        return await form(c, session, {
          route,
          values: submitted(c),
          error: `${error.message}.`,
        });
      }
      return seeOther(c, `${PATH}?done=route`);
    }),
  );
}
