import { type Alias, type Catalog, type Route, SIMULATOR } from "../../settings/catalog/mod.ts";

/** 2025-07-01, the creation time that all models report. */
const CREATED = 1_751_328_000;

/** Describes a model, with the fields of both families of SDKs. */
export function modelInfo(id: string, route: Route, displayName = route.displayName) {
  return {
    id,
    object: "model",
    type: "model",
    created: CREATED,
    created_at: new Date(CREATED * 1_000).toISOString(),
    owned_by: "sluice",
    display_name: displayName,
    root: route.id,
    parent: null,
    permission: [{
      id: `modelperm-${id}`,
      object: "model_permission",
      created: CREATED,
      allow_create_engine: false,
      allow_sampling: route.kind === "generation",
      allow_logprobs: true,
      allow_search_indices: false,
      allow_view: true,
      allow_fine_tuning: false,
      organization: "*",
      group: null,
      is_blocking: false,
    }],
    max_input_tokens: route.maxInput,
    max_tokens: route.maxOutput,
    kind: route.kind,
    ...(route.dimensions !== undefined && { dimensions: route.dimensions }),
    ...(route.targets[0]?.upstream === SIMULATOR && { simulated: true }),
  };
}

/**
 * Lists all models in one page, with the envelopes of both families of SDKs.
 *
 * @param listsAliases Whether the client's dialect lists aliases. It has no embeddings then: its pickers would offer models
 *   that it cannot use.
 */
export function modelList(catalog: Catalog, { listsAliases }: { listsAliases: boolean }) {
  const isListed = ({ kind }: Route) => !listsAliases || kind === "generation";
  const data = [
    ...catalog.routes.filter(isListed).map((route) => modelInfo(route.id, route)),
    ...(listsAliases ? catalog.aliases.filter(({ route }) => isListed(route)).map(aliasInfo) : []),
  ];
  return {
    object: "list",
    data,
    has_more: false,
    first_id: data[0]?.id ?? null,
    last_id: data.at(-1)?.id ?? null,
  };
}

function aliasInfo({ name, route }: Alias) {
  return modelInfo(name, route, `${route.displayName} (${name})`);
}
