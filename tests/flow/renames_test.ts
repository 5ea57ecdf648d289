/** Reports, charts, CSV, search and log agree by ID, whatever was renamed, ended and named again. */

import { seenAs } from "../../src/ground/platform/mod.ts";
import type { Key, Team } from "../../src/people/accounts/mod.ts";
import type { UsageRow } from "../../src/money/usage/mod.ts";
import { assert, assertEquals } from "../assert.ts";
import { ownersClient } from "../fake/admin_client.ts";
import { startGateway, statusOf, type TestGateway } from "../fake/gateway.ts";
import { Random, testSeed } from "../fake/random.ts";
import { type PlainBrowser, signedIn } from "../fake/visitor.ts";
import { sized } from "../tier.ts";

const NAMES = ["Platform", "Data", "Café", "Ops & <b>", "laptop"];

/** Names and figures of a report, by ID. */
type Shown = ReadonlyMap<string, readonly [name: string, requests: number, credits: number]>;

const plain = (html: string) =>
  html.replaceAll(/<[^>]*>/g, "").replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll(
    "&quot;",
    '"',
  )
    .replaceAll("&#39;", "'").replaceAll("&amp;", "&").trim();
const figure = (text: string) => Number(text.replaceAll(",", ""));

/** Cells of CSV without line breaks. */
function csvOf(text: string): Record<string, string>[] {
  const lines = text.replace(/^\ufeff/, "").trimEnd().split("\r\n").map((line) =>
    [...line.matchAll(/("(?:[^"]|"")*"|[^,]*)(?:,|$)/g)].map(([, cell]) =>
      cell!.startsWith('"') ? cell!.slice(1, -1).replaceAll('""', '"') : cell!
    )
  );
  return lines.slice(1).map((cells) =>
    Object.fromEntries(lines[0]!.map((name, at) => [name, cells[at]!]))
  );
}

/** Does things at random: makes, renames, ends, names again, and sends requests. */
async function history(gateway: TestGateway, random: Random, steps: number) {
  const { accounts, keys, members, sales, teamKeys, teams } = gateway.gateway;
  const ada = await accounts.create({ email: "ada@example.com" });
  await sales.grant(ada, { credits: 100_000 });
  const sent = new Map<string, number>();
  const made: { readonly teams: Team[]; readonly keys: (Key & { readonly secret: string })[] } = {
    teams: [],
    keys: [],
  };
  const addKey = async () => {
    const team = random.pick([undefined, ...made.teams]);
    const name = random.pick(["", ...NAMES]);
    try {
      made.keys.push(
        team === undefined
          ? await keys.issue(ada, { name })
          : await teamKeys.issue(team, random.pick([null, ada]), { name }),
      );
    } catch { /* its team is disabled */ }
  };
  const addTeam = async () => {
    const team = await teams.create({ name: random.pick(NAMES), pool: true });
    await members.add(team, ada);
    await sales.grant((await accounts.byId(team.poolId!))!, { credits: 100_000 });
    made.teams.push(team);
    for (let at = 0; at < 2; at++) await addKey();
  };
  const acts: readonly (() => Promise<unknown>)[] = [
    addTeam,
    addKey,
    async () => {
      const team = random.pick(made.teams);
      const name = `${random.pick(NAMES)}${random.pick(["", "", " 2"])}`;
      await (await ownersClient(gateway))("PATCH", `/teams/${team.id}`, { body: { name } });
    },
    async () => await keys.change(random.pick(made.keys).id, { name: random.pick(NAMES) }),
    async () => {
      // its name is free again
      const team = random.pick(made.teams);
      await teams.change(team, {
        name: `gone ${made.teams.indexOf(team)}`,
        disabled: random.next() < 0.5,
      });
    },
    async () => await keys.revoke(random.pick(made.keys).id),
  ];
  await addTeam();
  for (let step = 0; step < steps; step++) {
    try {
      await random.pick(acts)();
    } catch { /* a name in use, a key that is revoked */ }
    for (const { id, secret } of random.some(made.keys, 2)) {
      const status = await statusOf(gateway.chat("Hi", { max_tokens: 5 }, { key: secret }));
      if (status === 200) sent.set(id, (sent.get(id) ?? 0) + 1);
    }
  }
  return { ...made, ada, sent };
}

async function textOf(browser: PlainBrowser, path: string): Promise<string> {
  const reply = await browser.get(path);
  const text = await reply.text();
  assertEquals(reply.status, 200, text);
  return text;
}

Deno.test("reports, charts, CSV, search and log agree by ID, whatever was renamed and named again", async () => {
  const seed = testSeed();
  const random = new Random(seed);
  for (let round = 0; round < sized(1, 6); round++) {
    await using gateway = await startGateway({ lendFrom: 1e9 });
    const { keys, teams } = gateway.gateway;
    const { teams: made, sent, ada } = await history(gateway, random, sized(14, 60));
    const client = await ownersClient(gateway);
    const browser = await signedIn(gateway, "owner@localhost");
    const what = `(seed ${seed}, round ${round})`;
    const teamById = new Map((await teams.list()).map((team) => [team.id, team]));
    const allKeys = await keys.byIds([...sent.keys()]);
    const nameOf = {
      key: (id: string) => allKeys.get(id)!.name || allKeys.get(id)!.hint,
      team: (id: string) => teamById.get(id)!.name,
      account: (id: string) => {
        const team = [...teamById.values()].find(({ poolId }) => poolId === id);
        return team === undefined ? ada.email : `Pool of ${team.name}`;
      },
      member: () => ada.email,
    };
    const idOf = {
      key: (key: Key) => key.id,
      team: ({ teamId }: Key) => teamId ?? "",
      account: ({ accountId }: Key) => accountId,
      member: ({ memberId }: Key) => memberId ?? "",
    };
    for (const by of ["key", "team", "account", "member"] as const) {
      const expected = new Map<string, number>();
      for (const [keyId, count] of sent) {
        const id = idOf[by](allKeys.get(keyId)!);
        expected.set(id, (expected.get(id) ?? 0) + count);
      }
      const { json } = await client("GET", `/usage?by=${by}&since=today`);
      const report: Shown = new Map((json.rows as readonly UsageRow[]).map((row) => [
        row.group[by]!,
        [row.names[by] ?? (row.group[by] || "none"), row.requests, row.credits],
      ]));
      const counts = new Map([...report].map(([id, [, requests]]) => [id, requests]));
      assertEquals(counts, expected, `${by} ${what}`);
      for (const [id, [name]] of report) {
        if (id !== "") assert(name.startsWith(nameOf[by](id)), `${by} ${id} is ${name} ${what}`);
      }
      const labels = [...report.values()].map(([name]) => seenAs(name));
      assertEquals(new Set(labels).size, labels.length, `${labels} ${what}`);

      const query = `all=1&by=${by}&since=today`;
      const csv: Shown = new Map(
        csvOf(await textOf(browser, `/console/usage.csv?${query}`)).map((row) => [
          row[`${by}_id`]!,
          [row[by] || "none", Number(row.requests), Number(row.credits)],
        ]),
      );
      assertEquals(csv, report, `CSV by ${by} ${what}`);

      const html = await textOf(browser, `/console/usage?${query}`);
      const cells = [...html.matchAll(/<tr>(<td.*?)<\/tr>/gs)].map(([, row]) =>
        new Map(
          [...row!.matchAll(/<td[^>]* data-name="([^"]*)">(.*?)<\/td>/gs)].map(([, name, cell]) =>
            [name!, plain(cell!)] as const
          ),
        )
      );
      const byLabel = new Map([...report.values()].map(([name, , credits]) => [name, credits]));
      const rows = cells.filter((row) => row.has(by));
      assertEquals(
        new Map(rows.map((row) => [row.get(by)!, figure(row.get("credits")!)])),
        byLabel,
        `page by ${by} ${what}`,
      );
      const legend = /<ul class="legend">(.*?)<\/ul>/s.exec(html)![1]!;
      for (const [, item] of legend.matchAll(/<li>(.*?)<\/li>/gs)) {
        const total = figure(
          plain(/<span class="quiet">(.*?)<\/span>/s.exec(item!)![1]!).split(" ")[0]!,
        );
        const name = plain(item!.replace(/<span class="quiet">.*/s, ""));
        if (!/others$/.test(name)) {
          assertEquals(byLabel.get(name), total, `chart of ${name} ${what}`);
        }
      }
    }

    const requests = csvOf(await textOf(browser, "/console/usage/requests.csv?all=1&since=today"));
    for (const row of requests) {
      const key = allKeys.get(row.key_id!)!;
      assertEquals(
        [row.account_id, row.team_id, row.member_id],
        [key.accountId, key.teamId ?? "", key.memberId ?? ""],
      );
      assertEquals(row.account, nameOf.account(key.accountId), what);
      assertEquals(row.team, key.teamId === null ? "" : nameOf.team(key.teamId), what);
    }
    assertEquals(requests.length, [...sent.values()].reduce((sum, one) => sum + one, 0), what);
    for (
      const row of csvOf(await textOf(browser, "/console/usage/entries.csv?all=1&since=today"))
    ) {
      const isTeams = [...teamById.values()].some(({ poolId }) => poolId === row.account_id);
      if (isTeams) assertEquals(row.account, nameOf.account(row.account_id!), what);
    }

    for (const { id, poolId } of made) {
      const { name } = teamById.get(id)!;
      const query = (text: string) => new URLSearchParams({ q: text });
      const found = await textOf(browser, `/console/operator/accounts?${query(`Pool of ${name}`)}`);
      assert(found.includes(`/accounts/${poolId}"`), `${name} is not found ${what}`);
      for (const old of NAMES.filter((one) => !name.startsWith(one))) {
        const others = await textOf(
          browser,
          `/console/operator/accounts?${query(`Pool of ${old}`)}`,
        );
        assert(!others.includes(`/accounts/${poolId}"`), `${name} is found as ${old} ${what}`);
      }
      const log = await textOf(
        browser,
        `/console/operator/log?${new URLSearchParams({ about: name })}`,
      );
      const { json } = await client("GET", `/log?about=${id}&limit=50`);
      assertEquals(
        Math.max(0, [...log.matchAll(/<tr>/g)].length - 1),
        json.data.length,
        `log of ${name} ${what}`,
      );
    }
  }
});
