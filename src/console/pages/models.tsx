import type { Route } from "../../catalog/mod.ts";
import { Table } from "../components.tsx";
import { number } from "../format.ts";
import { Layout, type PageContext } from "../layout.tsx";

const IMAGES = { none: "no", inline: "in the request", remote: "also by address" } as const;
const REASONING = {
  none: "no",
  thinking: "optional",
  always: "always",
  effort: "always, by effort",
} as const;

/** The public table of prices and capabilities. */
export function ModelsPage({ page, routes }: { page: PageContext; routes: readonly Route[] }) {
  return (
    <Layout page={page} title="Models">
      <Table<Route>
        caption="Models with prices in credits per million tokens"
        rows={routes}
        empty="No model is served: the operator has to give routes a target."
        columns={[
          { name: "model", cell: ({ id }) => <code>{id}</code> },
          { name: "context", numeric: true, cell: ({ context }) => number(context) },
          { name: "generates", numeric: true, cell: ({ maxOutput }) => number(maxOutput) },
          { name: "images", cell: ({ images }) => IMAGES[images] },
          { name: "reasoning", cell: ({ reasoning }) => REASONING[reasoning] },
          { name: "at least", numeric: true, cell: ({ minimum }) => number(minimum) },
          { name: "input", numeric: true, cell: ({ prices }) => number(prices.input) },
          { name: "cached", numeric: true, cell: ({ prices }) => number(prices.cached) },
          { name: "output", numeric: true, cell: ({ prices }) => number(prices.output) },
        ]}
      />
      <p>
        Prices are credits per million tokens; a request costs at least what <em>at least</em>{" "}
        says, and whole credits. Every model answers both dialects; in Claude Code its name is{" "}
        <code>claude-</code> and the model.
      </p>
    </Layout>
  );
}
