import type { UsageRow } from "../../../src/money/usage/mod.ts";
import { assertEquals, assertMatch, assertStringIncludes } from "../../assert.ts";
import { startGateway } from "../../fake/gateway.ts";
import { keptOpen } from "../../fake/kept_open.ts";
import { sluice } from "../../fake/shell.ts";
import { tempDir, until } from "../../fake/temp.ts";

/** What commands say about their surroundings. */
const NOTICES = /^sluice: (?:created a new database|using the settings of this directory).*\n/gm;

/** Commands on one database, and their failures. */
function commandsIn(directory: string) {
  const { openParts, [Symbol.asyncDispose]: close } = keptOpen();
  const run = (args: readonly string[]) => sluice(args, { directory, openParts });
  return {
    async json(...args: string[]) {
      const { code, out, err } = await run([...args, "--json"]);
      assertEquals([code, err.replace(NOTICES, "")], [0, ""], args.join(" "));
      return JSON.parse(out);
    },
    async text(...args: string[]) {
      const { code, out, err } = await run(args);
      assertEquals([code, err.replace(NOTICES, "")], [0, ""], args.join(" "));
      return out;
    },
    async failing(...args: string[]) {
      const { code, err } = await run(args);
      return [code, err.trim()];
    },
    [Symbol.asyncDispose]: close,
  };
}

async function chat(url: string, key: string): Promise<number> {
  const reply = await fetch(`${url}/v1/chat/completions`, {
    method: "POST",
    headers: { "x-api-key": key },
    body: '{"model":"svc-k2","messages":[{"role":"user","content":"Hi"}]}',
  });
  await reply.body?.cancel();
  return reply.status;
}

Deno.test("a team from the shell: created, paid for, used, reported, and one member stopped", async () => {
  await using gateway = await startGateway();
  const { url } = gateway;
  await using commands = commandsIn(gateway.directory);
  const { json, text } = commands;
  for (const name of ["ada", "bob"]) {
    await json("account", "create", "--email", `${name}@example.com`);
  }
  const team = await json("team", "create", "--name", "Platform", "--models", "svc-k2");
  assertEquals([team.name, team.credits, team.models], ["Platform", 0, ["svc-k2"]]);
  await json("credits", "grant", "--team", "platform", "--credits", "1000");
  assertEquals((await json("credits", "show", "--team", team.id)).balance, 1000);
  assertMatch(await text("credits", "show", "--team", team.id), /^the pool of Platform +1,000 /m);
  assertMatch(
    await text("credits", "grant", "--team", team.id, "--credits", "5", "--expires", "1m"),
    /Granted 5 credits to the pool of Platform, .*\nThe pool of Platform has 1,005 credits now\./,
  );
  assertMatch(
    await text("team", "add", "Platform", "--account", "ada@example.com", "--role", "lead"),
    /ada@example.com is lead in Platform/,
  );
  await json("team", "add", "Platform", "--account", "bob@example.com");
  const key = (...more: string[]) => json("key", "create", "--team", "Platform", ...more);
  const adas = await key("--member", "ada@example.com", "--name", "laptop");
  const bobs = await key("--member", "bob@example.com");
  const shared = await key("--name", "ci");
  for (const { key } of [adas, adas, bobs, shared]) assertEquals(await chat(url, key), 200);
  const { rows: usage } = await json("usage", "--team", "Platform", "--by", "member");
  assertEquals(
    usage.map(({ names, group, requests, credits }: UsageRow) => [
      names.member,
      group.model,
      requests,
      credits,
    ]),
    [
      ["ada@example.com", "svc-k2", 2, 2],
      [undefined, "svc-k2", 1, 1],
      ["bob@example.com", "svc-k2", 1, 1],
    ],
  );
  const { rows: byModel } = await json("usage", "--team", "Platform", "--by", "model");
  assertEquals([byModel.length, byModel[0].group.model, byModel[0].credits], [1, "svc-k2", 4]);
  assertEquals(
    (await json("usage", "--account", "ada@example.com")).rows.length,
    0,
    "paid by the pool",
  );
  const { data: listed } = await json("key", "list", "--team", "Platform");
  assertEquals(listed.map((one: { spent: number }) => one.spent).toSorted(), [1, 1, 2]);

  const keysText = await text("key", "list", "--team", "Platform");
  assertMatch(keysText, /^id +member +key /, "a lead sees whose each key is");
  assertMatch(keysText, new RegExp(`^${adas.id} +ada@example\\.com +sk-`, "m"));
  assertMatch(keysText, new RegExp(`^${shared.id} +- +sk-`, "m"));
  const [header, ...rows] = (await text("usage", "--team", "Platform", "--requests"))
    .trim().split("\r\n").map((line) => line.split(","));
  assertEquals(header!.slice(-5), ["team", "member", "account_id", "team_id", "member_id"]);
  assertEquals(rows.map((row) => row.slice(-5, -3).join()).toSorted(), [
    "Platform,",
    "Platform,ada@example.com",
    "Platform,ada@example.com",
    "Platform,bob@example.com",
  ]);

  assertMatch(
    await text("team", "add", "Platform", "--account", "ada@example.com"),
    /is lead in Platform/,
    "a lead who is added again stays one",
  );
  assertMatch(
    await text("team", "add", "Platform", "--account", "ada@example.com", "--role", "member"),
    /is member in Platform/,
  );
  await text("team", "add", "Platform", "--account", "ada@example.com", "--role", "lead");

  await text("team", "stop", "Platform", "--account", "bob@example.com");
  await until(async () => await chat(url, bobs.key) === 403);
  assertEquals([await chat(url, adas.key), await chat(url, shared.key)], [200, 200]);
  const shown = await json("team", "show", "Platform");
  assertEquals(
    shown.members.map((one: Record<string, unknown>) => [one.email, one.role, one.state, one.keys]),
    [["ada@example.com", "lead", "active", 1], ["bob@example.com", "member", "stopped", 1]],
  );
  await text("team", "remove", "Platform", "--account", "bob@example.com");
  assertEquals((await json("key", "list", "--team", "Platform")).data.length, 2);
  assertEquals((await json("key", "list", "--team", "Platform", "--all")).data.length, 3);
  assertStringIncludes(
    await text("key", "list", "--team", "Platform"),
    "1 revoked or expired: sluice key list --all --team Platform",
  );
  await text("team", "disable", "Platform");
  await until(async () => await chat(url, shared.key) === 403);
  await text("team", "enable", "Platform");
  await until(async () => await chat(url, shared.key) === 200);
  assertMatch(await text("team", "list"), /Platform\s+active\s+9\d\d/);
});

Deno.test("wrong usage of commands about teams, roles and keys is said", async () => {
  await using dir = await tempDir();
  await using commands = commandsIn(dir.path);
  const { json, failing } = commands;
  await json("account", "create", "--email", "ada@example.com");
  await json("team", "create", "--name", "Paying", "--members-pay");
  const bare = ["--credits", "5"];
  for (
    const [args, code, message] of [
      [["credits", "grant", ...bare], 2, "pass either --account or --team"],
      [["credits", "grant", "--team", "Paying", ...bare], 1, "Team Paying has no pool"],
      [["team", "show", "None"], 1, "not found"],
      [["team", "create", "--name", "paying"], 1, "already exists"],
      [
        ["team", "add", "Paying", "--account", "ada@example.com", "--role", "boss"],
        2,
        "Allowed choices",
      ],
      [["team", "stop", "Paying", "--account", "ada@example.com"], 1, "not in team"],
      [["key", "create", "--member", "ada@example.com"], 2, "--member: member goes with team"],
      [["key", "create", "--team", "Paying"], 1, "no pool"],
      [
        ["key", "create", "--team", "Paying", "--scopes", "admin"],
        2,
        "--scopes: Keys of a team have",
      ],
      [
        ["key", "create", "--account", "ada@example.com", "--scopes", "admin"],
        1,
        "cannot have the scope",
      ],
      [["key", "create", "--scopes", "root"], 2, "--scopes must be"],
      [["key", "rotate", "key_none"], 1, "not found"],
      [["usage", "--team", "Platform", "--account", "ada@example.com"], 2, "pass either"],
      [["account", "role", "owner@localhost", "none"], 1, "last owner"],
      [["account", "role", "ada@example.com", "king"], 2, "Allowed choices"],
    ] as const
  ) {
    const [status, said] = await failing(...args);
    assertEquals(status, code, `${args.join(" ")}: ${said}`);
    assertStringIncludes(String(said), message);
  }
});

Deno.test("account role, key update and key rotate from the shell", async () => {
  await using dir = await tempDir();
  await using commands = commandsIn(dir.path);
  const { json, text } = commands;
  await json("account", "create", "--email", "ada@example.com", "--service");
  assertEquals((await json("account", "role", "ada@example.com", "finance")).role, "finance");
  const made = await json(
    "key",
    "create",
    "--account",
    "ada@example.com",
    "--scopes",
    "read,inference",
  );
  assertEquals([made.scopes, made.expires_at], [["read", "inference"], null]);
  const updated = await json("key", "update", made.id, "--name", "ci", "--models", "svc-k2");
  assertEquals([updated.name, updated.models], ["ci", ["svc-k2"]]);
  assertEquals((await json("key", "update", made.id, "--models", "all")).models, null);
  const rotated = await json("key", "rotate", made.id, "--keep", "24h");
  assertEquals([rotated.id, rotated.name, rotated.key === made.key], [made.id, "ci", false]);
  const left = Date.parse(rotated.previous_valid_until) - Date.now();
  assertEquals(Math.round(left / 3_600_000), 24);
  assertStringIncludes(await text("key", "rotate", made.id), "stops working within a second");
  await json("key", "revoke", made.id);
  assertMatch(await text("key", "list", "--account", "ada@example.com"), /1 revoked or expired/);
});
