import { assert, assertEquals, assertMatch } from "../../assert.ts";
import { startGateway } from "../../fake/gateway.ts";

const PATHS = [
  { path: "/v1/models", cache: "private, no-cache" },
  { path: "/v1/models/svc-k2", cache: "private, no-cache" },
  { path: "/openapi.json", cache: "no-cache" },
  { path: "/console/assets/style.css", cache: "public, max-age=300" },
  { path: "/console/assets/icon.svg", cache: "public, max-age=300" },
];

/** A response's tag, which Deno 2.4 makes a weak one when it compresses the body. */
function tagOf({ headers }: { headers: Headers }): string {
  return headers.get("etag")!.replace(/^W\//, "");
}

for (const { path, cache } of PATHS) {
  Deno.test(`GET ${path}: 304 without a body for a client that has it already`, async () => {
    await using gateway = await startGateway();
    const get = async (headers: Record<string, string> = {}, method = "GET") => {
      const reply = await fetch(`${gateway.url}${path}`, { method, headers });
      return { status: reply.status, headers: reply.headers, text: await reply.text() };
    };
    const first = await get();
    const tag = tagOf(first);
    assertMatch(tag, /^"[0-9a-f]+-[\w+/]{27}"$/);
    assertEquals([first.status, first.headers.get("cache-control")], [200, cache]);
    for (const tags of [tag, `W/${tag}`, `"other", ${tag}`, "*"]) {
      const again = await get({ "if-none-match": tags });
      assertEquals([again.status, again.text], [304, ""], tags);
      assertEquals([tagOf(again), again.headers.get("cache-control")], [tag, cache]);
      assertEquals(again.headers.get("content-type"), null);
    }
    for (const tags of ['"other"', tag.slice(1, -1), tag.toLowerCase(), ""]) {
      assertEquals((await get({ "if-none-match": tags })).text, first.text, tags);
    }
    assertEquals(tagOf(await get({}, "HEAD")), tag);
    assertEquals((await get({ "if-none-match": tag }, "HEAD")).status, 304);
  });
}

Deno.test("a list of models has the tag of its own body, and says whose credits are left on a 304", async () => {
  await using gateway = await startGateway();
  const get = async (path: string, headers: Record<string, string> = {}) => {
    const reply = await fetch(`${gateway.url}${path}`, { headers });
    await reply.body?.cancel();
    return reply;
  };
  const plain = tagOf(await get("/v1/models"));
  const named = { "anthropic-version": "2023-06-01" };
  const withAliases = await get("/v1/models", { ...named, "if-none-match": plain });
  assertEquals(withAliases.status, 200, "another list at the same address");
  assert(tagOf(withAliases) !== plain);
  const kept = await get("/v1/models", { "if-none-match": plain, "x-api-key": gateway.key });
  assertEquals([kept.status, kept.headers.get("x-credits-remaining")], [304, "1000000"]);
  assert(kept.headers.has("request-id"));
  const unknown = await get("/v1/models/nothing", { "if-none-match": "*" });
  assertEquals([unknown.status, unknown.headers.get("etag")], [404, null]);
});

Deno.test("a header of more than 1,024 characters is not compared, which would take long", async () => {
  await using gateway = await startGateway();
  const path = `${gateway.url}/console/assets/icon.svg`;
  const get = async (tags: string) => {
    const reply = await fetch(path, { headers: { "if-none-match": tags } });
    await reply.body?.cancel();
    return reply;
  };
  const tag = tagOf(await get('"other"'));
  const padded = (chars: number) => `"a"${" ".repeat(chars - tag.length - 4)},${tag}`;
  assertEquals([(await get(padded(1_024))).status, (await get(padded(1_025))).status], [304, 200]);
});
