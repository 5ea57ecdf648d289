/** A libSQL server that is away: pages, operations and endpoints of directories say so, and none says that the caller is wrong. */

import { SCIM_BASE, SCIM_ENDPOINTS } from "../../src/doors/http/scim_path.ts";
import { OPERATIONS } from "../../src/operating/operations/mod.ts";
import { assertEquals, assertMatch } from "../assert.ts";
import { routesOf } from "../fake/console_routes.ts";
import { startGateway, statusOf } from "../fake/gateway.ts";
import { sharedServer } from "../fake/shared_server.ts";
import { tempDir, until } from "../fake/temp.ts";
import { signedIn } from "../fake/visitor.ts";

/** The only page for which nothing is looked up. */
const ASSET = "GET /console/assets/:name";

Deno.test("a database server that is away is 503 with Retry-After on each page and form, for operators and for directories", async () => {
  await using directory = await tempDir();
  const server = await sharedServer(`${directory.path}/server`);
  let running: AsyncDisposable | undefined = server;
  await using _running = {
    [Symbol.asyncDispose]: async () => await running?.[Symbol.asyncDispose](),
  };
  const oidc = [{ name: "company", issuer: "https://login.example.com", client: "sluice" }];
  await using gateway = await startGateway({
    settings: { database: { url: server.url }, signIn: { oidc } },
  });
  const { accounts, keys } = gateway.gateway;
  const owner = await accounts.get("owner@localhost");
  const scimKey = (await keys.issue(owner, { scopes: ["scim"] })).secret;
  const browser = await signedIn(gateway, owner.email);
  const account = "/console/account";
  await browser.token(account); // while there is one to read
  const of = (base: string, key: string) => (method: string, path: string) =>
    fetch(`${gateway.url}${base}${path.replaceAll(/\{\w+\}/g, "x")}`, {
      method: method.toUpperCase(),
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
      ...(/get|delete/i.test(method) ? {} : { body: "{}" }),
    });
  const page = (method: string, path: string) => {
    const at = path.replaceAll(/:\w+/g, "x");
    return method === "GET" ? browser.get(at) : browser.post(at, {}, { from: account });
  };
  const operation = of("/admin/v1", gateway.key);
  const scim = of(SCIM_BASE, scimKey);
  const all = [
    ...routesOf(gateway).filter(({ method }) => method !== "ALL")
      .map(({ method, path }) => [`${method} ${path}`, () => page(method, path)] as const),
    ...OPERATIONS.map(({ method, path }) =>
      [`${method} ${path}`, () => operation(method, path)] as const
    ),
    ...SCIM_ENDPOINTS.map(([method, path]) =>
      [`${method} ${path}`, () => scim(method, path)] as const
    ),
  ];
  await server[Symbol.asyncDispose]();
  running = undefined;
  for (const [name, ask] of all) {
    const reply = await ask();
    const text = await reply.text();
    const expected = name === ASSET ? [404, null] : [503, "2"];
    assertEquals([name, reply.status, reply.headers.get("retry-after")], [name, ...expected]);
    const isPage = reply.headers.get("content-type")?.startsWith("text/html");
    if (isPage) assertMatch(text, /<h1>(Database unavailable|Detached)/);
  }
  running = await sharedServer(`${directory.path}/server`, { port: server.port });
  await until(async () => await statusOf(browser.get(account)) === 200, { what: "the console" });
});
