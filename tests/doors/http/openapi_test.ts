import { createConfig, lintFromString } from "@redocly/openapi-core";
import openapiTS, { astToString } from "openapi-typescript";
import type { z } from "zod";
import { routeOf } from "../../../src/doors/http/admin.ts";
import { openApiDocument } from "../../../src/doors/http/mod.ts";
import { adminPaths } from "../../../src/doors/http/openapi/admin_paths.ts";
import { scimPaths } from "../../../src/doors/http/openapi/scim_paths.ts";
import { SCIM_BASE } from "../../../src/doors/http/scim_path.ts";
import { SCHEMAS } from "../../../src/doors/http/openapi/schemas.ts";
import { ADMIN_BASE } from "../../../src/doors/http/admin_path.ts";
import { OPERATIONS } from "../../../src/operating/operations/mod.ts";
import { assert, assertEquals } from "../../assert.ts";
import { checkResponseObject, checkResponsesStream } from "../../wire/dialects/legal_responses.ts";
import { environment, exampleArgs } from "../../fake/command.ts";
import { startGateway } from "../../fake/gateway.ts";
import { tempDir } from "../../fake/temp.ts";
import { PROOF } from "../../tier.ts";

/** A route for embeddings, which no gateway has by itself. */
const EMBEDDINGS = { e: { kind: "embeddings" as const } };

Deno.test("openapi.json passes a linter", async () => {
  await using gateway = await startGateway();
  const source = await (await fetch(`${gateway.url}/openapi.json`)).text();
  const config = await createConfig({
    extends: ["recommended"],
    rules: {
      "no-server-example.com": "off",
      "operation-2xx-response": "off", // a handshake succeeds with 101
      "no-unused-components": "off", // OpenAPI 3.1 cannot refer to the shape of one event
    },
  });
  const problems = await lintFromString({ source, config });
  assertEquals(
    problems.map(({ ruleId, message, location }) => [ruleId, message, location[0]?.pointer]),
    [],
  );
});

Deno.test("openapi.json is made once in a process, for the API and its page of every gateway", async () => {
  assert(await openApiDocument() === await openApiDocument());
});

Deno.test("openapi.json names every endpoint, with each error that it can answer", async () => {
  await using gateway = await startGateway();
  const { paths, components } = await (await fetch(`${gateway.url}/openapi.json`)).json();
  const admin = OPERATIONS.map((one) => ({ method: one.method, path: routeOf(one) }));
  const served = [...gateway.gateway.app.endpoints, ...admin].map(({ method, path }) =>
    `${method.toLowerCase()} ${path.replace(/:(\w+)(\{.*\})?/g, "{$1}")}`
  );
  const described = Object.entries(paths as Record<string, Record<string, unknown>>)
    .flatMap(([path, methods]) => Object.keys(methods).map((method) => `${method} ${path}`));
  assertEquals(new Set(served), new Set(described));
  const models = await fetch(`${gateway.url}/v1/models`);
  await models.body?.cancel();
  const exposed = models.headers.get("access-control-expose-headers")!.split(", ");
  assertEquals(new Set(exposed), new Set(Object.keys(components.headers)));
  const chat = paths["/v1/chat/completions"].post.responses;
  assertEquals(Object.keys(chat), ["200", "400", "401", "403", "404", "429", "500", "503"]);
  assert(chat["400"].description.includes("`encoded_image_too_large`"));
  const { post, get } = paths["/v1/responses"];
  assertEquals(Object.keys(post.responses), Object.keys(chat));
  assertEquals(Object.keys(get.responses), ["101", "400", "401", "403", "426", "500", "503"]);
});

Deno.test("openapi.json says where each input of an operation goes, and which it cannot do without", () => {
  // deno-lint-ignore no-explicit-any -- a document
  const paths = adminPaths() as Record<string, Record<string, any>>;
  const wrong: string[] = [];
  for (const { name, path, method, kind, input, isList, hasCsv } of OPERATIONS.map(shown)) {
    const { parameters, requestBody, responses } = paths[`${ADMIN_BASE}${path}`]![
      method.toLowerCase()
    ];
    const placed = new Map<string, string>([
      ...parameters.map((one: { name: string; in: string; required: boolean }) =>
        [one.name, `${one.in}${one.required ? ", required" : ""}`] as const
      ),
      ...Object.keys(requestBody?.content["application/json"].schema.properties ?? {})
        .map((param) => [param, "body"] as const),
    ]);
    const needed: string[] = requestBody?.content["application/json"].schema.required ?? [];
    for (const param of needed) placed.set(param, `${placed.get(param)}, required`);
    const expected = new Map<string, string>(
      Object.entries(input.shape as Record<string, z.ZodType>).map(([param, shape]) => {
        const isInPath = path.includes(`{${param}}`);
        const isRequired = isInPath || !shape.safeParse(undefined).success;
        const place = isInPath ? "path" : kind === "read" ? "query" : "body";
        return [param, `${place}${isRequired ? ", required" : ""}`];
      }),
    );
    if (kind === "write") expected.set("Idempotency-Key", "header");
    if (hasCsv) expected.set("csv", "query");
    assertEquals("text/csv" in Object.values<{ content: object }>(responses)[0]!.content, hasCsv);
    const inBody = [...expected.values()].filter((one) => one.startsWith("body"));
    const isRequired = inBody.some((one) => one.endsWith("required"));
    const [reply] = Object.values(responses) as [
      { content: { "application/json": { schema: { properties: Record<string, unknown> } } } },
    ];
    const { properties } = reply.content["application/json"].schema;
    const seen = [
      Object.fromEntries([...placed].toSorted()),
      requestBody?.required,
      "has_more" in (properties ?? {}),
    ];
    const right = [
      Object.fromEntries([...expected].toSorted()),
      inBody.length === 0 ? undefined : isRequired,
      isList,
    ];
    if (JSON.stringify(seen) !== JSON.stringify(right)) {
      wrong.push(`${name}: ${JSON.stringify(seen)} for ${JSON.stringify(right)}`);
    }
  }
  assertEquals(wrong, []);
});

Deno.test("openapi.json says what each endpoint of directories takes: pages of lists, attributes of what is shown", () => {
  // deno-lint-ignore no-explicit-any -- a document
  const paths = scimPaths() as Record<string, Record<string, any>>;
  const shown = ["attributes", "excludedAttributes"];
  const resource = {
    "": { get: ["filter", "startIndex", "count", ...shown], post: shown },
    "/{id}": {
      get: ["id", ...shown],
      put: ["id", ...shown],
      patch: ["id", ...shown],
      delete: ["id"],
    },
  };
  const described = { "": { get: [] }, "/{id}": { get: ["id"] } };
  const expected = new Map<string, readonly string[]>();
  for (
    const [path, below] of [
      ["/Users", resource],
      ["/Groups", resource],
      ["/ResourceTypes", described],
      ["/Schemas", described],
      ["/ServiceProviderConfig", { "": { get: [] } }],
    ] as const
  ) {
    for (const [id, methods] of Object.entries(below)) {
      for (const [method, taken] of Object.entries(methods)) {
        expected.set(`${method} ${SCIM_BASE}${path}${id}`, taken as string[]);
      }
    }
  }
  const seen = new Map<string, readonly string[]>();
  for (const [path, methods] of Object.entries(paths)) {
    for (
      const [method, { parameters, requestBody, responses, summary }] of Object.entries(methods)
    ) {
      const what = `${method} ${path}`;
      seen.set(what, parameters.map(({ name }: { name: string }) => name));
      assertEquals(requestBody !== undefined, ["post", "put", "patch"].includes(method), what);
      const status = method === "delete" ? "204" : method === "post" ? "201" : "200";
      assertEquals(Object.keys(responses)[0], status, what);
      const isList = method === "get" && !path.endsWith("}") && !path.endsWith("Config");
      assertEquals(/s \(RFC 7644\)$/.test(summary), isList, summary);
    }
  }
  const sorted = (all: ReadonlyMap<string, readonly string[]>) => [...all].toSorted();
  assertEquals(sorted(seen), sorted(expected));
});

/** An operation, and whether it is a list. */
function shown(operation: typeof OPERATIONS[number]) {
  return {
    ...operation,
    isList: operation.kind === "read" && operation.isList === true,
    hasCsv: operation.kind === "read" && operation.csv.size > 0,
  };
}

Deno.test("what the gateway answers has the headers that openapi.json says", async () => {
  await using gateway = await startGateway();
  const { url, key } = gateway;
  const { paths } = await (await fetch(`${url}/openapi.json`)).json();
  const asked = ["/healthz", "/readyz", "/metrics", "/openapi.json", "/v1/models", "/user/credits"];
  for (const path of asked) {
    const reply = await fetch(`${url}${path}`, { headers: { "x-api-key": key } });
    await reply.body?.cancel();
    const said = Object.keys(paths[path].get.responses[200].headers ?? {});
    const missing = said.filter((name) => !name.includes("Budget") && !reply.headers.has(name));
    assertEquals([reply.status, missing], [200, []], path);
  }
});

Deno.test("what the gateway answers has the shapes that openapi.json says", async () => {
  await using gateway = await startGateway({ settings: { routes: EMBEDDINGS } });
  const { url } = gateway;
  const messages = [{ role: "user", content: "Hi" }];
  const held = async (name: keyof typeof SCHEMAS, reply: Promise<Response>) => {
    const { success, error } = (SCHEMAS[name] as z.ZodType).safeParse(await (await reply).json());
    assert(success, `${name}: ${error?.message}`);
  };
  const get = (path: string) => fetch(`${url}${path}`, { headers: { "x-api-key": gateway.key } });
  const body = { model: "svc-k2", max_tokens: 50, messages };
  await held("ChatCompletion", gateway.post("/v1/chat/completions", body));
  await held("Message", gateway.post("/v1/messages", body));
  await held("CountTokens", gateway.post("/v1/messages/count_tokens", body));
  const ask = { model: "svc-k2", input: "Hi" };
  await held("Response", gateway.post("/v1/responses", ask));
  await held("Response", gateway.post("/v1/responses", { ...ask, max_output_tokens: 3 }));
  await held("Compaction", gateway.post("/v1/responses/compact", ask));
  await held("ModelList", get("/v1/models"));
  await held("Model", get("/v1/models/svc-k3"));
  const input = { model: "e", input: ["Hello", "Bye"], dimensions: 8 };
  for (const encoding_format of ["float", "base64"]) {
    await held("Embeddings", gateway.post("/v1/embeddings", { ...input, encoding_format }));
  }
  await held("Model", get("/v1/models/e"));
  await held("CreditUsage", get("/user/credits"));
  await held("Health", get("/healthz"));
  await held("Readiness", get("/readyz"));
  await held("ChatError", get("/v1/nothing"));
  await held("MessagesError", gateway.post("/v1/messages", {}));
  await held("ChatError", gateway.post("/v1/responses", {}));
  await held("ChatError", get("/v1/responses"));
  await held("ChatError", get("/v1/responses/resp_1"));
  const tool = { type: "function", name: "get_weather", parameters: { type: "object" } };
  for (
    const [path, name, sent] of [
      ["/v1/chat/completions", "ChatCompletionChunk", body],
      ["/v1/messages", "MessageEvent", body],
      ["/v1/responses", "ResponseEvent", ask],
      ["/v1/responses", "ResponseEvent", { ...ask, tools: [tool], tool_choice: "required" }],
      ["/v1/responses", "ResponseEvent", { ...ask, input: "[[cut after 3]]" }],
    ] as const
  ) {
    const text = await (await gateway.post(path, { ...sent, stream: true })).text();
    const events = [...text.matchAll(/^data: (\{.*\})$/gm)];
    assert(events.length > 2);
    for (const [, data] of events) SCHEMAS[name].parse(JSON.parse(data!));
  }
});

Deno.test("the examples of responses are legal: a request that succeeds, a response, a stream", async () => {
  await using gateway = await startGateway();
  const { paths } = await (await fetch(`${gateway.url}/openapi.json`)).json();
  for (const path of ["/v1/responses", "/v1/responses/compact"]) {
    const { requestBody, responses } = paths[path].post;
    const reply = await gateway.post(path, requestBody.content["application/json"].example);
    assertEquals(reply.status, 200);
    const real = await reply.json();
    const { example } = responses["200"].content["application/json"];
    assertEquals(Object.keys(example).toSorted(), Object.keys(real).toSorted());
    assertEquals(Object.keys(example.output[0]), Object.keys(real.output[0]));
  }
  const { content } = paths["/v1/responses"].post.responses["200"];
  checkResponseObject(content["application/json"].example);
  const { response } = checkResponsesStream(content["text/event-stream"].example);
  assertEquals(response, content["application/json"].example);
});

Deno.test("an error has the shape that openapi.json says, at each endpoint and below", async () => {
  await using gateway = await startGateway();
  const { paths } = await (await fetch(`${gateway.url}/openapi.json`)).json();
  const shapeAt = async (path: string, init: RequestInit) => {
    const { type, error } = await (await fetch(`${gateway.url}${path}`, init)).json();
    return type === "error" ? "MessagesError" : "code" in error ? "ChatError" : "another";
  };
  for (const [template, operations] of Object.entries(paths as Record<string, object>)) {
    const path = template.replace("{id}", "svc-k2");
    const [responses] = Object.values(operations).map(({ responses }) => responses);
    const documented = new Set(
      Object.entries(responses as Record<string, Documented>)
        .filter(([status]) => Number(status) >= 400)
        .flatMap(([, { content }]) =>
          /\w+Error$/.exec(content["application/json"].schema.$ref)?.[0] ?? []
        ),
    );
    const shapes = [
      await shapeAt(path, { method: "DELETE" }),
      await shapeAt(`${path}/nothing/here`, { method: "POST" }),
    ];
    assertEquals(new Set(shapes), documented, path);
  }
});

/** An error in the document. */
interface Documented {
  readonly content: { readonly "application/json": { readonly schema: { readonly $ref: string } } };
}

/** A program over a client that was generated from the document. */
const PROGRAM = `
import createClient from "openapi-fetch";
import type { paths } from "./schema.d.ts";

const [baseUrl = "", key] = Deno.args;
/** An answer that was not asked for as a stream is not one. */
function whole<T>(data: T | string | undefined): T {
  if (data === undefined || typeof data === "string") throw new Error("an answer was expected");
  return data;
}
const client = createClient<paths>({ baseUrl, headers: { authorization: \`Bearer \${key}\` } });
const { data: list } = await client.GET("/v1/models");
const model = list!.data[0]!.id;
const { data: chat } = await client.POST("/v1/chat/completions", {
  body: { model, messages: [{ role: "user", content: "Hello" }], temperature: 0.2 },
});
const { data: message, response } = await client.POST("/v1/messages", {
  body: { model, max_tokens: 100, messages: [{ role: "user", content: "Hello" }] },
});
const { data: counted } = await client.POST("/v1/messages/count_tokens", {
  body: { model, messages: [{ role: "user", content: "Hello" }] },
});
const { data: embeddings } = await client.POST("/v1/embeddings", {
  body: { model: "e", input: ["Hello", "Bye"], dimensions: 8 },
});
const { data: stream } = await client.POST("/v1/chat/completions", {
  body: { model, messages: [{ role: "user", content: "Hello" }], stream: true },
  parseAs: "text",
});
const { data: created } = await client.POST("/v1/responses", { body: { model, input: "Hello" } });
const { data: summary } = await client.POST("/v1/responses/compact", {
  body: { model, input: [{ role: "user", content: "Hello" }] },
});
const { data: credits } = await client.GET("/user/credits", { params: { query: { days: 7 } } });
const { error } = await client.GET("/v1/models/{id}", { params: { path: { id: "nope" } } });
const { data: ready } = await client.GET("/readyz");
console.log(JSON.stringify({
  chat: whole(chat).choices[0]!.message.content,
  message: whole(message).content[0]!.text,
  created: whole(created).output[0]!.content![0]!.text,
  summary: summary!.output[0]!.encrypted_content,
  remaining: Number(response.headers.get("x-credits-remaining")),
  input: counted!.input_tokens,
  done: String(stream).endsWith("data: [DONE]\\n\\n"),
  vectors: embeddings!.data.map(({ embedding }) => embedding.length),
  days: credits!.usage_by_day.length,
  code: error!.error.code,
  ready: ready!.status,
}));
`;

Deno.test("a generated TypeScript client drives the gateway", PROOF, async () => {
  await using gateway = await startGateway({ settings: { routes: EMBEDDINGS } });
  await using dir = await tempDir();
  const document = await (await fetch(`${gateway.url}/openapi.json`)).json();
  await Deno.writeTextFile(
    `${dir.path}/schema.d.ts`,
    astToString(await openapiTS(document)),
  );
  await Deno.writeTextFile(`${dir.path}/client.ts`, PROGRAM);
  const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: [
      ...await exampleArgs(dir.path),
      "--check", // the types that were generated are part of what is tested
      "client.ts",
      gateway.url,
      gateway.key,
    ],
    cwd: dir.path,
    clearEnv: true,
    env: environment(),
  }).output();
  assertEquals(code, 0, new TextDecoder().decode(stderr));
  const said = JSON.parse(new TextDecoder().decode(stdout));
  assert(said.chat.includes("Hello") && said.message.includes("Hello"));
  assert(said.created.includes("Hello") && said.summary.length > 50);
  assert(said.input > 0);
  assertEquals(said.vectors, [8, 8]);
  assertEquals([said.done, said.days, said.code, said.ready, said.remaining], [
    true,
    1,
    "model_not_found",
    "ready",
    999_998,
  ]);
});
