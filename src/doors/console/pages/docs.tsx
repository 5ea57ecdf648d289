import { STATUS_TEXT } from "../../../ground/std/mod.ts";
import { Facts } from "../components.tsx";
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

/** Endpoints by what they are for, in the order they are shown. */
const GROUPS: readonly (readonly [title: string, isOf: (path: string) => boolean])[] = [
  ["Models and requests", (path) => path.startsWith("/v1/")],
  ["Your credits", (path) => path.startsWith("/user/")],
  ["For operators", (path) => path.startsWith("/admin/")],
  ["Others", (path) => !/^\/(v1|user|admin)\//.test(path)],
];

/** API documentation, from the document that `/openapi.json` serves. */
export function DocsPage(
  { page, document, address }: {
    page: PageContext;
    document: unknown;
    /** Base address of all paths. */
    address: string;
  },
) {
  const { info, paths, components } = document as Document; // `DOCUMENT` has this shape
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method, operation }))
  );
  return (
    <Layout page={page} title="API">
      <p>{info.description}</p>
      <p>
        All paths are below <code>{address}</code>. The OpenAPI 3.1 document is at{" "}
        <a href="/openapi.json">/openapi.json</a>. Send an API key as{" "}
        <code>Authorization: Bearer KEY</code> or <code>X-API-Key: KEY</code>.
      </p>
      {GROUPS.map(([title, isOf]) => ({ title, own: operations.filter(({ path }) => isOf(path)) }))
        .filter(({ own }) => own.length > 0).map(({ title, own }) => (
          <>
            <h2>{title}</h2>
            {own.map((one) => <Endpoint {...one} />)}
          </>
        ))}
      <h2>Response headers</h2>
      <Facts
        class="card"
        rows={Object.entries(components.headers).map(([name, { description }]) =>
          [<code>{name}</code>, <Words text={description} />] as const
        )}
      />
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

/** One endpoint, folded. */
function Endpoint(
  { path, method, operation }: { path: string; method: string; operation: Operation },
) {
  return (
    <details class="card" id={`${method}-${path.replaceAll(/\W+/g, "-")}`}>
      <summary>
        <code>{method.toUpperCase()} {path}</code>{" "}
        <span class="quiet regular">
          <Words text={operation.summary} />
        </span>
      </summary>
      {operation.description === undefined ? null : (
        <p>
          <Words text={operation.description} />
        </p>
      )}
      {operation.parameters === undefined ? null : (
        <Facts
          rows={operation.parameters.map(({ name, in: place, description }) =>
            [
              <>
                <code>{name}</code> <small>{place}</small>
              </>,
              <Words text={description} />,
            ] as const
          )}
        />
      )}
      {operation.requestBody !== undefined && (
        <p>Body: {schemaNames(operation.requestBody.content)}</p>
      )}
      <Facts
        rows={Object.entries(operation.responses).map(([status, { description, content }]) =>
          [
            status === "default" ? "others" : `${status} ${STATUS_TEXT[Number(status)]}`,
            <>
              <Words text={description} /> {content === undefined ? "" : schemaNames(content)}
            </>,
          ] as const
        )}
      />
    </details>
  );
}

/** A text with its code in backticks as code. */
function Words({ text }: { text: string | undefined }) {
  return <>{text?.split("`").map((part, at) => at % 2 === 0 ? part : <code>{part}</code>)}</>;
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
