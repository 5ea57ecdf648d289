import { crossOriginHeaders, mayConnect, preflight } from "../../../src/doors/http/cross_origin.ts";
import { assertEquals } from "../../assert.ts";

const APP = "https://app.example";

/** A request to a gateway at `gateway.example:8080`. */
function from(origin: string | null, host: string | null = "gateway.example:8080"): Request {
  const headers = new Headers();
  if (origin !== null) headers.set("origin", origin);
  if (host !== null) headers.set("host", host);
  return new Request("http://gateway.example:8080/v1/responses", { headers });
}

Deno.test("a WebSocket is opened by programs, the gateway's own pages and pages of allowed origins only", () => {
  for (
    const [origin, origins, expected] of [
      [null, [], true],
      [null, [APP], true],
      [APP, [APP], true],
      [APP, ["https://other.example", APP], true],
      [APP, ["*"], true],
      ["null", ["*"], true],
      ["http://gateway.example:8080", [], true],
      ["https://gateway.example:8080", [], true],
      [APP, [], false],
      ["https://app.example.evil.example", [APP], false],
      ["https://app.example:444", [APP], false],
      ["http://app.example", [APP], false],
      ["null", [], false],
      ["null", [APP], false],
      ["", [APP], false],
      ["not a URL", [APP], false],
      ["http://gateway.example", [], false],
      ["http://gateway.example:8081", [APP], false],
      ["http://evil.example/gateway.example:8080", [], false],
      ["http://gateway.example:8080@evil.example", [], false],
    ] as const
  ) {
    assertEquals(mayConnect(from(origin), origins), expected, `${origin} of ${origins.join()}`);
  }
  assertEquals(mayConnect(from("null", null), []), false, "nothing is not the same as nothing");
});

Deno.test("a page of an allowed origin may read what it gets, and no other", () => {
  const allowed = (origin: string | null, origins: readonly string[]) => {
    const headers = crossOriginHeaders(from(origin), origins);
    const of = headers["access-control-allow-origin"];
    assertEquals("access-control-expose-headers" in headers, of !== undefined);
    // caches keep what depends on the origin apart
    assertEquals(headers.vary, of === "*" ? undefined : "Origin");
    return of;
  };
  assertEquals(allowed(APP, [APP]), APP);
  assertEquals(allowed(APP, ["*"]), "*");
  assertEquals(allowed(null, ["*"]), "*");
  assertEquals(allowed("https://evil.example", [APP]), undefined);
  assertEquals(allowed("null", [APP]), undefined);
  assertEquals(allowed(null, [APP]), undefined);
});

Deno.test("a preflight request may send the headers that it asks for, and none if it asks for none", () => {
  const allowed = (asked: string | null) => {
    const request = from(APP);
    if (asked !== null) request.headers.set("access-control-request-headers", asked);
    const reply = preflight(request, crossOriginHeaders(request, [APP]));
    assertEquals([reply.status, reply.headers.get("access-control-allow-origin")], [204, APP]);
    return reply.headers.get("access-control-allow-headers");
  };
  assertEquals(allowed("authorization, content-type"), "authorization, content-type");
  assertEquals(allowed(null), null);
});
