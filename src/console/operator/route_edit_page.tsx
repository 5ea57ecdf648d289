import type { Child } from "@hono/hono/jsx";
import type { Route } from "../../catalog/mod.ts";
import type { Json } from "../../operations/mod.ts";
import { Field, Form, Name } from "../components.tsx";
import { number } from "../format.ts";
import { Layout, noticeOf, type PageContext } from "../layout.tsx";
import { CHOICES, NUMBERS, PRICES, type TargetFields } from "./route_form.ts";
import type { DiffLine } from "./settings_diff.ts";

const PATH = "/console/operator/routes";
/** Empty rows for further targets. */
const MORE_TARGETS = 2;

/** The form for one route. */
export function RouteEditPage(
  { page, csrf, route, written, targets, upstreams, file, error }: {
    page: PageContext;
    csrf: string;
    route: Route;
    /** The route as the file has it; what it does not say comes from the defaults. */
    written: Json;
    targets: readonly TargetFields[];
    upstreams: readonly string[];
    /** Path of the settings file; undefined if there is none. */
    file: string | undefined;
    error?: string | undefined;
  },
) {
  const text = (value: unknown) => value === undefined ? "" : String(value);
  const prices = (written.prices ?? {}) as Json;
  const isEmbeddings = route.kind === "embeddings";
  const numbers = NUMBERS.filter(([name]) => !(isEmbeddings && name === "maxOutput"));
  return (
    <Layout page={page} title={`Edit ${route.id}`} notice={noticeOf({ error })}>
      <p>
        <a href={PATH}>All routes</a>. You see the changes of the settings file before anything is
        written. Leave a field empty for the default, which is shown in it.
      </p>
      {file === undefined
        ? (
          <p class="quiet">
            No settings file is in use: the next page shows what to put into one.
          </p>
        )
        : null}
      <Form action={`${PATH}/preview`} csrf={csrf} class="route-form">
        <input type="hidden" name="route" value={route.id} />
        <div class="grid">
          <fieldset class="card">
            <legend>Prices</legend>
            <p class="quiet">Credits per million tokens.</p>
            {PRICES.filter(([name]) => !isEmbeddings || name === "input").map(([name, label]) => (
              <Field
                label={label}
                name={`price-${name}`}
                type="number"
                min={0}
                value={text(prices[name])}
                placeholder={String(route.prices[name])}
              />
            ))}
          </fieldset>
          <fieldset class="card">
            <legend>Limits</legend>
            {numbers.map(([name, label, unit]) => (
              <Field
                label={`${label} (${unit})`}
                name={name}
                type="number"
                min={0}
                value={text(written[name])}
                placeholder={String(route[name])}
              />
            ))}
          </fieldset>
          <fieldset class="card">
            <legend>Name and capabilities</legend>
            <Field
              label="Display name"
              name="displayName"
              value={text(written.displayName)}
              placeholder={route.displayName}
              maxlength={200}
            />
            {isEmbeddings ? null : CHOICES.map(([name, label, values]) => (
              <label class="field">
                <span>{label}</span>
                <select name={name}>
                  <option value="">
                    {written[name] === undefined ? `default (${route[name]})` : "default"}
                  </option>
                  {values.map((value) => (
                    <option value={value} selected={written[name] === value}>{value}</option>
                  ))}
                </select>
              </label>
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
          {[...targets, ...Array.from({ length: MORE_TARGETS }, () => undefined)].map((one, at) => (
            <TargetRow at={at} target={one} upstreams={upstreams} />
          ))}
        </fieldset>
        <button type="submit">Preview the changes</button>
      </Form>
    </Layout>
  );
}

function TargetRow(
  { at, target, upstreams }: {
    at: number;
    target: TargetFields | undefined;
    upstreams: readonly string[];
  },
) {
  const chosen = target?.upstream ?? "";
  const all = chosen === "" || upstreams.includes(chosen) ? upstreams : [chosen, ...upstreams];
  const which = target === undefined ? "new" : String(at + 1);
  return (
    <div class="row target" role="group" aria-label={`Target ${which}`}>
      <Field
        label="Place"
        name={`place-${at}`}
        type="number"
        min={1}
        value={String(at + 1)}
      />
      <label class="field">
        <span>Upstream</span>
        <select name={`upstream-${at}`}>
          {target === undefined ? <option value="">select for a new target</option> : null}
          {all.map((name) => <option value={name} selected={name === chosen}>{name}</option>)}
        </select>
      </label>
      <Field label="Model" name={`model-${at}`} value={target?.model ?? ""} maxlength={200} />
      <Field
        label="Weight"
        name={`weight-${at}`}
        value={target?.weight ?? ""}
        placeholder="none"
        maxlength={14}
      />
    </div>
  );
}

/** What would be written, and the form that does it. */
export function RoutePreviewPage(
  { page, csrf, route, path, lines, fields, digest, warning, changes }: {
    page: PageContext;
    csrf: string;
    route: string;
    /** Path of the settings file. */
    path: string;
    lines: readonly DiffLine[];
    /** The form as it was submitted. */
    fields: readonly (readonly [string, string])[];
    digest: string;
    /** What else would happen. */
    warning: string | undefined;
    /** Prices before and after, where they change. */
    changes: readonly string[];
  },
) {
  const edit = `${PATH}/edit?${new URLSearchParams({ route })}`;
  return (
    <Layout page={page} title={`Change ${route}?`}>
      {lines.length === 0 ? <p class="empty">The form has no changes.</p> : (
        <>
          <p>
            Requests in progress keep the prices that they began with. The file:{" "}
            <Name text={path} code />
          </p>
          {changes.length === 0 ? null : <ul>{changes.map((one) => <li>{one}</li>)}</ul>}
          {warning === undefined ? null : <p class="notice bad">{warning}</p>}
          <Diff lines={lines} />
        </>
      )}
      <div class="buttons">
        {lines.length === 0 ? null : (
          <Form action={`${PATH}/save`} csrf={csrf}>
            {fields.map(([name, value]) => <input type="hidden" name={name} value={value} />)}
            <input type="hidden" name="digest" value={digest} />
            <button type="submit">Write the file and reload</button>
          </Form>
        )}
        <a class="button plain" href={edit}>Back to the form</a>
      </div>
    </Layout>
  );
}

const SIGNS = { same: " ", removed: "−", added: "+", gap: " " } as const;
const WORDS = { same: "", removed: "removed: ", added: "added: ", gap: "" } as const;

/** Lines with signs, which do not need colours. */
function Diff({ lines }: { lines: readonly DiffLine[] }) {
  return (
    <pre class="diff" tabindex={0} role="group" aria-label="Changes of the settings file">
      {lines.map(({ kind, text }): Child => (
        <span class={kind}>
          <span aria-hidden="true">{SIGNS[kind]} </span>
          <span class="unseen">{WORDS[kind]}</span>
          {`${text}\n`}
        </span>
      ))}
    </pre>
  );
}

/** Says which prices change. */
export function priceChanges(before: Route["prices"], after: Json | undefined): string[] {
  return PRICES.flatMap(([name, label]) => {
    const next = after?.[name];
    return typeof next === "number" && next !== before[name]
      ? [`${label}: ${number(before[name])} → ${number(next)} credits per million tokens`]
      : [];
  });
}
