/** What the console shows while the database does not answer. */

import { assert, assertEquals, assertMatch, assertStringIncludes } from "../../assert.ts";
import { DatabaseError } from "../../../src/ground/database/mod.ts";
import { startGateway } from "../../fake/gateway.ts";
import { guardedDatabase } from "../../fake/guarded_database.ts";
import { PlainBrowser, signedIn } from "../../fake/visitor.ts";

Deno.test("a detached gateway is shown to operators whose session it knows, and to nobody else", async () => {
  const state = { isAway: false };
  await using gateway = await startGateway({
    wrapDatabase: (database) => ({
      ...guardedDatabase(database, () => {
        if (state.isAway) {
          throw new DatabaseError("SLUICE_SERVER", "away", { outcomeUnknown: true });
        }
      }),
      outbox: {
        isUsable: true,
        isShared: true,
        get kept() {
          return state.isAway ? 17 : 0;
        },
        get isDetached() {
          return state.isAway;
        },
      },
    }),
  });
  const owner = await signedIn(gateway, "owner@localhost");
  await gateway.gateway.accounts.create({ email: "m@example.com" });
  const member = await signedIn(gateway, "m@example.com");
  const gone = await signedIn(gateway, "owner@localhost");
  const late = await signedIn(gateway, "owner@localhost");
  for (const one of [owner, member, gone]) await (await one.get("/console/")).body?.cancel();
  const { cookie } = gone;
  await (await gone.post("/console/sign-out", {}, { from: "/console/" })).body?.cancel();
  gone.cookie = cookie;
  await (await gone.get("/console/")).body?.cancel(); // says that it has ended
  state.isAway = true;

  const shown = await owner.get("/console/operator");
  assertEquals([shown.status, shown.headers.get("retry-after")], [503, "2"]);
  const text = await shown.text();
  assertMatch(text, /Database<[^]*detached[^]*Settlements kept<\/dt><dd>17</);
  assertStringIncludes(text, "In flight");
  // a session that was not looked up since this gateway runs, one that has ended, one of no operator, and none at all
  for (
    const [who, other] of Object.entries({
      late,
      gone,
      member,
      nobody: new PlainBrowser(gateway.url),
    })
  ) {
    for (const path of ["/console/operator", "/console/sign-in"]) {
      const page = await other.get(path);
      const words = await page.text();
      assertEquals(page.status, 503, who);
      assert(!/detached|kept|17/.test(words.replace(/<head>[^]*<\/head>/, "")), `${who}: ${words}`);
      assertStringIncludes(words, "cannot use its database");
    }
  }
  const form = await owner.post("/console/sign-out", { csrf: "0" });
  assertEquals(form.status, 503);
  await form.body?.cancel();
  state.isAway = false;
  const back = await owner.get("/console/operator");
  assertEquals(back.status, 200);
  await back.body?.cancel();
  assert(!gateway.log().includes('"level":"error","message":"console'));
});
