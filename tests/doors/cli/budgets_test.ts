import { assert, assertEquals, assertMatch, assertStringIncludes } from "../../assert.ts";
import { keptOpen } from "../../fake/kept_open.ts";
import { sluice } from "../../fake/shell.ts";
import { tempDir } from "../../fake/temp.ts";

async function place() {
  await using made = new AsyncDisposableStack();
  const directory = made.use(await tempDir()).path;
  const { openParts } = made.use(keptOpen());
  const run = (...args: string[]) => sluice(args, { directory, openParts });
  const owned = made.move();
  return {
    run,
    async json(...args: string[]) {
      const { code, out, err } = await run(...args, "--json");
      assertEquals(code, 0, err);
      return JSON.parse(out);
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

interface Listed {
  readonly period: string;
  readonly credits: number;
}

const sums = ({ budgets }: { budgets: readonly Listed[] }) =>
  budgets.map(({ period, credits }) => [period, credits]);

Deno.test("budgets of keys and accounts are set, raised and removed by commands", async () => {
  await using here = await place();
  await here.json("account", "create", "--email", "ada@example.com");
  const ada = ["--account", "ada@example.com"];
  const key = await here.json(
    ...["key", "create", ...ada, "--name", "ci", "--budget", "500"],
    ...["--reset", "monthly", "--zone", "Europe/Berlin", "--marks", "75,100"],
  );
  assertEquals([key.budget, sums(key)], [null, [["month", 500]]]);
  const [budget] = key.budgets;
  assertEquals(
    [budget.owner, budget.owner_id, budget.time_zone, budget.marks, budget.left],
    ["key", key.id, "Europe/Berlin", [75, 100], 500],
  );
  assertMatch(budget.renews_at, /T2[23]:00:00\.000Z$/);

  const updated = await here.json(
    ...["key", "update", key.id, "--name", "build", "--models", "svc-k2", "--expires", "30d"],
    ...["--budget", "600"],
  );
  assertEquals([updated.name, updated.models, sums(updated)], [
    "build",
    ["svc-k2"],
    [["month", 600]],
  ]);
  assertEquals(updated.budgets[0].time_zone, "Europe/Berlin", "what is left out stays");
  const cleared = await here.json("key", "update", key.id, "--models", "all", "--expires", "never");
  assertEquals([cleared.name, cleared.models, cleared.expires_at], ["build", null, null]);
  const two = await here.json("key", "update", key.id, "--budget", "900", "--reset", "never");
  assertEquals([two.budget, sums(two)], [900, [["month", 600], ["life", 900]]]);
  const raised = await here.json(
    ...["key", "update", key.id, "--reset", "monthly", "--raise", "50", "--until", "2d"],
  );
  assertEquals([raised.budgets[0].raise.credits, raised.budgets[0].left], [50, 650]);
  assertMatch((await here.run("key", "list", ...ada)).out, /0 of 650 a month \(50 extra until/);
  const until = async (end: string) =>
    (await here.json(
      ...["key", "update", key.id, "--reset", "monthly", "--raise", "50", "--until", end],
    )).budgets[0].raise.until;
  const midnight = Date.parse(await until("midnight")) - Date.now();
  assert(midnight > -60_000 && midnight <= 25 * 3_600_000, String(midnight));
  assertMatch(await until("midnight"), /T2[23]:00:00\.000Z$/, "of the budget's time zone");
  assertEquals(await until("9000-01-05"), "9000-01-04T23:00:00.000Z");
  const one = await here.json("key", "update", key.id, "--budget", "none", "--reset", "monthly");
  assertEquals(sums(one), [["life", 900]]);
  assertEquals(sums(await here.json("key", "update", key.id, "--budget", "none")), []);

  const account = await here.json(
    ...["account", "update", "ada@example.com", "--budget", "2000", "--reset", "weekly"],
  );
  assertEquals(sums(account), [["week", 2000]]);
  const { out } = await here.run("account", "show", "ada@example.com");
  assertStringIncludes(out, "0 of 2,000 a week, renews ");
  assertEquals((await here.json("credits", "audit")).mismatches, []);
});

Deno.test("budget options that make no sense are explained", async () => {
  await using here = await place();
  const { id } = await here.json("key", "create");
  const update = ["key", "update", id];
  for (
    const [args, says, code] of [
      [["key", "create", "--reset", "daily"], "--reset, --zone and --marks need --budget", 2],
      [["key", "create", "--budget", "5", "--reset", "hourly"], "use daily, weekly, monthly", 2],
      [
        ["key", "create", "--budget", "5", "--marks", "0"],
        "each of --marks must be a whole number of percent from 1",
        2,
      ],
      [[...update, "--budget", "5", "--zone", "Mars"], "unknown time zone 'Mars'", 2],
      [[...update, "--raise", "5"], "--raise and --until belong together", 2],
      [[...update, "--reset", "daily", "--raise", "5", "--until", "1d"], "No such budget yet", 1],
      [
        [...update, "--budget", "5", "--raise", "5", "--until", "today"],
        "invalid --until 'today': use a duration (12h, 7d), 'midnight', or a date in the future",
        2,
      ],
      [[...update, "--budget", "5", "--raise", "5", "--until", "2020-02-01"], "in the future", 2],
      [[...update, "--budget", "5", "--raise", "5", "--until", "9000-02-30"], "in the future", 2],
      [[...update, "--budget", "x"], "--budget must be a whole number of credits from 0 to", 2],
      [["key", "update", "key_none", "--name", "x"], "not found", 1],
      [["account", "update", "nobody@example.com", "--budget", "5"], "not found", 1],
    ] as const
  ) {
    const { code: found, err } = await here.run(...args);
    assertStringIncludes(err, says);
    assertEquals(found, code, err);
  }
  await here.json("key", "revoke", id);
  assertStringIncludes((await here.run(...update, "--name", "x")).err, "is revoked");
});
