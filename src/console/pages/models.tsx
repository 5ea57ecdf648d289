import type { Route } from "../../catalog/mod.ts";
import { Name, Table } from "../components.tsx";
import { number } from "../format.ts";
import { Layout, type PageContext } from "../layout.tsx";

const KINDS = { generation: "replies", embeddings: "embeddings" } as const;
const IMAGES = { none: "no", inline: "inline", remote: "inline or by URL" } as const;
const REASONING = {
  none: "no",
  thinking: "optional",
  always: "always",
  effort: "always, with effort levels",
} as const;

/** Public table of prices and capabilities. */
export function ModelsPage({ page, routes }: { page: PageContext; routes: readonly Route[] }) {
  return (
    <Layout page={page} title="Models">
      <Table<Route>
        caption="Models with prices in credits per million tokens"
        rows={routes}
        empty="No models are available: the operator must add targets to at least one route."
        columns={[
          { name: "model", cell: ({ id }) => <Name text={id} code /> },
          { name: "for", bare: true, cell: ({ kind }) => KINDS[kind] },
          { name: "context", numeric: true, cell: ({ context }) => number(context) },
          {
            name: "max output",
            numeric: true,
            cell: ({ kind, maxOutput }) => kind === "embeddings" ? "–" : number(maxOutput),
          },
          {
            name: "images",
            cell: ({ kind, images }) => kind === "embeddings" ? "–" : IMAGES[images],
          },
          {
            name: "reasoning",
            cell: ({ kind, reasoning }) => kind === "embeddings" ? "–" : REASONING[reasoning],
          },
          { name: "minimum", numeric: true, cell: ({ minimum }) => number(minimum) },
          {
            name: "input",
            role: "figure",
            numeric: true,
            cell: ({ prices }) => number(prices.input),
          },
          { name: "cached", numeric: true, cell: ({ prices }) => number(prices.cached) },
          {
            name: "output",
            role: "figure",
            numeric: true,
            cell: ({ prices }) => number(prices.output),
          },
        ]}
      />
      <p>
        Prices are in credits per million tokens. A request is charged in whole credits, rounded up,
        and costs at least the{" "}
        <em>minimum</em>. Every model for replies is available in all dialects; Claude Code shows
        {" "}
        it with the prefix <code>claude-</code>. Models for embeddings are available at{" "}
        <code>POST /v1/embeddings</code>.
      </p>
    </Layout>
  );
}
