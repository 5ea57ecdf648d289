/**
 * Each page of the console, as each of those who use it sees it, says what its outline says, over one gateway with something of
 * everything in it, whose clock stands still. `SLUICE_WRITE_OUTLINES=1` writes the outlines again: what has changed is then read as a
 * change of `outlines/`.
 */

import type { SettingsInput } from "../../../src/settings/config/mod.ts";
import { assertEquals } from "../../assert.ts";
import { NO_PASSES, startGateway, type TestGateway } from "../../fake/gateway.ts";
import { isolateClock } from "../../fake/isolate_clock.ts";
import { lendToGone } from "../../fake/ledger.ts";
import { fakeUpstream } from "../../fake/upstream.ts";
import { PlainBrowser, signedIn } from "../../fake/visitor.ts";
import { fakeStripe } from "../../money/payments/fake_stripe.ts";
import { outlineOf } from "./outline.ts";
import { LONG_NAME } from "./rich.ts";
import { setBudget } from "../../../src/money/ledger/mod.ts";
import { rememberAudit } from "../../../src/operating/alerts/daily_audit.ts";
import { fillWalk, type WalkData, type Walker, walkersOf, walkSettings } from "./walk_places.ts";

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

/** Makes more than a walk needs: what there is in each of its states. */
async function fillStates({ gateway }: TestGateway, { rich, member }: WalkData) {
  const { accounts, codes, database, keys, members, sales, teams } = gateway;
  const nowMs = Date.now();
  await accounts.create({ email: "service@example.com", name: "CI", kind: "service" });
  const away = await accounts.create({ email: "away@example.com", name: "Away" });
  const team = await teams.create({ name: "Team without a pool", pool: false });
  await members.add(team, away);
  await members.stop(team, away);
  await members.add(team, await accounts.get(rich.email), "lead");
  const closed = await teams.create({ name: "Closed", pool: true });
  await members.add(closed, await accounts.get(rich.email));
  await teams.change(closed, { disabled: true });
  const gone = await accounts.create({ email: "gone@example.com" });
  const ofRich = await teams.get(rich.teamId);
  await members.add(ofRich, gone);
  const name = { owner: "member", ownerId: `${rich.teamId}:${gone.id}`, period: "day" } as const;
  await setBudget(database, { ...name, credits: 5 }, { nowMs });
  await members.remove(ofRich, gone);
  await sales.grant(away, { credits: 9, note: "A gift", expiresAtMs: nowMs + 86_400_000 });
  await accounts.disable(away.email);
  await keys.issue(await accounts.get(rich.email), { models: [], expiresAtMs: nowMs + 60_000 });
  await codes.make({ offer: sales.package("starter"), note: "For the fair" });
  await codes.make({ credits: 7, expiresAtMs: nowMs + 30_000 });
  const states = [
    "revoked_at_ms = 2",
    `redeemed_at_ms = 3, redeemed_by = '${member.id}'`,
  ];
  for (const state of [...states, "note = note"]) {
    const [made] = await codes.make({ credits: 7, expiresAtMs: nowMs + 86_400_000 });
    await database.batch([{
      sql: `update redemption_codes set ${state} where id = ?`,
      args: [made!.id],
    }]);
  }
  await lendToGone(database, rich.accountId);
  const logged: Readonly<Record<string, readonly [object: string | null, ...states: unknown[]]>> = {
    "account.update": [member.id, { role: "none", models: ["a"], at_once: 5, name: "" }, {
      role: "finance",
      models: ["a", "b"],
      at_once: null,
      name: "Bob",
      until: "2026-06-15T12:00:00.000Z",
      is_on: true,
      wait_ms: 5_000,
      prices: { input: 5 },
    }],
    "route.write": ["model-1", { prices: 1 }, null],
    "team.update": [rich.teamId, null, { id: rich.teamId, name: "x".repeat(130) }],
    "alert.test": [null, null, null],
    "key.revoke": [`${rich.teamId}:${member.id}`, { name: "ci", at_once: 12_345 }, null],
    "route.add": ["model-2", { same: 1 }, { same: 1 }],
    "budget.set": [null, { marks: [], of: "x".repeat(120), a: 1, b: 1, c: 1, d: 1 }, {
      marks: [50, 80],
      of: "x".repeat(121),
      a: 2,
      b: 2,
      c: 2,
      d: 2,
    }],
  };
  await database.batch(
    Object.entries(logged).map(([operation, [object, before, after]], at) => ({
      sql:
        `insert into operation_log (id, at_ms, operation, door, address, actor, object_id, before,
        after, outcome, error)
      values (?, ?, ?, 'command', ?, 'root', ?, ?, ?, ?, ?)`,
      args: [
        `op_${at}`,
        nowMs,
        operation,
        at === 0 ? "192.0.2.1" : null,
        object,
        before === null ? null : JSON.stringify(before),
        after === null ? null : JSON.stringify(after),
        at === 3 ? "failed" : "done",
        at === 3 ? "conflict: It is late." : null,
      ],
    })),
  );
  await database.batch(Array.from({ length: 50 }, (_, at) => ({
    sql: `insert into operation_log (id, at_ms, operation, door, actor, before, after, outcome)
      values (?, 1, 'route.write', 'console', 'many', '{}', '{"off":true}', 'done')`,
    args: [`op_many_${at}`],
  })));
  await rememberAudit(
    database,
    {
      mismatches: [1, 2],
      uncollected: { credits: 0 },
    } as unknown as Parameters<typeof rememberAudit>[1],
    nowMs,
  );
  // an account of months ago, from the very beginning of one
  await database.batch([{
    sql: "update accounts set created_at_ms = ? where id = ?",
    args: [Date.UTC(2026, 2), rich.accountId],
  }, {
    sql: `insert into alerts (id, mark, kind, team_id, title, text, data, created_at_ms)
      values ('alert_team', 'team', 'budget_mark', ?, 'Budget 80 % spent', 'Of a team.', '{}', ?)`,
    args: [rich.teamId, nowMs],
  }]);
  await database.batch([{
    sql: `insert into alert_deliveries (alert_id, receiver, state, created_at_ms, due_at_ms, error)
      values ('alert_4', 'ops', 'given_up', 1, 1, 'no reply'), ('alert_4', 'chat', 'delivered', 1, 1, null)`,
  }, { sql: "update alerts set read_at_ms = 1 where id = 'alert_5'" }]);
  const [key] = await keys.list(await accounts.get(rich.email));
  const teamKey = (await keys.list(member)).find(({ teamId }) => teamId !== null)!;
  return {
    away: away.id,
    pool: closed.poolId!,
    poolless: team.id,
    key: key!.id,
    "team-key": teamKey.id,
  };
}

/** Pages by who sees them, below `/console/`, besides those of a walk: what is asked for otherwise, and roles that see less. */
function morePages(
  { rich, orders, member }: WalkData,
  { away, pool, poolless, key, "team-key": teamKey }: Awaited<ReturnType<typeof fillStates>>,
): Readonly<Record<string, readonly string[]>> {
  const team = rich.teamId;
  return {
    member: ["notices", `requests?key=${teamKey}`, `requests/${rich.requestId}`],
    lead: [
      "requests?range=7d&status=complete",
      "requests?model=model-1",
      `requests?key=${key}`,
      "requests?tag=a%3Db",
      "requests?tag=a",
      "requests?from=2026-06-01&to=2026-06-10",
      "requests?from=2026-05&to=2026-05&zone=Europe%2FBerlin",
      "requests?range=today&zone=Nowhere",
      "requests?range=today&to=2026-06-10",
      "requests?range=today&from=2026-06-10",
      "requests/req_nothing",
      "requests?status=none",
      "requests?q=req_",
      `requests?q=${rich.requestId}`,
      `requests?before=${NOW - 10 * 86_400_000}.req_`,
      "requests?before=nothing",
      "usage?by=hour&since=today&zone=Europe%2FBerlin",
      "usage?by=moon",
      "usage?by=model,key&since=2d",
      "usage?by=day,model,key&since=2d",
      "usage?by=month&since=2026-01",
      "usage?by=model&since=2000d",
      "usage?by=model&since=4000d",
      "usage?by=tag%3Asession&since=2d",
      `usage?by=member&team=${team}`,
      "usage?by=member&team=nothing",
      "usage?all=1&account=new%40example.com",
      "usage?by=reason&since=30d&compare=1",
      "credits?month=2026-05",
      "credits?month=2026-13",
      "statement?month=2026-05",
      "models?q=model-1&can=images&sort=input",
      "models?q=nothing",
      "models?q=claude-haiku-4-5",
      "models?q=claude-haiku-4-5+of",
      `orders/${orders.openId}?cancelled=1`,
      `orders/${orders.openId}/receipt`,
      `orders/${orders.paidId}?session=cs_other`,
      `teams/${poolless}`,
      `teams/${poolless}/credits`,
      "operator",
    ],
    finance: [
      "operator",
      "operator/accounts",
      `operator/accounts/${rich.accountId}`,
      "operator/payments",
      `operator/orders/${orders.paidId}`,
      "operator/codes",
      "operator/audit",
      "operator/alerts",
      "teams",
      `teams/${team}`,
      `usage?team=${team}&account=${encodeURIComponent(rich.email)}`,
      `requests/${rich.requestId}`,
    ],
    operator: [
      "operator",
      `operator/accounts/${member.id}`,
      "operator/routes",
      "operator/upstreams",
      `teams/${team}`,
    ],
    owner: [
      "operator?range=7d",
      "operator?range=nothing",
      "operator/accounts?q=away",
      "operator/accounts?q=nothing",
      `operator/accounts?after=${member.id}`,
      `operator/accounts/${away}`,
      `operator/accounts/${pool}`,
      "operator/log?about=away%40example.com",
      "operator/log?by=nobody",
      "operator/log?by=many",
      "operator/routes/edit",
      "operator/upstreams/add",
      "operator/settings?q=limits&set=1",
      "usage?all=1&by=account",
      `usage?account=${encodeURIComponent(rich.email)}&by=model`,
      "usage?team=Team+without+a+pool&by=model",
      "usage?by=day,team&all=1&since=7d",
      "requests/req_nothing",
      `orders/${orders.paidId}`,
      `teams/${poolless}`,
      `teams/${poolless}/credits`,
      `teams/${team}/credits`,
    ],
  };
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
  const data = await fillWalk(gateway, stripe, { requests: 40, keys: 3, members: 2 });
  const states = await fillStates(gateway, data);
  [atMs, step] = [NOW + 60_000, 0];
  const seen = new Map<string, string>();
  const words = [
    ...wordsOf(data),
    ...Object.entries(states).map(([word, id]) => [id, word] as const),
  ];
  const more = morePages(data, states);
  const chance = [
    [gateway.directory, "DIRECTORY"],
    [data.userCode, "USER-CODE"],
    [new RegExp(`${String(NOW).slice(0, 8)}\\d{5}`, "g"), "MS"], // by how often the clock was looked at
  ] as const;
  const walkers = { ...walkersOf(data), operator: { email: "operator@example.com", places: [] } };
  for (const [walker, { email, places }] of Object.entries<Walker>(walkers)) {
    const browser = email === undefined
      ? new PlainBrowser(gateway.url)
      : await signedIn(gateway, email);
    const pages = [...places, ...(more[walker] ?? []).map((path) => ({ path }))];
    for (const [at, { path }] of pages.entries()) {
      if (UNTOLD.test(path)) continue;
      const named = words.reduce((all, [id, word]) => all.replace(id, word), path || "home");
      const name = `${walker} ${named}`.replaceAll(/[^\w=]+/g, "-");
      if (seen.has(name)) continue;
      const reply = await browser.get(`/console/${path}`);
      const led = reply.headers.get("location");
      const html = led === null ? await reply.text() : `Led to ${led}`;
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
