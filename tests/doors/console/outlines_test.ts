/**
 * Each page of the console, as each of those who use it sees it, says what its outline says, over one gateway with something of
 * everything in it, whose clock stands still. `SLUICE_WRITE_OUTLINES=1` writes the outlines again: what has changed is then read as a
 * change of `outlines/`.
 */

import type { SettingsInput } from "../../../src/settings/config/mod.ts";
import { assertEquals } from "../../assert.ts";
import { NO_PASSES, startGateway } from "../../fake/gateway.ts";
import { isolateClock } from "../../fake/isolate_clock.ts";
import { fakeUpstream } from "../../fake/upstream.ts";
import { PlainBrowser, signedIn } from "../../fake/visitor.ts";
import { fakeStripe } from "../../money/payments/fake_stripe.ts";
import { outlineOf } from "./outline.ts";
import { LONG_NAME } from "./rich.ts";
import { fillWalk, type WalkData, walkersOf, walkSettings } from "./walk_places.ts";

const NOW = Date.UTC(2026, 5, 15, 12);
const FOLDER = new URL("outlines/", import.meta.url);
/** Pages that are of one text, of all components, and of a row a day. */
const UNTOLD = /docs$|_components|=90d/;
const isWriting = Deno.env.get("SLUICE_WRITE_OUTLINES") === "1";

const fileOf = (name: string) => new URL(`${name}.txt`, FOLDER);

/** The words that stand for what has IDs in a path. */
function wordsOf(
  { rich, orders, member, userCode }: WalkData,
): readonly (readonly [string, string])[] {
  return [
    [rich.teamId, "team"],
    [rich.failedId, "failed"],
    [rich.requestId, "complete"],
    [rich.requestId.slice(0, 12), "part"],
    [rich.accountId, "lead"],
    [member.id, "member"],
    [userCode, "code"],
    [orders.openId, "open"],
    [orders.paidId, "paid"],
    [orders.refundedId, "refunded"],
    [orders.differsId, "differs"],
  ];
}

/** The models of an alias, the one that is real, and one of a long name. */
const some = (routes: NonNullable<SettingsInput["routes"]>) =>
  Object.fromEntries(
    Object.entries(routes).filter(([id]) => ["model-1", "model-2", "real", LONG_NAME].includes(id)),
  );

Deno.test("each page is as its outline says", async (t) => {
  // goes on whenever it is looked at, so that what was made first is listed first, until it stands still a minute later
  let [atMs, step] = [NOW, 1];
  using _clock = isolateClock(() => atMs += step);
  await using stripe = fakeStripe();
  await using upstream = fakeUpstream(() => Response.json({}, { status: 404 }));
  const { routes, ...settings } = walkSettings(stripe, upstream);
  await using gateway = await startGateway({
    now: () => Date.now(),
    alertTimes: NO_PASSES, // an alert that comes meanwhile would be on some pages
    settings: { ...settings, alerts: { dailyAudit: false }, routes: some(routes!) },
  });
  const data = await fillWalk(gateway, stripe, { requests: 24, keys: 3, members: 2 });
  [atMs, step] = [NOW + 60_000, 0];
  const seen = new Map<string, string>();
  const words = wordsOf(data);
  const chance = [
    [gateway.directory, "DIRECTORY"],
    [data.userCode, "USER-CODE"],
    [new RegExp(`${String(NOW).slice(0, 8)}\\d{5}`, "g"), "MS"], // by how often the clock was looked at
  ] as const;
  for (const [walker, { email, places }] of Object.entries(walkersOf(data))) {
    const browser = email === undefined
      ? new PlainBrowser(gateway.url)
      : await signedIn(gateway, email);
    for (const [at, { path }] of places.entries()) {
      if (UNTOLD.test(path)) continue;
      const named = words.reduce((all, [id, word]) => all.replace(id, word), path || "home");
      const name = `${walker} ${named}`.replaceAll(/[^\w=]+/g, "-");
      if (seen.has(name)) continue;
      const reply = await browser.get(`/console/${path}`);
      const html = await reply.text();
      // what is around the page is the same on all of somebody's pages
      const [main] = at === 0 ? [html] : /<main[\s\S]*<\/main>/.exec(html) ?? [html];
      seen.set(name, outlineOf(main, chance));
    }
  }
  const told = await Array.fromAsync(Deno.readDir(FOLDER), ({ name }) => name.slice(0, -4));
  if (isWriting) {
    for (const name of told) await Deno.remove(fileOf(name));
    for (const [name, outline] of seen) await Deno.writeTextFile(fileOf(name), outline);
    return;
  }
  assertEquals([...seen.keys()].toSorted(), told.toSorted());
  for (const [name, outline] of seen) {
    await t.step(name, async () => assertEquals(outline, await Deno.readTextFile(fileOf(name))));
  }
});
