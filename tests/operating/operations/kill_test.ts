/** A gateway that dies at any of its calls to the database: what is repeated with the same key takes effect once. */

import type { Database } from "../../../src/ground/database/mod.ts";
import { audit } from "../../../src/money/ledger/mod.ts";
import { assert, assertEquals } from "../../assert.ts";
import { adminClient, contentOf } from "../../fake/admin_client.ts";
import { failingDatabase, type Fault } from "../../fake/failing_database.ts";
import { startGateway } from "../../fake/gateway.ts";
import { Random, testSeed } from "../../fake/random.ts";
import { lendToGone } from "../../fake/ledger.ts";
import { sized } from "../../tier.ts";

/** Writes that the gate tries: a row, one with a secret, credits. The proofs try all. */
const IN_GATE = ["/accounts", "/keys", "/credits/grants"];

/** A write, and the words in it that stand for what is made for each attempt. */
const WRITES: readonly (readonly [string, string, unknown])[] = [
  ["POST", "/accounts", { email: "new-ACCOUNT" }],
  ["POST", "/teams", { name: "New TEAM" }],
  ["POST", "/keys", { account: "ACCOUNT", budgets: [{ period: "month", credits: 5 }] }],
  ["POST", "/keys/KEY/rotate", { keep_seconds: 60 }],
  ["POST", "/keys/KEY/revoke", {}],
  ["POST", "/accounts/ACCOUNT/sign-in-link", {}],
  ["PUT", "/budgets", { owner: "key", owner_id: "KEY", period: "day", credits: 7 }],
  ["POST", "/credits/grants", { account: "ACCOUNT", credits: 70 }],
  ["POST", "/credits/take-backs", { account: "ACCOUNT", lot: "LOT", note: "twice" }],
  ["POST", "/loans/gw_ACCOUNT/write-off", { note: "disk lost" }],
  [
    "PUT",
    "/upstream-keys",
    { account: "ACCOUNT", upstream: "gone", key: "sk-own", test: false },
  ],
  ["DELETE", "/teams/TEAM/members/ACCOUNT", {}],
];

// the gate draws for each call on which side of it they die; the proofs try both
for (
  const fault of sized<readonly (Fault | "before or after")[]>(["before or after"], [
    "before",
    "after",
  ])
) {
  // Proves P2, P13.
  Deno.test(`a write that dies ${fault} any call to the database takes effect once`, async () => {
    const seed = testSeed();
    const random = new Random(seed);
    let control: ReturnType<typeof failingDatabase> | undefined;
    let now = Date.now();
    await using gateway = await startGateway({
      lendFrom: 1e9,
      now: () => now,
      wrapDatabase: (database) => (control = failingDatabase(database)).wrapped,
      settings: {
        // leases are not looked after meanwhile, or the gateway would end the loans that are to be written off
        limits: { adminRequestsPerMinute: 1e6, holdLeaseMs: 3_600_000 },
        upstreams: { gone: { url: "http://127.0.0.1:9/v1", key: "x" } },
      },
    });
    const { accounts, keys, sales, teams, members, database, owner } = gateway.gateway;
    const { secret } = await keys.issue(owner, { scopes: ["admin"] });
    const client = adminClient(gateway.url, secret);
    let number = 0;
    const writes = WRITES.filter(([, path]) => sized(IN_GATE.includes(path), true));
    for (const [method, template, body] of writes) {
      for (let at = 1;; at++) {
        const account = await accounts.create({ email: `ada${++number}@example.com` });
        const key = await keys.issue(account);
        const { lotId } = await sales.grant(account, { credits: 30 });
        const team = await teams.create({ name: `Team ${number}`, pool: true });
        await members.add(team, account);
        if (template.startsWith("/loans/")) {
          await lendToGone(database, account.id, { gatewayId: `gw_${account.email}` });
        }
        const filled = (text: string) =>
          text.replace("ACCOUNT", account.email).replace("KEY", key.id).replace("LOT", lotId)
            .replace("TEAM", team.id);
        const path = filled(template);
        const request = { body: JSON.parse(filled(JSON.stringify(body))), once: `key ${number}` };
        const logged = await database.all("select id from operation_log");
        await client("GET", "/accounts"); // the key is known

        const died = fault === "before or after"
          ? random.pick(["before", "after"] as const)
          : fault;
        const why = `SLUICE_TEST_SEED=${seed}: ${path}, ${died} call ${at}`;
        control!.killAt(at, died);
        const first = await client(method, path, request);
        const isOver = first.status < 300;
        control!.mend();
        assert(isOver || first.status === 503, `${why}: ${first.status} ${first.text}`);
        now += 11_000; // the claim of the one that died has ended
        const second = await client(method, path, request);
        assert(second.status < 300, `${why}: ${second.status} ${second.text}`);
        if (isOver) assertEquals(second.text, first.text);
        const before = await contentOf(database);
        const third = await client(method, path, request);
        assertEquals([third.status, third.text], [second.status, second.text], why);
        assertEquals(await contentOf(database), before, why);

        const all = await database.all("select id, outcome from operation_log");
        const done = all.filter(({ outcome }) => outcome === "done").length;
        assertEquals(done, number, `${why}: ${logged.length} before`);
        const own = await keys.list(account);
        assertEquals(own.length, template === "/keys" ? 2 : 1, why);
        if (typeof second.json.key === "string") {
          const found = await keys.bySecret(second.json.key);
          assertEquals(found?.id, second.json.id, "the secret of the reply works");
        }
        if (isOver) break;
      }
    }
    assert(number > sized(30, 100), String(number));
    assertEquals((await audit(database)).mismatches, []);
  });
}

Deno.test("a write that is slow while another gateway takes its claim takes effect once", async () => {
  let now = Date.now();
  let pause: (() => Promise<unknown>) | undefined;
  await using gateway = await startGateway({
    lendFrom: 1e9,
    now: () => now,
    wrapDatabase: (database): Database => ({
      place: database.place,
      dialect: database.dialect,
      get waiting() {
        return database.waiting;
      },
      all: (...args) => database.all(...args),
      one: (...args) => database.one(...args),
      async batch(statements) {
        if (statements.some(({ sql }) => /^update team_members/.test(sql))) {
          const work = pause;
          pause = undefined;
          await work?.();
        }
        return await database.batch(statements);
      },
      write: (...args) => database.write(...args),
      close: () => database.close(),
    }),
  });
  const { accounts, keys, teams, members, owner, database } = gateway.gateway;
  const ada = await accounts.create({ email: "ada@example.com" });
  const team = await teams.create({ name: "Platform", pool: true });
  await members.add(team, ada);
  const { secret } = await keys.issue(owner, { scopes: ["admin"] });
  const client = adminClient(gateway.url, secret);
  const path = `/teams/${team.id}/members/${ada.id}`;
  const stop = () => client("POST", `${path}/stop`, { once: "stop" });
  let other: Awaited<ReturnType<typeof stop>> | undefined;
  pause = async () => {
    now += 11_000;
    other = await stop();
    // somebody else changes the same: the slow write must not undo it
    assertEquals((await client("POST", `${path}/start`)).status, 200);
  };
  const slow = await stop();
  assertEquals([slow.status, slow.text], [200, other?.text]);
  assertEquals((await members.find(team, ada))?.stoppedAtMs, null);
  const rows = await database.all("select operation from operation_log");
  assertEquals(rows.map(({ operation }) => operation).toSorted(), ["member.start", "member.stop"]);
});
