/** `sluice usage`: reports, comparison, CSV of reports, requests and entries. */

import type { UsageRow } from "../../../src/money/usage/mod.ts";
import { parse } from "csv-parse/sync";
import { assert, assertEquals, assertStringIncludes } from "../../assert.ts";
import { startGateway, statusOf } from "../../fake/gateway.ts";
import { keptOpen } from "../../fake/kept_open.ts";
import { sluice } from "../../fake/shell.ts";

Deno.test("sluice usage reports by anything, and writes CSV that a parser reads back", async () => {
  const DAY = 86_400_000;
  let nowMs = Math.floor(Date.now() / DAY) * DAY - 3 * DAY + 1_000;
  await using gateway = await startGateway({ now: () => nowMs });
  const { accounts, keys, sales } = gateway.gateway;
  const ada = await accounts.create({ email: "ada@example.com", name: "Ada" });
  await sales.grant(ada, { credits: 500, note: '=HYPERLINK("http://evil")' });
  const key = await keys.issue(ada, { name: '@SUM(A1), "quoted"' });
  const options = (project: string) => ({
    key: key.secret,
    headers: { "x-sluice-tags": `project=${project},formula==1+1` },
  });
  for (const project of ["alpha", "alpha", "beta"]) {
    assertEquals(await statusOf(gateway.chat("Hi", {}, options(project))), 200);
  }
  nowMs += DAY;
  assertEquals(await statusOf(gateway.chat("Hi", { model: "svc-k3" }, options("beta"))), 200);
  await statusOf(gateway.chat("Hi"));

  const file = `${gateway.directory}/sluice.jsonc`;
  await using kept = keptOpen();
  const { openParts } = kept;
  const run = (...args: string[]) =>
    sluice(["usage", ...args, "--config", file], { directory: gateway.directory, openParts });
  const json = async (...args: string[]): Promise<UsageRow[]> =>
    JSON.parse((await run(...args, "--json")).out).rows;
  const csv = async (...args: string[]) =>
    parse((await run(...args)).out, { columns: true }) as Record<string, string>[];
  const ofAda = ["--account", "ada@example.com"];

  assertEquals(
    (await json(...ofAda, "--by", "day,model")).map((row) => [row.group.model, row.requests]),
    [["svc-k2", 3], ["svc-k3", 1]],
  );
  const byProject = await json("--all", "--by", "tag:project");
  assertEquals(
    byProject.map((row) => [row.group["tag:project"], row.requests]).toSorted(),
    [["alpha", 2], ["beta", 2]],
  );
  const [byKey] = await json(...ofAda, "--by", "key");
  assertEquals([byKey!.group, byKey!.names, byKey!.requests], [
    { key: key.id },
    { key: key.name },
    4,
  ]);
  const byAccount = await json("--all", "--by", "account", "--top", "1");
  assertEquals(byAccount.map(({ names, isOthers }) => [names.account, isOthers]), [
    ["ada@example.com", false],
    [undefined, true],
  ]);
  const day = new Date(nowMs).toISOString().slice(0, 10);
  const [compared] = await json(...ofAda, "--by", "account", "--since", day, "--compare");
  assertEquals([compared!.requests, compared!.previous!.requests, compared!.change!.requests], [
    1,
    3,
    -66.7,
  ]);
  const { out: words } = await run("--all", "--by", "model", "--since", "7d", "--compare");
  assertStringIncludes(words, "Compared with ");
  assertStringIncludes(words, "total");

  const rows = await csv(...ofAda, "--by", "key", "--csv");
  assertEquals([rows[0]!.key, rows[0]!.key_id, rows[0]!.requests], [
    `'${key.name}`,
    key.id,
    "4",
  ]);
  const requests = await csv("--all", "--requests");
  assertEquals(requests.length, 5);
  const adas = requests.filter(({ account }) => account === "ada@example.com");
  assertEquals(adas.map(({ tags }) => tags!.includes("formula==1+1")), [true, true, true, true]);
  assertEquals((await csv("--all", "--requests", "--tag", "project=alpha")).length, 2);
  assertEquals((await csv("--key", key.id, "--requests", "--model", "svc-k3")).length, 1);
  const entries = await csv(...ofAda, "--entries");
  assertEquals(
    entries.map(({ kind }) => kind),
    [
      "grant",
      "grant",
      ...Array.from({ length: 4 }, () => "charge"),
    ].slice(entries.length === 5 ? 1 : 0),
  );
  assert(entries.some(({ note }) => note === `'=HYPERLINK("http://evil")`));
  assert(entries.every(({ credits }) => /^-?\d+$/.test(credits!)), "numbers stay numbers");

  for (
    const [args, code, says] of [
      [["--by", "day,hour"], 2, "Cannot group by day and hour"],
      [["--by", "day,model,key"], 2, "--by must be one or two"],
      [["--since="], 2, "--since"],
      [["--since", "soon"], 2, "Invalid date 'soon'"],
      [["--top", "0"], 2, "--top must be"],
      [["--zone", "Moon"], 2, "Unknown time zone"],
      [["--csv", "--json"], 2, "pass one of"],
      [["--account", "x@example.com", "--all"], 2, "pass either --account or --all"],
      [["--account", "x@example.com"], 1, "not found"],
      [["--all", "--by", "tag:session"], 2, "choose one"],
      [["--key", "key_1", "--entries"], 2, "Ledger entries are of accounts"],
    ] as const
  ) {
    const result = await run(...args);
    assertEquals(result.code, code, result.err);
    assertStringIncludes(result.err, says);
  }
});
