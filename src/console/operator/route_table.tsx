import { describeTargets, type Route } from "../../catalog/mod.ts";
import { Name, Table } from "../components.tsx";
import { number } from "../format.ts";
import { Layout, type PageContext } from "../layout.tsx";
import { type ConsoleParts, page, pageOf } from "../request.tsx";
import { type GuardedApp, may } from "../guard.ts";

/** What is served, by which upstreams and for how much. */
export function routeTableRoutes(app: GuardedApp, { catalog }: ConsoleParts): void {
  app.get(
    "/routes",
    may("routes.read", (c) => page(c, <RoutesPage page={pageOf(c)} routes={catalog().routes} />)),
  );
}

/** Routes and prices as they are in effect. */
function RoutesPage({ page, routes }: { page: PageContext; routes: readonly Route[] }) {
  return (
    <Layout page={page} title="Routes">
      <Table<Route>
        caption="Routes as they are in effect"
        rows={routes}
        empty="No routes configured."
        columns={[
          { name: "model", cell: ({ id }) => <Name text={id} code /> },
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
        ]}
      />
    </Layout>
  );
}
