/** Names are read in one place: what one door takes, all take, and none takes two that look the same. */

import { isVisible, seenAs, whyNoName } from "../../../src/ground/platform/mod.ts";
import { setBudget } from "../../../src/money/ledger/mod.ts";
import { AccountError } from "../../../src/people/accounts/mod.ts";
import { placeAccounts } from "../../../src/operating/importers/place_accounts.ts";
import { Notices } from "../../../src/operating/importers/mod.ts";
import { assert, assertEquals, assertRejects } from "../../assert.ts";
import { adminClient, ownersClient } from "../../fake/admin_client.ts";
import { formsOf } from "../../fake/forms.ts";
import { startGateway, type TestGateway } from "../../fake/gateway.ts";
import { type KeptOpen, keptOpen } from "../../fake/kept_open.ts";
import { Random, testSeed } from "../../fake/random.ts";
import { sluice } from "../../fake/shell.ts";
import { NEW_KEY, signedIn } from "../../fake/visitor.ts";
import { sized } from "../../tier.ts";

const OWNER = "owner@localhost";
/** Of what names are made: letters, marks, blanks, and what nobody sees. */
const PARTS = [
  ..."aZé李1-한",
  ..."e\u0301n\u0303",
  ..." \u00a0\u3000\u2800",
  ..."\u3164\u00ad\u200b\u2060\u202e\u2066\u115f\u034f\ufe0f\u200d",
  "\u{e0041}",
  "👩",
];

let made = 0;
const fresh = () => `fresh${made++}@example.com`;

/** What a door made of a name; `undefined` if it was rejected. */
type Door = (noun: "account" | "key" | "team", name: string) => Promise<string | undefined>;

/** The newest name of a noun. */
async function stored({ gateway: { database } }: TestGateway, noun: string, count: number) {
  const rows = await database.all(`select name from ${noun}s order by rowid`);
  return rows.length === count ? undefined : String(rows.at(-1)!.name);
}

async function doorsOf(
  gateway: TestGateway,
  { openParts }: KeptOpen,
): Promise<Readonly<Record<string, Door>>> {
  const { accounts, keys, sales, database, owner } = gateway.gateway;
  const browser = await signedIn(gateway, OWNER);
  const client: ReturnType<typeof adminClient> = await ownersClient(gateway);
  const place = ["--config", `${gateway.directory}/sluice.jsonc`];
  const door =
    (send: (noun: string, name: string) => Promise<unknown>): Door => async (noun, name) => {
      const { n } = (await database.one(`select count(*) as n from ${noun}s`))!;
      await send(noun, name);
      // the pool of a team is an account as well
      return await stored(gateway, noun, Number(n));
    };
  return {
    form: door(async (noun, name) => {
      const [path, fields] = noun === "team"
        ? ["/console/teams", { name, pool: "no", allow: "all" }]
        : noun === "key"
        ? ["/console/keys", { ...NEW_KEY, name }]
        : ["/console/operator/accounts", { email: fresh(), name }];
      await (await browser.post(path as string, fields as Record<string, string>, {
        from: "/console/account",
      })).body
        ?.cancel();
    }),
    API: door((noun, name) =>
      client("POST", `/${noun}s`, {
        body: noun === "team"
          ? { name, pool: false }
          : noun === "key"
          ? { account: OWNER, name }
          : { email: fresh(), name },
      })
    ),
    command: door((noun, name) =>
      sluice([
        noun,
        "create",
        ...(noun === "team" ? ["--members-pay"] : noun === "account" ? ["--email", fresh()] : []),
        `--name=${name}`,
        ...place,
      ], { directory: gateway.directory, openParts })
    ),
    importer: door(async (noun, name) => {
      if (noun === "team") return;
      const ref = fresh();
      await placeAccounts({
        upstreams: [],
        routes: [],
        aliases: new Map(),
        accounts: noun === "account"
          ? [{ ref, isOwner: false, email: ref, handle: "x", name, credits: 0, reference: ref }]
          : [{
            ref,
            isOwner: true,
            email: undefined,
            handle: "x",
            name: "",
            credits: 0,
            reference: "",
          }],
        keys: noun === "account" ? [] : [{
          account: ref,
          reference: ref,
          name,
          digest: undefined,
          models: undefined,
          budgetCredits: undefined,
          expiresAtMs: undefined,
        }],
      }, {
        parts: { accounts, keys, sales, database },
        owner: () => Promise.resolve(owner),
        write: true,
        join: false,
        domain: "example.com",
        routesFor: (model) => [model],
        notices: new Notices(),
      }).then(({ fault }) => assertEquals(fault, undefined));
    }),
  };
}

Deno.test("a name is the same through every door: tidy and visible, or rejected", async () => {
  const seed = testSeed();
  const random = new Random(seed);
  await using gateway = await startGateway();
  await using kept = keptOpen();
  const doors = await doorsOf(gateway, kept);
  const drawn = () =>
    Array.from({ length: random.integer(1, 6) }, () => random.pick(PARTS)).join("");
  for (const name of [" cafe\u0301 ", ...Array.from({ length: sized(5, 60) }, drawn)]) {
    const what = `${JSON.stringify(name)} (seed ${seed})`;
    for (const noun of ["account", "key"] as const) {
      const found = new Map<string, string | undefined>();
      for (const [door, send] of Object.entries(doors)) found.set(door, await send(noun, name));
      const imported = found.get("importer");
      assert(imported !== undefined && whyNoName(imported) === undefined, `importer: ${what}`);
      found.delete("importer"); // it spells out what others reject
      assertEquals(
        new Set(found.values()).size,
        1,
        `${noun}: ${what}: ${JSON.stringify([...found])}`,
      );
      const [one] = found.values();
      if (one === undefined) continue;
      assertEquals([one, one.trim(), whyNoName(one)], [one.normalize("NFC"), one, undefined], what);
      assert(one === "" || isVisible(one), what);
      assertEquals(imported, one, what);
    }
  }
});

Deno.test("no two teams look the same, whichever doors they came through; older ones are found", async () => {
  const random = new Random(testSeed());
  await using gateway = await startGateway();
  const { database, teams, members, accounts, keys } = gateway.gateway;
  await using kept = keptOpen();
  const { importer: _, ...doors } = await doorsOf(gateway, kept);
  const alike = ["Café", "Cafe\u0301", " café ", "CAFÉ", "Ｃafé", "Café\u2800", "caf\u00e9\u3000"];
  const sends = Object.entries(doors);
  assert(await random.pick(sends)[1]("team", random.pick(alike)) !== undefined);
  for (const [door, send] of sends) {
    for (const name of random.some(alike, sized(3, 7))) {
      assertEquals(await send("team", name), undefined, `${door} ${name}`);
    }
    assertEquals(await send("team", "\u3164"), undefined);
    assertEquals(
      await send("team", "Cafe"),
      door === sends[0]![0] ? "Cafe" : undefined,
      "without the accent it is another",
    );
  }
  for (const name of alike) {
    assertEquals(seenAs((await teams.get(name)).name, { foldsCase: true }), "café");
  }
  const other = await teams.create({ name: "Other", pool: false });
  await assertRejects(
    () => teams.change(other, { name: "cafe\u0301" }),
    AccountError,
    "already exists",
  );
  // a database from before has two that look the same: each keeps its name, and is known by its ID
  await database.batch([
    { sql: "update teams set name = ? where id = ?", args: ["cafe\u0301 ", other.id] },
  ]);
  assertEquals((await teams.change(other, { models: ["svc-k2"] })).models, ["svc-k2"]);
  await assertRejects(() => teams.get("ＣＡＦÉ"), AccountError, other.id);
  assertEquals((await teams.get(other.id)).id, other.id);
  const ada = await accounts.create({ email: "ada@example.com" });
  await members.add(other, ada, "lead");
  const old = await keys.issue(ada, { name: "x" });
  await database.batch([{ sql: "update keys set name = ' \u3164' where id = ?", args: [old.id] }]);
  const browser = await signedIn(gateway, ada.email);
  for (const path of ["/console/keys", "/console/teams", `/console/teams/${other.id}`]) {
    const reply = await browser.get(path);
    const html = await reply.text();
    assertEquals(reply.status, 200, html);
    assert(!html.includes("\u3164") && formsOf(html).length > 0);
  }
});

Deno.test("of names that look the same and are written at one moment, one is taken", async () => {
  const seed = testSeed();
  const random = new Random(seed);
  await using gateway = await startGateway();
  const { teams } = gateway.gateway;
  const client = await ownersClient(gateway);
  const SAME = ["ÉCOLE", "école", "E\u0301cole", "école\u3000", "Ｅ\u0301cole", "Éc\u00adole"];
  const OTHERS = ["Data", "data", "Ops", "Ops  One", "ops one"];
  const kept = await teams.create({ name: "kept", pool: true });
  for (let round = 0; round < sized(4, 20); round++) {
    const names = [...random.some(SAME, 3), ...random.some(OTHERS, 2)];
    await Promise.allSettled([
      ...names.map((name) => teams.create({ name, pool: random.next() < 0.5 })),
      client("POST", "/teams", { body: { name: random.pick(SAME) } }),
      teams.change(kept, { name: random.pick([...SAME, ...OTHERS]) }),
    ]);
    const all = await teams.list();
    const seen = new Set(all.map(({ name }) => seenAs(name, { foldsCase: true })));
    assertEquals(seen.size, all.length, `${all.map(({ name }) => name)} (seed ${seed})`);
    // the one that came first; a name that is given up may be taken by another
    assert(seen.has("école") && all.length > 1, `${[...seen]} (seed ${seed})`);
    for (const [at, team] of all.entries()) await teams.change(team, { name: `t${round} ${at}` });
  }
});

Deno.test("what a page asks before a write, and what it calls its buttons, is about one thing", async () => {
  const seed = testSeed();
  const random = new Random(seed);
  await using gateway = await startGateway();
  const { accounts, database, keys, members, owner, sales, teamKeys, teams } = gateway.gateway;
  const ada = await accounts.create({ email: "ada@example.com" });
  const team = await teams.create({ name: "Platform", pool: true });
  await members.add(team, ada, "lead");
  const NAMES = ["laptop", "laptop", "ｌaptop", "", "laptop "];
  for (let at = 0; at < 8; at++) {
    const name = random.pick(NAMES);
    const key = at % 2 === 0
      ? await keys.issue(ada, { name })
      : await teamKeys.issue(team, random.pick([null, ada]), { name });
    const budget = { owner: "key", ownerId: key.id, period: "day", credits: 5 } as const;
    await setBudget(database, budget, { nowMs: Date.now() });
    await sales.grant(ada, { credits: 5 });
  }
  const pages: readonly (readonly [email: string, path: string, min: number])[] = [
    [ada.email, "/console/keys", 12],
    [ada.email, `/console/teams/${team.id}`, 8],
    [owner.email, `/console/operator/accounts/${ada.id}`, 12],
  ];
  for (const [email, path, min] of pages) {
    const html = await (await (await signedIn(gateway, email)).get(path)).text();
    const about = new Map<string, Set<string>>();
    for (
      const [, action, tag, inner] of html.matchAll(
        /<form method="post" action="([^"]*)"([^>]*)>(.*?)<\/form>/gs,
      )
    ) {
      const hidden = [
        ...inner!.matchAll(/type="hidden" name="(?!csrf|form|id")([^"]*)" value="([^"]*)"/g),
      ];
      const thing = `${action} ${hidden.map(([, name, value]) => `${name}=${value}`)}`;
      const names = [
        /data-confirm="([^"]*)"/.exec(tag!)?.[1],
        ...[...inner!.matchAll(/<button[^>]* aria-label="([^"]*)"/g)].map(([, one]) => one),
      ];
      for (const name of names) {
        if (name === undefined) continue;
        about.set(name, (about.get(name) ?? new Set()).add(thing));
      }
    }
    const shared = [...about].filter(([, things]) => things.size > 1);
    assertEquals(shared.map(([name, things]) => [name, ...things]), [], `${path} (seed ${seed})`);
    assert(about.size >= min, `${path}: ${about.size}`);
  }
});

Deno.test("an account is found by a part of its name in any case, whatever else it has in it", async () => {
  const seed = testSeed();
  const random = new Random(seed);
  await using gateway = await startGateway();
  const { accounts } = gateway.gateway;
  const LETTERS = [..."aÉßжΣ*?[]^-_%'\"\\ 1李👩İ"];
  const names = new Map<string, string>();
  for (let at = 0; at < 20; at++) {
    const drawn = Array.from({ length: 6 }, () => random.pick(LETTERS)).join("");
    const { id, name } = await accounts.create({ email: `p${at}@example.com`, name: `n${drawn}` });
    names.set(id, name);
  }
  for (let round = 0; round < sized(40, 2_000); round++) {
    const [id, name] = random.pick([...names]);
    const characters = [...name];
    const start = random.integer(0, characters.length - 1);
    const part = characters.slice(start, start + random.integer(1, 4)).join("");
    // a letter of which the other case is two letters is found as it is
    const text = random.pick([
      part,
      ...["ß", "İ"].some((one) => part.includes(one))
        ? []
        : [part.toLowerCase(), part.toUpperCase()],
    ]);
    const found = (await accounts.page({ search: text, kind: "any", limit: 100 })).map((one) =>
      one.id
    );
    const what = `${JSON.stringify([name, text])} (seed ${seed})`;
    assert(text.trim() === "" || found.includes(id), what);
    for (const [other, one] of names) {
      const isIn = one.toLowerCase().includes(text.trim().toLowerCase()) ||
        one.toUpperCase().includes(text.trim().toUpperCase());
      assert(isIn || !found.includes(other) || /^[np1\d@.a ]*$/i.test(text), `${one}: ${what}`);
    }
  }
});
