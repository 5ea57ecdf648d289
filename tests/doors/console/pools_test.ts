import { assert, assertMatch, assertStringIncludes } from "../../assert.ts";
import { statusOf } from "../../fake/gateway.ts";
import { teamOf } from "../../fake/team.ts";
import { signedIn } from "../../fake/visitor.ts";
import { openShop } from "../../money/payments/shop.ts";

Deno.test("home shows the pools of the visitor's teams, what the visitor spent of them, and when one is empty", async () => {
  await using shop = await openShop({ settings: { credits: { signup: 0, perUsd: 1_000 } } });
  const { gateway } = shop;
  const { members, teams } = gateway.gateway;
  const { team, members: [ada, bob], key } = await teamOf(gateway, { credits: 3 });
  const homeOf = async ({ email }: { readonly email: string }) =>
    (await (await (await signedIn(gateway, email)).get("/console/")).text())
      .replaceAll(/<[^>]*>/g, " ").replaceAll(/\s+/g, " ");
  const pool = `Pool of ${team.name} 3 credits, &lt;$0.01; keys of the team spend them`;

  const before = await homeOf(ada!.account);
  assertStringIncludes(before, pool);
  assertStringIncludes(before, `The pool of ${team.name} pays for your keys of the team.`);
  assert(!before.includes("Get credits"), before);

  // bob's request and that of the whole team's key are not ada's
  for (const { secret } of [ada!.key, bob!.key, await key(null)]) {
    const body = { model: "svc-k2", max_tokens: 5 };
    assert(await statusOf(gateway.chat("Hi", body, { key: secret })) === 200);
  }
  const used = await homeOf(ada!.account);
  assertStringIncludes(used, `Pool of ${team.name} 0 credits`);
  assertStringIncludes(used, `Your keys of ${team.name}, this month 1 &lt;$0.01, 1 request`);
  assert(!used.includes("To your first response"), "who has sent requests needs no first steps");

  // a team without a pool, one that is disabled, and one of others are not there
  await members.add(await teams.create({ name: "Paying", pool: false }), ada!.account);
  const closed = await teams.create({ name: "Closed", pool: true });
  await members.add(closed, ada!.account);
  await teams.change(closed, { disabled: true });
  await teamOf(gateway);
  const several = await homeOf(ada!.account);
  assert(several.match(/Pool of/g)!.length === 1, several);

  const left = `No credits are left in the pool of ${team.name}, so requests with its keys are`;
  assertStringIncludes(await homeOf(ada!.account), `${left} rejected. Ask a lead of the team.`);
  await members.add(team, bob!.account, "lead");
  assertStringIncludes(await homeOf(bob!.account), `${left} rejected. Buy credits for it`);

  await members.stop(team, ada!.account);
  const stopped = await homeOf(ada!.account);
  assert(!stopped.includes(team.name), stopped);
});

Deno.test("home of somebody in many teams shows the pools that were used last, and leads to the others", async () => {
  await using shop = await openShop();
  const { accounts, members, teamKeys } = shop.gateway.gateway;
  const account = await accounts.create({ email: "ada@example.com" });
  const made = [];
  for (let at = 0; at < 4; at++) {
    const { team } = await teamOf(shop.gateway, { size: 0 });
    await members.add(team, account);
    made.push({ team, key: await teamKeys.issue(team, account) });
  }
  const { team, key } = made[2]!;
  const body = { model: "svc-k2", max_tokens: 5 };
  assert(await statusOf(shop.gateway.chat("Hi", body, { key: key.secret })) === 200);
  const home = await (await (await signedIn(shop.gateway, account.email)).get("/console/")).text();
  const shown = [...home.matchAll(/<dt>Pool of ([^<]*)/g)].map(([, name]) => name);
  assert(shown.length === 2 && shown[0] === team.name, shown.join());
  assertMatch(home, /<a href="\/console\/teams">2 more teams<\/a> with a pool/);
});
