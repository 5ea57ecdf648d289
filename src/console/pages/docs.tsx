import { STATUS_TEXT } from "../../std/mod.ts";
import { Layout, type PageContext } from "../layout.tsx";

type Json = Readonly<Record<string, unknown>>;

interface Operation {
  readonly summary: string;
  readonly description?: string;
  readonly parameters?: readonly {
    readonly name: string;
    readonly in: string;
    readonly description: string;
  }[];
  readonly requestBody?: { readonly content: Json };
  readonly responses: Readonly<
    Record<string, { readonly description: string; readonly content?: Json }>
  >;
}

interface Document {
  readonly info: { readonly description: string; readonly version: string };
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: {
    readonly headers: Readonly<Record<string, { readonly description: string }>>;
    readonly schemas: Json;
  };
}

/** Endpoints by whom they are for. */
const GROUPS: readonly { readonly title: string; readonly has: (path: string) => boolean }[] = [
  { title: "Endpoints", has: (path) => !isOperators(path) },
  { title: "For operators", has: isOperators },
];

function isOperators(path: string): boolean {
  return /^\/(admin|webhooks|metrics|healthz|readyz)\b/.test(path);
}

/** API documentation, from the document that `/openapi.json` serves. */
export function DocsPage({ page, document }: { page: PageContext; document: unknown }) {
  const { info, paths, components } = document as Document; // built by describeEndpoints() in this shape
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method, operation }))
  );
  return (
    <Layout page={page} title="API">
      <p>{info.description}</p>
      <p>
        The OpenAPI 3.1 document is at <a href="/openapi.json">/openapi.json</a>. Send an API key as
        {" "}
        <code>Authorization: Bearer KEY</code> or <code>X-API-Key: KEY</code>.
      </p>
      {GROUPS.map(({ title, has }) => {
        const found = operations.filter(({ path }) => has(path));
        if (found.length === 0) return null;
        return (
          <>
            <h2>{title}</h2>
            {found.map(({ path, method, operation }) => (
              <details class="card" id={`${method}-${path.replaceAll(/\W+/g, "-")}`}>
                <summary>
                  <code>{method.toUpperCase()} {path}</code>{" "}
                  <span class="quiet">{operation.summary}</span>
                </summary>
                {operation.description === undefined ? null : <p>{operation.description}</p>}
                {operation.parameters === undefined ? null : (
                  <dl class="facts">
                    {operation.parameters.map(({ name, in: place, description }) => (
                      <>
                        <dt>
                          <code>{name}</code> <small>{place}</small>
                        </dt>
                        <dd>{description}</dd>
                      </>
                    ))}
                  </dl>
                )}
                {operation.requestBody === undefined
                  ? null
                  : <p>Body: {schemaNames(operation.requestBody.content)}</p>}
                <dl class="facts">
                  {Object.entries(operation.responses).map(([status, { description, content }]) => (
                    <>
                      <dt>{status} {STATUS_TEXT[Number(status)]}</dt>
                      <dd>
                        {description.replaceAll("`", "")}{" "}
                        {content === undefined ? "" : schemaNames(content)}
                      </dd>
                    </>
                  ))}
                </dl>
              </details>
            ))}
          </>
        );
      })}
      <h2>Response headers</h2>
      <dl class="facts card">
        {Object.entries(components.headers).map(([name, { description }]) => (
          <>
            <dt>
              <code>{name}</code>
            </dt>
            <dd>{description}</dd>
          </>
        ))}
      </dl>
      <h2>Schemas</h2>
      {Object.entries(components.schemas).map(([name, schema]) => (
        <details class="card" id={`schema-${name}`}>
          <summary>
            <code>{name}</code>
          </summary>
          <pre
            role="group"
            tabindex={0}
            aria-label={name}
          ><code>{JSON.stringify(schema, null, 2)}</code></pre>
        </details>
      ))}
    </Layout>
  );
}

function schemaNames(content: Json) {
  return Object.entries(content).map(([type, media]) => {
    const { schema } = media as { schema?: { $ref?: string } };
    const name = /[^/]+$/.exec(schema?.$ref ?? "")?.[0];
    return name === undefined ? <small>({type})</small> : (
      <>
        <a href={`#schema-${name}`}>{name}</a> <small>({type})</small>
      </>
    );
  });
}
