/** Tags of requests: on every endpoint that is charged, and never in the way of a request that has none. */

import { assert, assertEquals, assertStringIncludes } from "../assert.ts";
import { assertLedgerClean } from "../fake/customer.ts";
import { startGateway, type TestGateway, usageRecords } from "../fake/gateway.ts";
import { RawWebSocket } from "../fake/raw_websocket.ts";
import { sluice } from "../fake/shell.ts";
import { until } from "../fake/temp.ts";
import { signedIn } from "../fake/visitor.ts";

const ROUTES = { vector: { kind: "embeddings", minimum: 1, prices: { input: 1 } } } as const;
const USER = [{ role: "user", content: "Hi" }];
const BODIES: Readonly<Record<string, unknown>> = {
  "/v1/chat/completions": { model: "svc-k2", messages: USER, user: "u-1" },
  "/v1/messages": {
    model: "svc-k2",
    messages: USER,
    max_tokens: 20,
    metadata: { user_id: "u-1" },
  },
  "/v1/responses": { model: "svc-k2", input: "Hi", safety_identifier: "u-1" },
  "/v1/embeddings": { model: "vector", input: "Hi", user: "u-1" },
};

async function tagsRecorded(gateway: TestGateway) {
  return (await usageRecords(gateway)).map(({ tags }) => tags && JSON.parse(String(tags)));
}

Deno.test("tags of the header and of the client are recorded on each endpoint, streams and turns of a WebSocket included", async () => {
  await using gateway = await startGateway({ settings: { routes: ROUTES } });
  const headers = { "x-sluice-tags": "project=alpha, env=ci" };
  const expected = { user: "u-1", project: "alpha", env: "ci" };
  const all: unknown[] = [];
  for (const [path, body] of Object.entries(BODIES)) {
    for (const stream of path === "/v1/embeddings" ? [false] : [false, true]) {
      const sent = path === "/v1/embeddings" ? body : { ...body as object, stream };
      const reply = await gateway.post(path, sent, { headers });
      assertEquals(reply.status, 200, await reply.text());
      all.push(expected);
    }
  }
  await using socket = await RawWebSocket.connect(`${gateway.url}/v1/responses`, {
    authorization: `Bearer ${gateway.key}`,
    ...headers,
  });
  await socket.turn(BODIES["/v1/responses"] as never);
  all.push(expected);
  await until(async () => (await usageRecords(gateway)).length === all.length);
  assertEquals(await tagsRecorded(gateway), all);
  await assertLedgerClean(gateway);

  const [{ request_id: id } = {}] = await usageRecords(gateway);
  const file = `${gateway.directory}/sluice.jsonc`;
  const { out } = await sluice(["requests", "show", String(id), "--config", file], {
    directory: gateway.directory,
  });
  assertStringIncludes(out, "user=u-1, project=alpha, env=ci");
  const browser = await signedIn(gateway, gateway.gateway.owner.email);
  const page = await (await browser.get(`/console/requests/${id}`)).text();
  assertStringIncludes(page, "<dt>Tag project</dt><dd>alpha</dd>");
});

Deno.test("an invalid header is a 400 in each dialect that says what is right, and nothing is recorded", async () => {
  await using gateway = await startGateway({ settings: { routes: ROUTES } });
  for (const [path, body] of Object.entries(BODIES)) {
    const reply = await gateway.post(path, body, { headers: { "x-sluice-tags": "Project=a" } });
    const { error } = await reply.json();
    assertEquals(reply.status, 400);
    assertStringIncludes(error.message, "Invalid tag name 'Project'");
    assertStringIncludes(error.message, "X-Sluice-Tags: project=alpha,env=ci");
    assertEquals(reply.headers.get("x-should-retry"), "false");
  }
  assertEquals(await usageRecords(gateway), []);
});

Deno.test("what clients say is not recorded where the settings say so; the header is", async () => {
  await using gateway = await startGateway({ settings: { tags: { fromClients: false } } });
  const body = BODIES["/v1/chat/completions"];
  await (await gateway.post("/v1/chat/completions", body)).text();
  await (await gateway.post("/v1/chat/completions", body, {
    headers: { "x-sluice-tags": "session=s1" },
  })).text();
  assertEquals(await tagsRecorded(gateway), [null, { session: "s1" }]);
  const rows = await gateway.gateway.database.all("select * from usage_tags");
  assertEquals(rows, [], "sessions are not summed up");
  assert((await usageRecords(gateway)).length === 2);
});
