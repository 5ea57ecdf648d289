/** Replies with one resource of SCIM: which of them say that it has not changed. */

import { errorReply, resourceReply } from "../../../src/doors/http/scim_replies.ts";
import { assertEquals } from "../../assert.ts";

Deno.test("only a read of the version that the client has says that it has not changed (table)", async () => {
  const what = { base: "/scim/v2", id: "usr_1", version: 3, at: "Users", status: 200 } as const;
  const replyTo = (method: string, etag?: string) =>
    resourceReply({ method, header: (() => etag) as never }, { userName: "ada" }, what);
  const current = replyTo("GET").headers.get("etag")!;
  for (const method of ["GET", "POST", "PUT", "PATCH"]) {
    for (const etag of [undefined, 'W/"none"', current]) {
      const reply = replyTo(method, etag);
      const isUnchanged = method === "GET" && etag === current;
      assertEquals(reply.status, isUnchanged ? 304 : 200, `${method} ${etag}`);
      assertEquals(reply.headers.get("location"), "/scim/v2/Users/usr_1");
      assertEquals((await reply.text()).includes("ada"), !isUnchanged);
    }
  }
});

Deno.test("an error says what is wrong, when to come again if that helps, and how to prove who asks (table)", async () => {
  for (
    const [status, more, type, wait, proof] of [
      [400, { scimType: "invalidValue" }, "invalidValue", null, null],
      [400, {}, undefined, null, null],
      [401, {}, undefined, null, "Bearer"],
      [404, { retryAfterMs: 9_000 }, undefined, null, null],
      [429, { retryAfterMs: 1_001 }, undefined, "2", null],
      [429, { retryAfterMs: 0 }, undefined, "1", null],
      [503, {}, undefined, "2", null],
      [500, {}, undefined, null, null],
    ] as const
  ) {
    const reply = errorReply(status, "no", more);
    const { status: said, scimType, detail } = await reply.json();
    assertEquals([reply.status, said, detail, scimType], [status, `${status}`, "no", type]);
    assertEquals(
      [reply.headers.get("retry-after"), reply.headers.get("www-authenticate")],
      [wait, proof],
    );
  }
});
