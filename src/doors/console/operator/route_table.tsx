import type { Session } from "../../../people/accounts/mod.ts";
import { mayOperate, ROUTE_WRITE } from "../../../operating/operations/mod.ts";
import { describeTargets, type Route } from "../../../settings/catalog/mod.ts";
import { Name, Table } from "../components.tsx";
import { number } from "../format.ts";
import { type GuardedApp, may } from "../guard.ts";
import { Layout } from "../layout.tsx";
import { type ConsoleParts, page, pageOf, type PageRequest } from "../request.tsx";
import { ReloadNotice } from "./reload_notice.tsx";
import { routeEditRoutes } from "./route_edit.tsx";

const EDIT = "/console/operator/routes/edit";

/** What is served, by which upstreams and for how much, and how that is changed. */
export function routeTableRoutes(app: GuardedApp, parts: ConsoleParts): void {
  const all = (c: PageRequest, session: Session, error?: string) =>
    routesPage(c, parts, session, error);
  app.get("/routes", may("routes.read", (c, session) => all(c, session)));
  routeEditRoutes(app, parts, all);
}

/** Routes and prices as they are in effect. */
async function routesPage(
  c: PageRequest,
  { catalog, reloads }: ConsoleParts,
  session: Session,
  error: string | undefined,
): Promise<Response> {
  const { routes, off } = catalog();
  const mayWrite = mayOperate(session, ROUTE_WRITE);
  const model = {
    name: "model",
    cell: ({ id, kind }: Route) => (
      <>
        {mayWrite
          ? <Name text={id} href={`${EDIT}?${new URLSearchParams({ route: id })}`} />
          : <Name text={id} />}
        {kind === "generation" ? null : <span class="below quiet">{kind}</span>}
      </>
    ),
  };
  const targets = {
    name: "targets",
    cell: ({ targets }: Route) => describeTargets(targets),
  };
  return await page(
    c,
    <Layout page={pageOf(c, error)} title="Routes">
      <ReloadNotice reload={reloads()} />
      <p class="quiet">
        Prices are in credits per million tokens: input / cached input / output.
        {mayWrite ? " Choose a model to change it." : ""}
      </p>
      {off.length === 0 ? null : (
        <>
          <h2>Switched off</h2>
          <Table<Route>
            caption="Routes that are switched off"
            rows={off}
            empty=""
            columns={[model, targets]}
          />
          <h2>Served</h2>
        </>
      )}
      <Table<Route>
        caption="Routes as they are in effect"
        rows={routes}
        empty={off.length === 0 ? "No routes configured." : "All routes are switched off."}
        columns={[
          model,
          targets,
          { name: "context", numeric: true, cell: ({ context }) => number(context) },
          {
            name: "max output",
            numeric: true,
            cell: ({ kind, maxOutput }) => kind === "generation" ? number(maxOutput) : "–",
          },
          { name: "minimum", numeric: true, cell: ({ minimum }) => number(minimum) },
          {
            name: "in / cached / out",
            role: "figure",
            cell: ({ kind, prices }) =>
              kind === "generation"
                ? [prices.input, prices.cached, prices.output].map(number).join(" / ")
                : number(prices.input),
          },
          { name: "images", cell: ({ images }) => wordOf(images) },
          { name: "reasoning", cell: ({ reasoning }) => wordOf(reasoning) },
          { name: "from", cell: ({ origin }) => origin },
        ]}
      />
    </Layout>,
  );
}

/** A capability; a dash for one that a model does not have. */
function wordOf(capability: string): string {
  return capability === "none" ? "–" : capability;
}
