/** The API of directories, in conversations as Entra and Okta have them, and its rules. */

import type { Scope } from "../../../src/people/accounts/mod.ts";
import { logEntries } from "../../../src/people/operation_log/mod.ts";
import { assert, assertEquals, assertStringIncludes } from "../../assert.ts";
import { startGateway, type TestGateway } from "../../fake/gateway.ts";
import { possible } from "../../fake/ledger.ts";
import { sized } from "../../tier.ts";
import { until } from "../../fake/temp.ts";

const SETTINGS = {
  signIn: {
    oidc: [{
      name: "company",
      issuer: "https://login.example.com",
      client: "sluice",
      domains: ["example.com"],
      groups: {
        "8c1e0f3a-group": { role: "operator" as const },
        Engineering: { teams: { Platform: "member" as const } },
      },
    }],
  },
};
const USER = "urn:ietf:params:scim:schemas:core:2.0:User";
const GROUP = "urn:ietf:params:scim:schemas:core:2.0:Group";
const ENTERPRISE = "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User";
const PATCH = ["urn:ietf:params:scim:api:messages:2.0:PatchOp"];

type Json = Readonly<Record<string, unknown>>;

interface Reply {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Json;
}

/** A directory with a key. */
async function directoryOf(gateway: TestGateway, scopes: readonly Scope[] = ["scim"]) {
  const { accounts, keys } = gateway.gateway;
  const { secret } = await keys.issue((await accounts.owner())!, { scopes });
  const ask = async (
    method: string,
    path: string,
    { body, headers }: { readonly body?: unknown; readonly headers?: Record<string, string> } = {},
  ): Promise<Reply> => {
    const reply = await fetch(`${gateway.url}/scim/v2${path}`, {
      method,
      headers: {
        authorization: `Bearer ${secret}`,
        "content-type": "application/scim+json; charset=utf-8",
        ...headers,
      },
      ...(body !== undefined && { body: typeof body === "string" ? body : JSON.stringify(body) }),
    });
    const text = await reply.text();
    if (text !== "") assertEquals(reply.headers.get("content-type"), "application/scim+json");
    return {
      status: reply.status,
      headers: reply.headers,
      body: text === "" ? {} : JSON.parse(text),
    };
  };
  return { ask, secret };
}

/** Whether a reply has what is expected, and perhaps more. */
function has(found: unknown, expected: unknown, where: string): void {
  if (Array.isArray(expected)) {
    assertEquals((found as unknown[] | undefined)?.length, expected.length, where);
    expected.forEach((one, at) => has((found as unknown[])[at], one, `${where}[${at}]`));
  } else if (typeof expected === "object" && expected !== null) {
    for (const [name, value] of Object.entries(expected)) {
      has((found as Json | undefined)?.[name], value, `${where}.${name}`);
    }
  } else assertEquals(found, expected, where);
}

/** One request of a conversation, and what its reply has. `{name}` in it is an ID that an earlier reply had. */
type Step = readonly [
  request: string,
  body: Json | undefined,
  status: number,
  reply?: Json,
  saved?: string,
];

const ENTRA: readonly Step[] = [
  ['GET /Users?filter=userName eq "ada@example.com"', undefined, 200, {
    schemas: ["urn:ietf:params:scim:api:messages:2.0:ListResponse"],
    totalResults: 0,
    Resources: [],
  }],
  [
    "POST /Users",
    {
      schemas: [USER, ENTERPRISE],
      externalId: "0a21f0f2-8d2a-4f8e-bf98-7363c4aed4ef",
      userName: "ada@example.com",
      active: true,
      emails: [{ primary: true, type: "work", value: "Ada@Example.com" }],
      meta: { resourceType: "User" },
      name: { formatted: "Ada Lovelace", familyName: "Lovelace", givenName: "Ada" },
      roles: [],
      [ENTERPRISE]: { department: "Engines" },
    },
    201,
    {
      schemas: [USER, ENTERPRISE],
      userName: "ada@example.com",
      externalId: "0a21f0f2-8d2a-4f8e-bf98-7363c4aed4ef",
      active: true,
      groups: [],
      meta: { resourceType: "User", version: 'W/"1"' },
      [ENTERPRISE]: { department: "Engines" },
    },
    "user",
  ],
  ["GET /Users/{user}", undefined, 200, { userName: "ada@example.com" }],
  ['GET /Users?filter=externalId eq "0a21f0f2-8d2a-4f8e-bf98-7363c4aed4ef"', undefined, 200, {
    totalResults: 1,
  }],
  ['GET /Users?filter=userName eq "ADA@example.com"', undefined, 200, { totalResults: 1 }],
  [
    "PATCH /Users/{user}",
    {
      schemas: PATCH,
      Operations: [
        { op: "Replace", path: 'emails[type eq "work"].value', value: "ada.l@example.com" },
        { op: "Replace", path: "name.familyName", value: "King" },
        { op: "Add", path: `${ENTERPRISE}:employeeNumber`, value: "7" },
      ],
    },
    200,
    {
      emails: [{ value: "ada.l@example.com", type: "work" }],
      name: { familyName: "King", givenName: "Ada" },
      [ENTERPRISE]: { department: "Engines", employeeNumber: "7" },
      meta: { version: 'W/"2"' },
    },
  ],
  [
    "PATCH /Users/{user}",
    {
      schemas: PATCH,
      Operations: [{ op: "Replace", path: "userName", value: "ada.king@example.com" }],
    },
    200,
    { userName: "ada.king@example.com" },
  ],
  [
    "POST /Groups",
    {
      schemas: [GROUP, "http://schemas.microsoft.com/2006/11/ResourceManagement/ADSCIM/2.0/Group"],
      externalId: "8c1e0f3a-group",
      displayName: "Operators of the gateway",
      meta: { resourceType: "Group" },
    },
    201,
    { displayName: "Operators of the gateway", members: [] },
    "group",
  ],
  [
    'GET /Groups?excludedAttributes=members&filter=displayName eq "operators of the gateway"',
    undefined,
    200,
    {
      totalResults: 1,
      Resources: [{ displayName: "Operators of the gateway", members: undefined }],
    },
  ],
  ["GET /Groups/{group}?excludedAttributes=members", undefined, 200, { members: undefined }],
  [
    "PATCH /Groups/{group}",
    {
      schemas: PATCH,
      Operations: [{ op: "Add", path: "members", value: [{ $ref: null, value: "{user}" }] }],
    },
    200,
    { members: [{ value: "{user}", display: "ada.king@example.com" }] },
  ],
  ['GET /Groups?filter=id eq "{group}" and members eq "{user}"', undefined, 200, {
    totalResults: 1,
  }],
  ["GET /Users/{user}?attributes=groups", undefined, 200, {
    userName: undefined,
    groups: [{ value: "{group}", display: "Operators of the gateway" }],
  }],
  [
    "PATCH /Groups/{group}",
    {
      schemas: PATCH,
      Operations: [{ op: "Remove", path: "members", value: [{ $ref: null, value: "{user}" }] }],
    },
    200,
    { members: [] },
  ],
  [
    "PATCH /Users/{user}",
    {
      schemas: PATCH,
      Operations: [{ op: "Replace", path: "active", value: "False" }],
    },
    200,
    { active: false },
  ],
  ["DELETE /Groups/{group}", undefined, 204],
  ["DELETE /Users/{user}", undefined, 204],
  ["GET /Users/{user}", undefined, 404, {
    schemas: ["urn:ietf:params:scim:api:messages:2.0:Error"],
    status: "404",
  }],
];

const OKTA: readonly Step[] = [
  ['GET /Users?filter=userName eq "bob@example.com"&startIndex=1&count=100', undefined, 200, {
    totalResults: 0,
    startIndex: 1,
    itemsPerPage: 0,
  }],
  [
    "POST /Users",
    {
      schemas: [USER],
      userName: "bob@example.com",
      name: { givenName: "Bob", familyName: "B" },
      emails: [{ primary: true, value: "bob@example.com", type: "work" }],
      displayName: "Bob B",
      locale: "en-US",
      externalId: "00ujl29u0le5T6Aj10h7",
      groups: [],
      password: "1mz050nq",
      active: true,
    },
    201,
    { displayName: "Bob B", locale: "en-US", password: undefined, active: true },
    "user",
  ],
  ["GET /Users?startIndex=1&count=100", undefined, 200, { totalResults: 1 }],
  [
    "PUT /Users/{user}",
    {
      schemas: [USER],
      id: "{user}",
      userName: "bob@example.com",
      name: { givenName: "Robert", familyName: "B" },
      emails: [{ primary: true, value: "bob@example.com", type: "work" }],
      active: true,
      groups: [],
      meta: { resourceType: "User" },
    },
    200,
    { name: { givenName: "Robert" }, displayName: undefined, externalId: "00ujl29u0le5T6Aj10h7" },
  ],
  ["GET /Groups?startIndex=1&count=100", undefined, 200, { totalResults: 0 }],
  [
    "POST /Groups",
    {
      schemas: [GROUP],
      displayName: "Engineering",
      members: [{ value: "{user}", display: "bob@example.com" }],
    },
    201,
    { members: [{ value: "{user}" }] },
    "group",
  ],
  [
    "PATCH /Groups/{group}",
    {
      schemas: PATCH,
      Operations: [{ op: "replace", value: { id: "{group}", displayName: "Engineers" } }],
    },
    200,
    { displayName: "Engineers", members: [{ value: "{user}" }] },
  ],
  [
    "PATCH /Groups/{group}",
    {
      schemas: PATCH,
      Operations: [{ op: "remove", path: 'members[value eq "{user}"]' }],
    },
    200,
    { members: [] },
  ],
  [
    "PATCH /Groups/{group}",
    {
      schemas: PATCH,
      Operations: [{ op: "add", path: "members", value: [{ value: "{user}", display: "bob" }] }],
    },
    200,
    { members: [{ value: "{user}" }] },
  ],
  ["PUT /Groups/{group}", { schemas: [GROUP], displayName: "Engineering", members: [] }, 200, {
    displayName: "Engineering",
    members: [],
  }],
  [
    "PATCH /Users/{user}",
    {
      schemas: PATCH,
      Operations: [{ op: "replace", value: { active: false } }],
    },
    200,
    { active: false },
  ],
  [
    "PATCH /Users/{user}",
    {
      schemas: PATCH,
      Operations: [{ op: "replace", value: { active: true } }],
    },
    200,
    { active: true },
  ],
  ["DELETE /Groups/{group}", undefined, 204],
  ["GET /Groups/{group}", undefined, 404, { status: "404" }],
];

for (const kind of possible(["file", ...sized<"postgres"[]>([], ["postgres"])])) {
  Deno.test(`a directory's conversations: Entra's and Okta's (${kind})`, async () => {
    for (const [name, steps] of Object.entries({ ENTRA, OKTA })) {
      await using gateway = await startGateway({ database: kind, settings: SETTINGS });
      const { ask } = await directoryOf(gateway);
      const saved = new Map<string, string>();
      const filled = (text: string) =>
        text.replaceAll(/\{(\w+)\}/g, (all, of) => saved.get(of) ?? all);
      for (const [request, body, status, reply, saves] of steps) {
        const [method, ...path] = filled(request).split(" ");
        const found = await ask(method!, path.join(" "), {
          body: body && filled(JSON.stringify(body)),
        });
        const where = `${name}: ${request}: ${JSON.stringify(found.body).slice(0, 300)}`;
        assertEquals(found.status, status, where);
        if (reply !== undefined) {
          const { members, ...plain } = reply;
          has(found.body, JSON.parse(filled(JSON.stringify(plain))), where);
          for (const [key, value] of Object.entries(reply)) {
            if (value === undefined) assertEquals(found.body[key], undefined, where);
          }
          if (members !== undefined) {
            has(found.body.members, JSON.parse(filled(JSON.stringify(members))), where);
          }
        }
        if (saves !== undefined) {
          saved.set(saves, String(found.body.id));
          assertEquals(
            found.headers.get("location"),
            `${gateway.url}/scim/v2/${saves === "user" ? "Users" : "Groups"}/${found.body.id}`,
          );
        }
      }
      // a password that Okta sends along is nowhere
      const kept = JSON.stringify(await gateway.gateway.database.all("select * from scim_users"));
      const entries = JSON.stringify(await logEntries(gateway.gateway.database, { limit: 100 }));
      assert(![kept, entries, gateway.log()].some((text) => text.includes("1mz050nq")));
      assertStringIncludes(entries, "scim_user.create");
    }
  });
}

Deno.test("groups give rights by name or ID, and a deactivated user's key is refused within a second", async () => {
  await using gateway = await startGateway({ settings: SETTINGS });
  const { accounts, keys, members, teams } = gateway.gateway;
  const platform = await teams.create({ name: "Platform", pool: false });
  const { ask } = await directoryOf(gateway);
  const made = await ask("POST", "/Users", { body: { userName: "ada@example.com" } });
  const ada = (await accounts.find("ada@example.com"))!;
  const value = made.body.id;
  const byId = await ask("POST", "/Groups", {
    body: { displayName: "Ops", externalId: "8c1e0f3a-group", members: [{ value }] },
  });
  assertEquals((await accounts.byId(ada.id))?.role, "operator");
  await ask("POST", "/Groups", { body: { displayName: "Engineering", members: [{ value }] } });
  assertEquals((await members.find(platform, ada))?.role, "member");
  await ask("DELETE", `/Groups/${byId.body.id}`);
  assertEquals((await accounts.byId(ada.id))?.role, "none");

  const { secret } = await keys.issue(ada);
  const status = async () => {
    const reply = await fetch(`${gateway.url}/user/credits`, {
      headers: { authorization: `Bearer ${secret}` },
    });
    await reply.body?.cancel();
    return reply.status;
  };
  assertEquals(await status(), 200);
  await ask("PATCH", `/Users/${value}`, {
    body: { Operations: [{ op: "replace", path: "active", value: false }] },
  });
  await until(async () => await status() === 401, { what: "the key is refused" });
});

/** A request that is refused: method, path, body, status and kind of error. */
type Refused = readonly [string, string, unknown, number, string | undefined];

Deno.test("what is wrong has the error of the RFC", async () => {
  await using gateway = await startGateway({ settings: SETTINGS });
  const { ask } = await directoryOf(gateway);
  const made = await ask("POST", "/Users", { body: { userName: "ada@example.com" } });
  const user = `/Users/${made.body.id}`;
  const group = `/Groups/${(await ask("POST", "/Groups", { body: { displayName: "g" } })).body.id}`;
  const patch = (...Operations: unknown[]) => ({ schemas: PATCH, Operations });
  const rows: readonly Refused[] = [
    ["POST", "/Users", { userName: "ADA@example.com" }, 409, "uniqueness"],
    ["POST", "/Users", {}, 400, "invalidValue"],
    ["POST", "/Users", { userName: "no address" }, 400, "invalidValue"],
    ["POST", "/Users", { userName: "b@example.com", active: "perhaps" }, 400, "invalidValue"],
    [
      "POST",
      "/Users",
      { userName: "b@example.com", title: "x".repeat(40_000) },
      400,
      "invalidValue",
    ],
    ["POST", "/Users", "{", 400, "invalidSyntax"],
    ["POST", "/Users", "[]", 400, "invalidSyntax"],
    [
      "POST",
      "/Users",
      `{"userName":"b@example.com","x":${"[".repeat(1e5)}${"]".repeat(1e5)}}`,
      400,
      "invalidSyntax",
    ],
    ["POST", "/Users", `"${"x".repeat(1_100_000)}"`, 400, "invalidSyntax"],
    ["POST", "/Groups", { members: [] }, 400, "invalidValue"],
    [
      "POST",
      "/Groups",
      { displayName: "g", members: [{ value: "scim_none" }] },
      400,
      "invalidValue",
    ],
    ["GET", '/Users?filter=userName sw "a"', undefined, 400, "invalidFilter"],
    ["GET", '/Users?filter=title eq "a"', undefined, 400, "invalidFilter"],
    ["GET", '/Groups?filter=constructor eq "a"', undefined, 400, "invalidFilter"],
    ["GET", "/Users?startIndex=x", undefined, 400, "invalidValue"],
    ["PATCH", user, patch({ op: "replace", path: "id", value: "x" }), 400, "mutability"],
    ["PATCH", user, patch({ op: "replace", path: "a..b", value: "x" }), 400, "invalidPath"],
    ["PATCH", user, patch({ op: "remove" }), 400, "noTarget"],
    [
      "PATCH",
      user,
      patch({ op: "replace", path: 'emails[type eq "x"].value', value: "x" }),
      400,
      "noTarget",
    ],
    ["PATCH", user, {}, 400, "invalidSyntax"],
    ["PATCH", group, patch({ op: "remove", path: "displayName" }), 400, "invalidValue"],
    ["PATCH", "/Users/none", patch({ op: "replace", path: "title", value: "x" }), 404, undefined],
    ["PUT", "/Groups/none", { displayName: "x" }, 404, undefined],
    ["DELETE", "/Groups/none", undefined, 404, undefined],
    ["GET", "/Schemas/none", undefined, 404, undefined],
    ["GET", "/Me", undefined, 404, undefined],
    ["POST", "/Bulk", {}, 404, undefined],
  ];
  for (const [method, path, body, status, kind] of rows) {
    const reply = await ask(method, path, { body });
    const where = `${method} ${path} ${JSON.stringify(body)?.slice(0, 80)}`;
    assertEquals([reply.status, reply.body.scimType], [status, kind], where);
    assertEquals(reply.body.schemas, ["urn:ietf:params:scim:api:messages:2.0:Error"], where);
    assertEquals(reply.body.status, String(status), where);
  }
  const second = await ask("POST", "/Users", { body: { userName: "bob@example.com" } });
  const renamed = await ask("PATCH", `/Users/${second.body.id}`, {
    body: patch({ op: "replace", path: "userName", value: "Ada@example.com" }),
  });
  assertEquals([renamed.status, renamed.body.scimType], [409, "uniqueness"]);
});

Deno.test("pages have up to 200 resources; versions are kept; what is there says what it is", async () => {
  await using gateway = await startGateway({ settings: SETTINGS });
  const { ask } = await directoryOf(gateway);
  for (let at = 0; at < 5; at++) {
    await ask("POST", "/Groups", { body: { displayName: `group ${at}` } });
  }
  const page = async (query: string) => {
    const { body } = await ask("GET", `/Groups?${query}`);
    const names = (body.Resources as Json[]).map((one) => one.displayName);
    return [body.totalResults, body.startIndex, body.itemsPerPage, names.length];
  };
  assertEquals(await page("startIndex=2&count=2"), [5, 2, 2, 2]);
  assertEquals(await page("startIndex=-3&count=0"), [5, 1, 0, 0]);
  assertEquals(await page("count=-1"), [5, 1, 0, 0]);
  assertEquals(await page("count=1000000"), [5, 1, 5, 5]);
  assertEquals(await page("startIndex=9"), [5, 9, 0, 0]);
  assertEquals(await page("startIndex=&count=&filter="), [5, 1, 5, 5], "what is empty is not set");
  assertEquals(await page("attributes="), [5, 1, 5, 5]);
  assertEquals(await page("attributes=,id"), [5, 1, 5, 5]);
  const named = async (query: string) => {
    const { body } = await ask("GET", `/Groups?count=1&${query}`);
    return (body.Resources as Json[]).map((one) => typeof one.displayName);
  };
  assertEquals(await named("attributes=%20,"), ["string"], "none is named, so that all are sent");
  assertEquals(await named("attributes=id,%20meta"), ["undefined"]);
  const ids: unknown[] = [];
  for (let at = 1; at <= 5; at += 2) {
    const { body } = await ask("GET", `/Groups?startIndex=${at}&count=2`);
    ids.push(...(body.Resources as Json[]).map(({ id }) => id));
  }
  assertEquals(new Set(ids).size, 5);

  const one = `/Groups/${ids[0]}`;
  const { headers } = await ask("GET", one);
  const etag = headers.get("etag")!;
  const unchanged = await ask("GET", one, { headers: { "if-none-match": etag } });
  assertEquals(unchanged.status, 304);
  const change = (headers: Record<string, string>) =>
    ask("PUT", one, { body: { displayName: "renamed" }, headers });
  assertEquals((await change({ "if-match": 'W/"9"' })).status, 412);
  assertEquals((await change({ "if-match": etag })).status, 200);
  assertEquals((await change({ "if-match": etag })).status, 412);
  assertEquals((await change({ "if-match": "*" })).status, 200);
  const { headers: now } = await ask("GET", one);
  const other = `W/"9" , ${now.get("etag")}`;
  assertEquals((await change({ "if-match": other })).status, 200, "one of several");
  assertEquals((await ask("DELETE", one, { headers: { "if-match": etag } })).status, 412);

  for (const path of ["Groups", "Users"]) {
    for (const externalId of [undefined, "ext-1"]) {
      const of = `named-${externalId}`;
      const name = path === "Groups" ? { displayName: of } : { userName: `${of}@example.com` };
      const made = await ask("POST", `/${path}`, { body: { ...name, externalId } });
      assertEquals([made.status, made.body.externalId], [201, externalId], path);
      assertEquals("externalId" in made.body, externalId !== undefined, "none is not null");
      assertEquals((await ask("DELETE", `/${path}/${made.body.id}`)).status, 204);
    }
  }

  const config = (await ask("GET", "/ServiceProviderConfig")).body;
  has(config, { patch: { supported: true }, filter: { maxResults: 200 } }, "config");
  for (
    const [path, names] of [["ResourceTypes", ["User", "Group"]], ["Schemas", [
      USER,
      GROUP,
      ENTERPRISE,
    ]]] as const
  ) {
    const { body } = await ask("GET", `/${path}`);
    assertEquals((body.Resources as Json[]).map(({ id }) => String(id)), [...names]);
    assertEquals((await ask("GET", `/${path}/${names[0]}`)).body.id, names[0]);
  }
});

Deno.test("only a key of an owner with the scope scim opens the API of directories, and it opens nothing else", async () => {
  await using gateway = await startGateway({ settings: SETTINGS });
  const { accounts, keys } = gateway.gateway;
  const at = async (path: string, secret: string, method = "GET", body?: unknown) => {
    const reply = await fetch(`${gateway.url}${path}`, {
      method,
      headers: { authorization: `Bearer ${secret}`, "content-type": "application/json" },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    await reply.body?.cancel();
    return reply.status;
  };
  const message = { model: "svc-k2", max_tokens: 5, messages: [{ role: "user", content: "Hi" }] };
  const elsewhere = async (secret: string) => [
    await at("/v1/chat/completions", secret, "POST", message),
    await at("/v1/messages", secret, "POST", message),
    await at("/v1/messages/count_tokens", secret, "POST", message),
    await at("/v1/responses", secret, "POST", { model: "svc-k2", input: "Hi" }),
    await at("/v1/embeddings", secret, "POST", { model: "svc-k2", input: "Hi" }),
    await at("/user/credits", secret),
    await at("/admin/v1/accounts", secret),
    await at("/admin/v1/accounts", secret, "POST", { email: "x@example.com" }),
  ];
  for (const scope of ["inference", "admin", "read", "scim"] as const) {
    const { ask, secret } = await directoryOf(gateway, [scope]);
    assertEquals((await ask("GET", "/Users")).status, scope === "scim" ? 200 : 403, scope);
    if (scope === "scim") assertEquals(await elsewhere(secret), Array(8).fill(403), scope);
  }
  for (const role of ["operator", "finance", "none"] as const) {
    const account = await accounts.create({ email: `${role}@example.org`, role });
    const issued = await keys.issue(account, { scopes: ["scim"] }).then(() => true, () => false);
    assertEquals([role, issued], [role, false]);
  }
  // an owner who is none any more
  const second = await accounts.create({ email: "second@example.org", role: "owner" });
  const { secret, id } = await keys.issue(second, { scopes: ["scim"] });
  assertEquals(await at("/scim/v2/Users", secret), 200);
  await accounts.setRole(second.email, "operator");
  assertEquals(await at("/scim/v2/Users", secret), 403);
  await accounts.setRole(second.email, "owner");
  await keys.revoke(id);
  assertEquals(await at("/scim/v2/Users", secret), 401);
  const without = await fetch(`${gateway.url}/scim/v2/Users`);
  assertEquals([without.status, without.headers.get("www-authenticate")], [401, "Bearer"]);
  assertEquals((await without.json()).status, "401");
});

Deno.test("requests of directories are limited as those of operators, apart from them", async () => {
  await using gateway = await startGateway({
    settings: { ...SETTINGS, limits: { drainMs: 5_000, adminRequestsPerMinute: 3 } },
  });
  const { ask } = await directoryOf(gateway);
  const statuses = [];
  for (let at = 0; at < 4; at++) statuses.push((await ask("GET", "/Users")).status);
  assertEquals(statuses, [200, 200, 200, 429]);
  const { headers, body } = await ask("GET", "/Users");
  assert(Number(headers.get("retry-after")) > 0);
  assertEquals(body.status, "429");
  const { secret } = await gateway.gateway.keys.issue((await gateway.gateway.accounts.owner())!, {
    scopes: ["admin"],
  });
  const admin = await fetch(`${gateway.url}/admin/v1/accounts`, {
    headers: { authorization: `Bearer ${secret}` },
  });
  assertEquals(admin.status, 200);
  await admin.body?.cancel();
});
