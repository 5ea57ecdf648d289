import { can, type Session } from "../../accounts/mod.ts";
import { describeTargets, type Route } from "../../catalog/mod.ts";
import { STATUS_CODE } from "../../std/mod.ts";
import { Name, Table } from "../components.tsx";
import { number } from "../format.ts";
import { type GuardedApp, may } from "../guard.ts";
import { Layout, noticeOf, type PageContext } from "../layout.tsx";
import {
  type ConsoleParts,
  doneOf,
  type LastReload,
  page,
  pageOf,
  type PageRequest,
} from "../request.tsx";
import { routeEditRoutes } from "./route_edit.tsx";

const EDIT = "/console/operator/routes/edit";

/** What is served, by which upstreams and for how much, and how that is changed. */
export function routeTableRoutes(app: GuardedApp, parts: ConsoleParts): void {
  const { catalog, reloads } = parts;
  const all = (c: PageRequest, session: Session, error?: string) =>
    page(
      c,
      <RoutesPage
        page={pageOf(c)}
        routes={catalog().routes}
        mayWrite={can(session, "routes.write")}
        done={doneOf(c)}
        error={error}
        reload={reloads()}
      />,
      error === undefined ? STATUS_CODE.OK : STATUS_CODE.BadRequest,
    );
  app.get("/routes", may("routes.read", (c, session) => all(c, session)));
  routeEditRoutes(app, parts, all);
}

/** Routes and prices as they are in effect. */
function RoutesPage(
  { page, routes, mayWrite, done, error, reload }: {
    page: PageContext;
    routes: readonly Route[];
    mayWrite: boolean;
    done: string | undefined;
    error: string | undefined;
    reload: LastReload | undefined;
  },
) {
  const needs = reload?.needRestart ?? [];
  const rest = needs.length === 0 ? "" : ` A restart is needed to apply: ${needs.join(", ")}.`;
  return (
    <Layout
      page={page}
      title="Routes"
      notice={noticeOf({ error, done: done === undefined ? undefined : `${done}${rest}` })}
    >
      <p class="quiet">
        Prices are in credits per million tokens: input / cached input / output.
        {mayWrite ? " Choose a model to change it." : ""}
      </p>
      <Table<Route>
        caption="Routes as they are in effect"
        rows={routes}
        empty="No routes configured."
        columns={[
          {
            name: "model",
            cell: ({ id }) =>
              mayWrite
                ? <Name text={id} href={`${EDIT}?${new URLSearchParams({ route: id })}`} />
                : <Name text={id} code />,
          },
          {
            name: "targets",
            cell: ({ targets }) => describeTargets(targets),
          },
          { name: "kind", cell: ({ kind }) => kind },
          { name: "context", numeric: true, cell: ({ context }) => number(context) },
          { name: "max output", numeric: true, cell: ({ maxOutput }) => number(maxOutput) },
          { name: "minimum", numeric: true, cell: ({ minimum }) => number(minimum) },
          {
            name: "in / cached / out",
            role: "figure",
            numeric: true,
            cell: ({ prices }) =>
              [prices.input, prices.cached, prices.output].map(number).join(" / "),
          },
          { name: "images", cell: ({ images }) => images },
          { name: "reasoning", cell: ({ reasoning }) => reasoning },
          { name: "from", cell: ({ origin }) => origin },
        ]}
      />
    </Layout>
  );
}
