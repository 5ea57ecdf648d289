import type { Child } from "@hono/hono/jsx";
import type { Route } from "../../../settings/catalog/mod.ts";
import { Badge, Field, Name, Names, Select, Table, Term } from "../components.tsx";
import { count, exactDollars, number } from "../format.ts";
import { Layout, type PageContext } from "../layout.tsx";
import {
  ABILITIES,
  type Ability,
  type ModelSearch,
  type NamedModel,
  ORDERS,
} from "../model_search.ts";

/** Public table of prices and capabilities, with a search. */
export function ModelsPage(
  { page, models, total, search, creditsPerUsd }: {
    page: PageContext;
    /** Those that were found. */
    models: readonly NamedModel[];
    /** Number of all models. */
    total: number;
    search: ModelSearch;
    /** Credits for one US dollar; undefined if the settings do not say. */
    creditsPerUsd: number | undefined;
  },
) {
  const isFiltered = search.text !== "" || search.abilities.length > 0;
  return (
    <Layout page={page} title="Models">
      <form
        method="get"
        action="/console/models"
        class="row"
        role="search"
        data-filters="models-count models"
      >
        <Field
          label="Search"
          name="q"
          type="search"
          value={search.text}
          placeholder="Name or alias"
        />
        <Select label="Sort by" name="sort" options={Object.entries(ORDERS)} value={search.order} />
        <fieldset class="choices">
          <legend>Only models with</legend>
          {(Object.keys(ABILITIES) as Ability[]).map((ability) => (
            <label>
              <input
                type="checkbox"
                name="can"
                value={ability}
                checked={search.abilities.includes(ability)}
              />
              {ability}
            </label>
          ))}
        </fieldset>
        <button type="submit" class="plain">Search</button>
      </form>
      <p class="quiet" role="status" id="models-count">
        {isFiltered
          ? `${number(models.length)} of ${count(total, "model")}`
          : count(total, "model")}
        {". Prices are credits per million tokens"}
        {creditsPerUsd === undefined ? "." : ", with US dollars below."}
      </p>
      <div id="models">
        <Table<NamedModel>
          caption="Models with prices in credits per million tokens"
          rows={models}
          empty={total === 0
            ? "No models are available: the operator must add targets to at least one route."
            : (
              <>
                No model matches. <a href="/console/models">Show all models</a>
              </>
            )}
          columns={[
            { name: "model", cell: (model) => <ModelNames {...model} /> },
            { name: "can", bare: true, cell: ({ route }) => <Abilities route={route} /> },
            { name: "context", numeric: true, cell: ({ route }) => number(route.context) },
            {
              name: "max output",
              numeric: true,
              cell: ({ route }) => route.kind === "embeddings" ? "–" : number(route.maxOutput),
            },
            ...(["input", "cached", "output"] as const).map((name) => ({
              name,
              numeric: true,
              ...(name === "cached" ? {} : { role: "figure" as const }),
              cell: ({ route: { kind, prices } }: NamedModel) =>
                kind === "embeddings" && name !== "input"
                  ? "–"
                  : <Price credits={prices[name]} creditsPerUsd={creditsPerUsd} />,
            })),
            { name: "minimum", numeric: true, cell: ({ route }) => number(route.minimum) },
          ]}
        />
      </div>
      <h2>How to read this</h2>
      <p>
        <strong>Prices</strong> are in <Term word="credit">credits</Term>{" "}
        per million tokens{creditsPerUsd === undefined
          ? ""
          : `, with US dollars below them at ${count(creditsPerUsd, "credit")} per dollar`}. Input
        that an upstream takes from its prompt cache is charged as{" "}
        <em>cached</em>. A request is charged in whole credits, rounded up, and costs at least the
        {" "}
        <em>minimum</em>.
      </p>
      <p>
        <strong>Limits</strong> are in tokens. The context is input and output together.
      </p>
      <p>
        <strong>Abilities</strong>{" "}
        are what is known of a model. Tools are passed on to every model for replies; those with
        {" "}
        <em>tools</em> are known to call them. Models for replies are available in all{" "}
        <Term word="dialect">dialects</Term>, models for embeddings at{" "}
        <code>POST /v1/embeddings</code>.
      </p>
      <p>
        <strong>Other names</strong>{" "}
        of a model mean the same: same limits, same price. One that ends with <code>*</code>{" "}
        stands for all names that begin so. Models also have a name that begins with{" "}
        <code>claude-</code>, unless their own does, since Claude Code lists no others.
      </p>
    </Layout>
  );
}

function ModelNames({ route: { id, displayName }, aliases }: NamedModel) {
  return (
    <>
      <Name text={id} code />
      {displayName === id ? null : <small class="below">{displayName}</small>}
      {aliases.length === 0 ? null : (
        <small class="below">
          also <Names all={aliases} />
        </small>
      )}
    </>
  );
}

function Price({ credits, creditsPerUsd }: { credits: number; creditsPerUsd: number | undefined }) {
  return (
    <>
      {number(credits)}
      {creditsPerUsd !== undefined && (
        <small class="below">{exactDollars(credits, creditsPerUsd)}</small>
      )}
    </>
  );
}

function Abilities({ route }: { route: Route }) {
  return (
    <span class="badges">
      {wordsOf(route).map((words): Child => <Badge tone="calm">{words}</Badge>)}
    </span>
  );
}

function wordsOf(route: Route): readonly string[] {
  const { kind, images, reasoning, efforts, dimensions } = route;
  if (kind === "embeddings") {
    return [
      "embeddings",
      ...(dimensions === undefined ? [] : [`${number(dimensions)} dimensions`]),
    ];
  }
  return [
    ...(ABILITIES.tools(route) ? ["tools"] : []),
    ...(images === "none" ? [] : [images === "remote" ? "images, also by URL" : "images"]),
    ...(reasoning === "none" ? [] : [
      reasoning === "thinking"
        ? "reasoning"
        : reasoning === "always"
        ? "always reasons"
        : `reasoning: ${efforts.join(", ")}`,
    ]),
    ...(ABILITIES.caching(route) ? ["caching"] : []),
  ];
}
