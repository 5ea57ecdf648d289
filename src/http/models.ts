import { type Alias, type Catalog, type Route, SIMULATOR } from "../catalog/mod.ts";

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
      allow_sampling: true,
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
    ...(route.targets[0]?.upstream === SIMULATOR && { simulated: true }),
  };
}

/** Lists all models in one page, with the envelopes of both families of SDKs. */
export function modelList(catalog: Catalog, { withAliases }: { withAliases: boolean }) {
  const data = [
    ...catalog.routes.map((route) => modelInfo(route.id, route)),
    ...(withAliases ? catalog.aliases.map(aliasInfo) : []),
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
