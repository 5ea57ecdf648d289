import type { Catalog, Route } from "../../../settings/catalog/mod.ts";
import type { Json } from "../../../operating/operations/mod.ts";
import { Field, Form, Select } from "../components.tsx";
import { number } from "../format.ts";
import { Layout, type PageContext } from "../layout.tsx";
import { CHOICES, ENABLED, firstPricesOf, type FormValues, NUMBERS, PRICES } from "./route_form.ts";

const PATH = "/console/operator/routes";
/** Empty rows for further targets. */
const MORE_TARGETS = 2;

/** The form for one route. */
export function RouteEditPage(
  { page, route, written, values, upstreams, file }: {
    page: PageContext;
    route: Route;
    /** The route as the file has it; what it does not say comes from the defaults. */
    written: Json;
    values: FormValues;
    upstreams: readonly string[];
    /** Path of the settings file; undefined if there is none. */
    file: string | undefined;
  },
) {
  const value = (name: string) => values.get(name) ?? "";
  // of what the file sets, the default is not known here
  const shown = (set: unknown, inUse: number) => set === undefined ? number(inUse) : "default";
  const filled = targetRows(values);
  const isEmbeddings = route.kind === "embeddings";
  const numbers = NUMBERS.filter(([name]) => !(isEmbeddings && name === "maxOutput"));
  return (
    <Layout page={page} title={`Edit ${route.id}`}>
      <p>
        <a href={PATH}>All routes</a>. You see the changes of the settings file before anything is
        written. Leave a field empty for the default, which is shown in it.
      </p>
      {file === undefined && (
        <p class="quiet">
          No settings file is in use: the next page shows what to put into one.
        </p>
      )}
      <Form action={`${PATH}/preview`} csrf={page.csrf} class="route-form">
        <input type="hidden" name="route" value={route.id} />
        <div class="grid">
          <fieldset class="card">
            <legend>Prices</legend>
            <p class="quiet">Credits per million tokens.</p>
            {PRICES.filter(([name]) => !isEmbeddings || name === "input").map(([name, label]) => (
              <Field
                label={label}
                name={`price-${name}`}
                min={0}
                value={value(`price-${name}`)}
                placeholder={shown(written.prices, route.prices[name])}
              />
            ))}
          </fieldset>
          <fieldset class="card">
            <legend>Limits</legend>
            {numbers.map(([name, label, unit]) => (
              <Field
                label={`${label} (${unit})`}
                name={name}
                min={0}
                value={value(name)}
                placeholder={shown(written[name], route[name])}
              />
            ))}
          </fieldset>
          <fieldset class="card">
            <legend>Name and capabilities</legend>
            <Select
              label="Served"
              name={ENABLED.name}
              options={[["", "yes"], [ENABLED.off, "no, switched off"]]}
              value={value(ENABLED.name)}
            />
            <Field
              label="Display name"
              name="displayName"
              value={value("displayName")}
              placeholder={written.displayName === undefined ? route.displayName : "default"}
              maxlength={200}
            />
            {isEmbeddings ? null : CHOICES.map(([name, label, choices]) => (
              <Select
                label={label}
                name={name}
                options={[
                  ["", written[name] === undefined ? `default (${route[name]})` : "default"],
                  ...choices,
                ]}
                value={value(name)}
              />
            ))}
          </fieldset>
        </div>
        <fieldset class="card">
          <legend>Targets</legend>
          <p class="quiet">
            Without weights, targets are tried in the order of their places. Targets with a weight
            share the conversations in proportion; 0 or none is only for failover. An empty model
            removes a target.
          </p>
          {Array.from(
            { length: filled + MORE_TARGETS },
            (_, at) => (
              <TargetRow at={at} value={value} isNew={at >= filled} upstreams={upstreams} />
            ),
          )}
        </fieldset>
        <button type="submit">Preview the changes</button>
      </Form>
    </Layout>
  );
}

/** Rows of targets up to the last one with something in it. */
function targetRows(values: FormValues): number {
  let filled = 0;
  for (let at = 0; values.has(`model-${at}`); at++) {
    if (values.get(`model-${at}`) !== "" || values.get(`upstream-${at}`) !== "") filled = at + 1;
  }
  return filled;
}

function TargetRow(
  { at, value, isNew, upstreams }: {
    at: number;
    value: (name: string) => string;
    isNew: boolean;
    upstreams: readonly string[];
  },
) {
  const chosen = value(`upstream-${at}`);
  const all = chosen === "" || upstreams.includes(chosen) ? upstreams : [chosen, ...upstreams];
  return (
    <div class="row target" role="group" aria-label={`Target ${isNew ? "new" : at + 1}`}>
      <Field
        label="Place"
        name={`place-${at}`}
        min={1}
        value={value(`place-${at}`) || String(at + 1)}
      />
      <Select
        label="Upstream"
        name={`upstream-${at}`}
        options={[...(isNew ? [["", "add a target"] as const] : []), ...all]}
        value={chosen}
      />
      <Field label="Model" name={`model-${at}`} value={value(`model-${at}`)} maxlength={200} />
      <Field
        label="Weight"
        name={`weight-${at}`}
        value={value(`weight-${at}`)}
        placeholder="none"
        maxlength={14}
      />
    </div>
  );
}

/** Says what becomes of requests if a route is switched on or off. */
export function servedChanges(
  { off, aliases, patterns }: Pick<Catalog, "off" | "aliases" | "patterns">,
  { route, settings }: { readonly route: Route; readonly settings: Json },
): string[] {
  const wasOff = off.some(({ id }) => id === route.id);
  const isOff = settings.enabled === false;
  if (wasOff === isOff) return [];
  if (wasOff) return [`Requests for ${route.id} are accepted again.`];
  const names = [...aliases, ...patterns].filter((one) => one.route.id === route.id)
    .map(({ name }) => name);
  const others = names.length === 0
    ? ""
    : `, as are those for its other names: ${names.join(", ")}`;
  return [`New requests for ${route.id} are rejected as for an unknown model (404)${others}.`];
}

/** Says which prices change. */
export function priceChanges(before: Route["prices"], after: unknown): string[] {
  const first = firstPricesOf(after);
  return PRICES.flatMap(([name, label]) => {
    const next = first[name];
    return typeof next === "number" && next !== before[name]
      ? [`${label}: ${number(before[name])} → ${number(next)} credits per million tokens`]
      : [];
  });
}
