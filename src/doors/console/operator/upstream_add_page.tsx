import type { Config } from "../../../settings/config/mod.ts";
import {
  type KnownProvider,
  knownProviders,
  providersIn,
} from "../../../settings/known_providers/mod.ts";
import { BACK_NAMES } from "../../../wire/dialects/mod.ts";
import { Field, Form, Select } from "../components.tsx";
import { Layout } from "../layout.tsx";
import { page, pageOf, type PageRequest } from "../request.tsx";

const PATH = "/console/operator/upstreams";

/** Stands for an upstream that none of the known providers is. */
export const OTHER_PROVIDER = "other";

/** Fields that are settings of the same name. */
export const TEXT_FIELDS = [
  {
    name: "url",
    label: "Base URL",
    hint: "Needed for another service; replaces the provider's own.",
  },
  { name: "dialect", label: "Dialect", hint: "" },
  { name: "resource", label: "Resource", hint: "Azure's resource, Snowflake's account, …" },
  { name: "project", label: "Project", hint: "Vertex AI" },
  { name: "region", label: "Region", hint: "Bedrock, Vertex AI" },
] as const;

/** The form for a new upstream, with what was submitted. */
export async function upstreamAddPage(
  c: PageRequest,
  { variables }: Pick<Config, "variables">,
  error?: string,
): Promise<Response> {
  const context = pageOf(c, error);
  const values = new Map(c.req.method === "POST" ? c.var.form.entries : []);
  const value = (name: string) => values.get(name) ?? "";
  // those of which the environment has a key
  const offered = providersIn(Object.fromEntries(variables.map((name) => [name, "set"])))
    .map(({ provider }) => provider);
  const others = knownProviders().filter((one) => !offered.includes(one))
    .toSorted((a, b) => a.title.localeCompare(b.title, "en"));
  const optionOf = ({ id, title }: KnownProvider) => (
    <option value={id} selected={id === value("provider")}>{title}</option>
  );
  return await page(
    c,
    <Layout page={context} title="Add an upstream">
      <p>
        <a href={PATH}>All upstreams</a>. You see the changes of the settings file before anything
        is written.
      </p>
      <Form action={`${PATH}/preview`} csrf={context.csrf} class="card narrow">
        <label class="field">
          <span>Provider</span>
          <select name="provider">
            {offered.length > 0 && (
              <optgroup label="A key is in the environment">{offered.map(optionOf)}</optgroup>
            )}
            <optgroup label="All others">
              <option value={OTHER_PROVIDER} selected={value("provider") === OTHER_PROVIDER}>
                another service, by its URL
              </option>
              {others.map(optionOf)}
            </optgroup>
          </select>
        </label>
        <Field
          label="Name"
          name="name"
          value={value("name")}
          maxlength={64}
          hint="In routes and reports. Default: the provider's ID."
        />
        <Field
          label="Environment variable with the key"
          name="key"
          value={value("key")}
          maxlength={100}
          autocomplete="off"
          hint="Its name, not the key. Default: the provider's usual one."
        />
        {TEXT_FIELDS.map(({ name, label, hint }) =>
          name === "dialect"
            ? (
              <Select
                label={label}
                name={name}
                options={[["", "default"], ...BACK_NAMES]}
                value={value(name)}
              />
            )
            : (
              <Field
                label={label}
                name={name}
                value={value(name)}
                maxlength={300}
                hint={hint}
              />
            )
        )}
        <Select
          label="Models that it lists"
          name="discover"
          options={[
            ["yes", "serve all of them by their own names"],
            ["no", "serve only those that routes name"],
          ]}
          value={value("discover")}
        />
        <button type="submit">Preview the changes</button>
      </Form>
    </Layout>,
  );
}
