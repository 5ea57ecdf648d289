/** Without the setting `signIn` a gateway is what it was: no page, form or path more, and the same pages. */

import { assert, assertEquals, assertStringIncludes } from "../assert.ts";
import { routesOf } from "../fake/console_routes.ts";
import { startGateway, statusOf } from "../fake/gateway.ts";
import { signedIn } from "../fake/visitor.ts";
import { OAUTH, WELL_KNOWN } from "../../src/doors/oauth/mod.ts";

/** What the setting adds to the console. */
const ADDED = [
  "GET /console/authorize",
  "GET /console/device",
  "GET /console/sign-in/oidc/:provider",
  "GET /console/sign-in/oidc/:provider/callback",
  "POST /console/account/link/:provider",
  "POST /console/account/sessions/:session/end",
  "POST /console/account/unlink",
  "POST /console/device",
  "POST /console/tools/end",
  "POST /console/sign-in/oidc/:provider/logout",
];

const RANDOM_ID = /name="(?:id|form)" value="[^"]*"|"term-[\w-]*"/g;
const NOON = Date.UTC(2026, 10, 26, 12);

Deno.test("the setting signIn adds its own pages and paths, and changes the page Account alone", async () => {
  await using gateway = await startGateway({ now: () => NOON });
  const { url, gateway: { database, accounts } } = gateway;
  const owner = (await accounts.owner())!;
  const routes = () => new Set(routesOf(gateway).map(({ method, path }) => `${method} ${path}`));
  const plain = routes();
  assertEquals(ADDED.filter((route) => plain.has(route)), []);
  const browser = await signedIn(gateway, owner.email);
  assertEquals(await database.all("select provider, address, agent from sessions"), [
    { provider: null, address: null, agent: null },
  ]);
  const { secret } = await gateway.gateway.keys.issue(owner, { scopes: ["scim"] });
  const directory = await fetch(`${url}/scim/v2/Users`, {
    headers: { authorization: `Bearer ${secret}` },
  });
  assertEquals(directory.status, 404);
  assertStringIncludes(await directory.text(), "Unknown endpoint");
  const paths = [...plain].filter((route) => /^GET [^:]*$/.test(route))
    .map((route) => route.slice("GET ".length))
    .filter((path) => !/\/(?:events|notices)$/.test(path));
  assert(paths.length > 25, paths.join());
  const look = async () => {
    const found = new Map<string, string>();
    for (const path of [...paths, "/openapi.json", "/v1/models", "/console/device"]) {
      const reply = await browser.get(path);
      const text = reply.bodyUsed ? reply.headers.get("location") : await reply.text();
      // forms and explained words have an ID of their own each time
      found.set(path, `${reply.status} ${text}`.replaceAll(RANDOM_ID, ""));
    }
    for (const path of [...Object.values(OAUTH), ...Object.values(WELL_KNOWN)]) {
      const isForm = path.startsWith("/oauth") && path !== OAUTH.authorize;
      const init = isForm ? { method: "POST", body: "x=y" } : {};
      found.set(path, String(await statusOf(fetch(`${url}${path}`, init))));
    }
    return found;
  };
  await gateway.reload({});
  const before = await look();
  for (const path of [...Object.values(OAUTH), ...Object.values(WELL_KNOWN)]) {
    assertEquals(before.get(path), "404", path);
  }
  assert(before.get("/console/device")!.startsWith("404"));
  const { fault, needRestart } = await gateway.reload({ signIn: {} });
  assertEquals([fault, needRestart], [null, []]);
  const after = await look();
  const changed = [...before].filter(([path, text]) => after.get(path) !== text);
  assertEquals(
    changed.map(([path]) => path).toSorted(),
    [
      ...Object.values(OAUTH),
      ...Object.values(WELL_KNOWN),
      "/console/account",
      "/console/device",
      "/console/operator/routes", // whose forms name the settings file by its digest
      "/console/operator/routes/edit",
      "/console/operator/settings",
    ].toSorted(),
  );
});
