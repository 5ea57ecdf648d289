/** After signing in one is where one wanted to go, and nowhere else. */

import fc from "fast-check";
import { assert, assertEquals, assertStringIncludes } from "../../assert.ts";
import { startGateway } from "../../fake/gateway.ts";
import { testSeed } from "../../fake/random.ts";
import { PlainBrowser } from "../../fake/visitor.ts";
import { sized } from "../../tier.ts";

const PASSWORD = "a long enough password";

Deno.test("signing in, by a password or a link, leads to the page that was asked for", async () => {
  await using gateway = await startGateway();
  const { accounts, passwords, sessions } = gateway.gateway;
  const ada = await accounts.create({ email: "ada@example.com" });
  await passwords.set(ada, PASSWORD);
  const byPassword = async (browser: PlainBrowser) =>
    await browser.post("/console/sign-in", { email: ada.email, password: PASSWORD });
  const byLink = async (browser: PlainBrowser) =>
    await browser.get(`/console/link/${await sessions.makeLink(ada)}`);
  const paths = [
    "/console/usage?by=model&since=7d&tag=a%3Db",
    "/console/keys",
    "/console/requests/req_1?x=%2f",
    "/console/teams/team_x",
  ];
  for (const signIn of [byPassword, byLink]) {
    for (const path of paths) {
      const browser = new PlainBrowser(gateway.url);
      const asked = await browser.get(path);
      assertEquals(asked.headers.get("location"), "/console/sign-in", path);
      const reply = await signIn(browser);
      assertEquals([reply.status, reply.headers.get("location")], [303, path]);
      const [session, forgotten] = reply.headers.getSetCookie();
      assert(
        /^sluice=/.test(session!) && /^sluice-page=;.*Expires=Thu, 01 Jan 1970/.test(forgotten!),
      );
      assertEquals((await browser.get("/console/account")).status, 200, "signed in");
    }
  }
  // downloads, streams and forms are no pages to come back to
  for (const path of ["/console/usage.csv", "/console/", "/console"]) {
    assertEquals((await new PlainBrowser(gateway.url).get(path)).headers.getSetCookie(), [], path);
  }
  const nobody = new PlainBrowser(gateway.url);
  const { headers } = await nobody.post("/console/keys", { name: "x" });
  assertEquals(nobody.cookie, "");
  const door = await (await nobody.get(headers.get("location")!)).text();
  assertStringIncludes(door, "You are signed out, so the form was not carried out.");
  await nobody.get("/console/keys", { "sec-fetch-mode": "cors" });
  assertEquals(nobody.cookie, "");
});

Deno.test("no cookie leads out of the console", async () => {
  await using gateway = await startGateway();
  const { accounts, sessions } = gateway.gateway;
  const ada = await accounts.create({ email: "ada@example.com" });
  const part = fc.constantFrom(
    "/",
    "\\",
    "//",
    "..",
    "/console/",
    "evil.example",
    "@",
    ":",
    "%2f",
    "%0d%0a",
    "http:",
    "?",
    "#",
    " ",
    "é",
  );
  const value = fc.oneof(fc.array(part, { maxLength: 6 }).map((all) => all.join("")), fc.string());
  await fc.assert(
    fc.asyncProperty(value, fc.boolean(), async (text, isEncoded) => {
      const cookie = isEncoded
        ? encodeURIComponent(text.toWellFormed())
        : text.replaceAll(/[^!-~]|[;,]/g, "x");
      const reply = await fetch(`${gateway.url}/console/link/${await sessions.makeLink(ada)}`, {
        headers: { cookie: `sluice-page=${cookie}` },
        redirect: "manual",
      });
      await reply.body?.cancel();
      const to = reply.headers.get("location")!;
      const { origin, pathname } = new URL(to, gateway.url);
      assertEquals([reply.status, origin], [303, gateway.url], to);
      assert(to.startsWith("/console/") && pathname.startsWith("/console/"), to);
    }),
    { seed: testSeed(), numRuns: sized(60, 3_000) },
  );
});
