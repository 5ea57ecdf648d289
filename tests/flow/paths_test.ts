import { assert, assertEquals } from "../assert.ts";
import { startGateway } from "../fake/gateway.ts";
import { exchange, postHead, type RawReply } from "../fake/raw_http.ts";

/** Paths that a router may take for one of the API, and the door for another. */
const PATHS: readonly { path: string; why: string }[] = [
  { path: "/v1/chat/completions", why: "as it is" },
  { path: "/v1/chat/completions?a=b", why: "with a query" },
  { path: "/%761/chat/completions", why: "a letter of the first part in percent" },
  { path: "/v%31/chat/completions", why: "a digit of the first part in percent" },
  { path: "/v1/%63hat/completions", why: "a letter of a later part in percent" },
  { path: "/v1%2Fchat/completions", why: "a slash in percent" },
  { path: "/%2576%31/chat/completions", why: "in percent twice" },
  { path: "//v1/chat/completions", why: "two slashes before it" },
  { path: "/v1//chat/completions", why: "two slashes within" },
  { path: "/v1/./chat/completions", why: "a part that is a dot" },
  { path: "/./v1/chat/completions", why: "a dot before it" },
  { path: "/x/../v1/chat/completions", why: "two dots before it" },
  { path: "/x/%2e%2e/v1/chat/completions", why: "two dots in percent" },
  { path: "/v1/chat/completions/", why: "a slash behind it" },
  { path: "/V1/chat/completions", why: "a capital" },
  { path: "/\\v1/chat/completions", why: "a backslash" },
  { path: "/v1\\chat\\completions", why: "backslashes for slashes" },
  { path: "/v1/chat/completions%00", why: "a zero byte behind it" },
  { path: "/v1/chat/completions%23x", why: "a fragment in percent" },
  { path: "/%ff/../v1/chat/completions", why: "no UTF-8" },
  { path: "http://localhost/%761/chat/completions", why: "an absolute address" },
  { path: "/%76%31/models", why: "another endpoint" },
  { path: "/%75ser/credits", why: "the caller's credits" },
];

const HEADERS = [
  "x-request-id",
  "request-id",
  "access-control-allow-origin",
  "access-control-expose-headers",
];

function ask(url: string, key: string, path: string): Promise<RawReply> {
  const body = JSON.stringify({
    model: "svc-k2",
    messages: [{ role: "user", content: "Hi [[say hello]]" }],
  });
  const post = postHead(path, { key, headers: [`content-length: ${body.length}`] }) + body;
  const get = postHead(path, { key, headers: [] }).replace("POST", "GET");
  return exchange(url, [path.includes("chat") || path.includes("x") ? post : get]);
}

Deno.test("the door and the router read the same path", async () => {
  await using gateway = await startGateway();
  const wrong: string[] = [];
  for (const { path, why } of PATHS) {
    const { status, headers } = await ask(gateway.url, gateway.key, path);
    const missing = HEADERS.filter((name) => !headers.has(name));
    // the router took it for one of /v1/*: then it has all that belongs to that
    const whole = status === 200 || (status === 404 && path.startsWith("/v1/"));
    const ids = status === 404 ? missing.filter((name) => name.endsWith("request-id")) : [];
    const needed = whole ? missing : ids;
    if (needed.length > 0) wrong.push(`${path} (${why}): ${status} without ${needed}`);
    if (![200, 400, 404].includes(status)) wrong.push(`${path} (${why}): ${status}`);
  }
  assertEquals(wrong, []);
});

Deno.test("no way to write a path is answered while the gateway stops", async () => {
  await using gateway = await startGateway();
  gateway.gateway.app.stopTaking();
  const wrong: string[] = [];
  for (const { path, why } of PATHS) {
    const { status, headers } = await ask(gateway.url, gateway.key, path);
    if (![400, 404, 503].includes(status)) wrong.push(`${path} (${why}): ${status}`);
    if (status === 503 && !headers.has("retry-after")) wrong.push(`${path}: no retry-after`);
  }
  assertEquals(wrong, []);
  const plain = await ask(gateway.url, gateway.key, "/v1/chat/completions");
  assert(plain.status === 503);
});
