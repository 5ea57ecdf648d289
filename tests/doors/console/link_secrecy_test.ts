/** A sign-in link that still works is as good as a password: it stands in no log. */

import { DatabaseError } from "../../../src/ground/database/mod.ts";
import { assert, assertEquals, assertStringIncludes } from "../../assert.ts";
import { startGateway, statusOf } from "../../fake/gateway.ts";
import { guardedDatabase } from "../../fake/guarded_database.ts";
import { PlainBrowser } from "../../fake/visitor.ts";

for (const use of ["batch", "one"]) {
  for (const method of ["GET", "HEAD", "POST"]) {
    Deno.test(`a sign-in link that is asked for by ${method} while the database fails (${use}) is not logged`, async () => {
      let away = false;
      await using gateway = await startGateway({
        wrapDatabase: (database) =>
          guardedDatabase(database, (asked) => {
            if (away && asked === use) {
              throw new DatabaseError("SLUICE_SERVER", "away", { outcomeUnknown: true });
            }
          }),
      });
      const { accounts, sessions } = gateway.gateway;
      const owner = await accounts.get("owner@localhost");
      const browser = new PlainBrowser(gateway.url);
      // with a session of its own, which is looked for first
      const first = await browser.get(`/console/link/${await sessions.makeLink(owner)}`);
      assertEquals(first.status, 303);
      const token = await sessions.makeLink(owner);
      const path = `/console/link/${token}`;
      away = true;
      const found: number[] = [];
      for (const asked of [path, `${path}/`, `${path}?from=mail`]) {
        const reply = await fetch(`${gateway.url}${asked}`, {
          method,
          headers: { cookie: browser.cookie, "content-length": "0" },
          redirect: "manual",
        });
        found.push(reply.status);
        await reply.body?.cancel();
      }
      away = false;
      assert(found.some((status) => status >= 400), found.join());
      const log = gateway.log();
      assert(!log.includes(token), log.split("\n").find((line) => line.includes(token)));
      if (found.includes(500)) assertStringIncludes(log, "console page failed");
      if (use === "batch") {
        const works = new PlainBrowser(gateway.url).get(`/console/link/${token}`);
        assertEquals(await statusOf(works), 303, "it worked all the time");
      }
    });
  }
}

Deno.test("a sign-in link that was pasted wrongly is not logged either", async () => {
  await using gateway = await startGateway();
  const { accounts, sessions } = gateway.gateway;
  const token = await sessions.makeLink(await accounts.get("owner@localhost"));
  for (const path of ["//console/link", "/Console/link", "/v1/console/link", "/x/console/link"]) {
    assertEquals(await statusOf(fetch(`${gateway.url}${path}/${token}`)), 404, path);
  }
  const lines = gateway.log().split("\n");
  assertEquals(lines.filter((line) => line.includes(token)), []);
  const works = new PlainBrowser(gateway.url).get(`/console/link/${token}`);
  assertEquals(await statusOf(works), 303);
});
