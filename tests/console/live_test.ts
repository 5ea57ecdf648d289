import { assert, assertEquals, assertMatch, assertStringIncludes } from "../assert.ts";
import { customer } from "../fake/customer.ts";
import { startGateway, statusOf } from "../fake/gateway.ts";
import { inTime } from "../fake/temp.ts";
import { PlainBrowser, signedIn } from "../fake/visitor.ts";
import { linesOf } from "../streams.ts";

const OWNER = "owner@localhost";
const LIVE = "/console/operator/live";
const EVENTS = { accept: "text/event-stream" };

/** The parts that a live page is sent; iterating over them waits for them. */
async function* partsOf(reply: Response): AsyncGenerator<string, "ended"> {
  let part = "";
  for await (const line of linesOf(reply.body!)) {
    if (line === "") yield part;
    part = line === "" ? "" : part + line.slice("data:".length);
  }
  return "ended";
}

Deno.test("live pages: whole for a browser, a part again and again for its script", async () => {
  await using gateway = await startGateway();
  const operator = await signedIn(gateway, OWNER);
  for (
    const accept of [
      "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
      "*/*",
      "application/json",
      "text/html, text/event-stream;q=0.9",
    ]
  ) {
    const reply = await operator.get(LIVE, { accept });
    assertStringIncludes(await reply.text(), "<div data-live", accept);
    assertEquals(reply.headers.get("content-type"), "text/html; charset=utf-8");
  }
  const reply = await operator.get(LIVE, EVENTS);
  assertEquals(reply.headers.get("content-type"), "text/event-stream");
  assertEquals(reply.headers.get("cache-control"), "no-store, no-transform");
  assertStringIncludes(reply.headers.get("content-security-policy")!, "default-src 'none'");
  const parts = partsOf(reply);
  assertStringIncludes((await parts.next()).value, "No requests in flight");
  const asked = gateway.chat("Hi [[stall 2500]]");
  let shown = "";
  while (!shown.includes("svc-k2")) shown = (await parts.next()).value;
  assertMatch(shown, /^<p class="quiet">1 request .*<\/table>/);
  await parts.return("ended"); // disconnects
  assertEquals(await statusOf(asked), 200);
});

Deno.test("a live page's events are for operators, and end with their session", async () => {
  await using gateway = await startGateway();
  const ada = await customer(gateway, 10);
  const user = await signedIn(gateway, ada.email);
  assertEquals(await statusOf(new PlainBrowser(gateway.url).get(LIVE, EVENTS)), 303);
  assertEquals(await statusOf(user.get(LIVE, EVENTS)), 404);
  const operator = await signedIn(gateway, OWNER);
  const parts = partsOf(await operator.get(LIVE, EVENTS));
  assertEquals((await parts.next()).done, false);
  await operator.post("/console/sign-out", {}, { from: LIVE });
  const last = await parts.next();
  assert(last.done && last.value === "ended", "nothing more after the session has ended");
});

Deno.test("a live page holds up no stop", async () => {
  const gateway = await startGateway();
  const reply = await (await signedIn(gateway, OWNER)).get("/console/operator/upstreams", EVENTS);
  const parts = partsOf(reply);
  assertStringIncludes((await parts.next()).value, "simulator");
  const next = parts.next();
  await gateway[Symbol.asyncDispose]();
  // one that outlasts the patience with open connections is cut off, which its reader is told
  assertEquals(await inTime(next, 1_000, "late"), { done: true, value: "ended" });
});
