/** What the console's pages say of a request that failed. */

import { assert, assertEquals, assertStringIncludes } from "../../assert.ts";
import { startGateway, statusOf } from "../../fake/gateway.ts";
import { completion, fakeUpstream } from "../../fake/upstream.ts";
import { signedIn } from "../../fake/visitor.ts";

const OWNER = "owner@localhost";

/** The text of a page, without its tags. */
async function textOf(reply: Promise<Response>): Promise<string> {
  return (await (await reply).text()).replace(/<[^>]+>/g, " ").replace(/\s+/g, " ");
}

Deno.test("a failed request: its reason in the list, its message and attempts on its page", async () => {
  let status = 503;
  const answers = () =>
    status === 200
      ? completion("Hi")
      : Response.json({ error: { message: "<script>alert(1)</script> is <b>bad</b>" } }, {
        status,
      });
  await using a = fakeUpstream(answers);
  await using b = fakeUpstream(answers);
  await using gateway = await startGateway({
    settings: {
      upstreams: { one: { url: a.url }, two: { url: b.url } },
      routes: {
        r: { targets: [{ upstream: "one", model: "x" }, { upstream: "two", model: "y" }] },
      },
    },
  });
  const browser = await signedIn(gateway, OWNER);
  const ask = async () => {
    const reply = await gateway.chat("Hi", { model: "r" });
    await reply.body?.cancel();
    return `/console/requests/${reply.headers.get("request-id")}`;
  };
  const failed = await textOf(browser.get(await ask()));
  assertStringIncludes(failed, "Upstream no reply; last tried two as y");
  assertStringIncludes(
    failed,
    "Outcome upstream failed Error code upstream_unavailable Message The ",
  );
  assertStringIncludes(failed, "Attempts 4");
  assertEquals(failed.match(/(one x|two y) status 503 \d+ ms/g)?.length, 4, failed);

  status = 400;
  const rejected = await (await browser.get(await ask())).text();
  assertStringIncludes(rejected, "&lt;script&gt;alert(1)&lt;/script&gt;");
  assert(!rejected.includes("<script>alert"));

  status = 200;
  const complete = await textOf(browser.get(await ask()));
  assertStringIncludes(complete, "Upstream one as x");
  for (const words of ["Error code", "Message", "no reply"]) {
    assert(!complete.includes(words), words);
  }

  const list = await textOf(browser.get("/console/requests"));
  assertStringIncludes(list, "upstream failed status 503");
  assertStringIncludes(list, "rejected invalid request");
});

Deno.test("the gateway's own failure is not called the upstream's, and one of before is not explained", async () => {
  await using gateway = await startGateway();
  assertEquals(await statusOf(gateway.chat("Hi")), 200);
  const browser = await signedIn(gateway, OWNER);
  const { database } = gateway.gateway;
  const { request_id: id } = (await database.one("select request_id from usage_records"))!;
  const pages = async (sql: string) => {
    await database.batch([{ sql: `update usage_records set usage_source = null, ${sql}` }]);
    return [
      await textOf(browser.get(`/console/requests/${id}`)),
      await textOf(browser.get("/console/requests")),
    ] as const;
  };
  const nothingSent = "attempts = 0, upstream = null, upstream_model = null, first_token_ms = null";
  const own = await pages(
    `${nothingSent}, ending = 'refused', reason = 'gateway_unavailable', message = 'Stopping.'`,
  );
  assertStringIncludes(
    own[0],
    "Outcome gateway failed Error code gateway_unavailable Message Stopping.",
  );
  assertStringIncludes(own[1], "gateway failed gateway unavailable");
  const older = await pages("ending = 'upstream_failed', reason = null, message = null");
  assertStringIncludes(older[0], "Outcome failed Error code not recorded");
  for (const page of [...own, ...older]) assert(!page.includes("Outcome upstream failed"));
});
