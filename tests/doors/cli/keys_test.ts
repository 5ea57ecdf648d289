/** Commands about keys: `--models` names models that are served, or says `all`; a changed key says when it was used. */

import { openStore } from "../../../src/assemble/mod.ts";
import { assertEquals, assertStringIncludes } from "../../assert.ts";
import { ownersClient } from "../../fake/admin_client.ts";
import { startGateway, statusOf } from "../../fake/gateway.ts";
import { type Plan, watchPlans } from "../../fake/plans.ts";
import { sluice } from "../../fake/shell.ts";
import { tempDir } from "../../fake/temp.ts";

Deno.test("--models: a list that is empty or unknown makes and changes nothing; 'all' is a word of its own", async () => {
  await using dir = await tempDir();
  const file = `${dir.path}/sluice.jsonc`;
  const route = { targets: [{ upstream: "simulator", model: "x" }] };
  const write = (routes: Record<string, unknown>) =>
    Deno.writeTextFile(file, JSON.stringify({ routes }));
  await write({});
  const run = (...args: string[]) =>
    sluice([...args, "--json", "--config", file, "--data", `${dir.path}/data`], {
      directory: dir.path,
    });
  const printed = async (...args: string[]) => {
    const { code, out, err } = await run(...args);
    assertEquals(code, 0, err);
    return JSON.parse(out);
  };
  const key = await printed("key", "create", "--models", "svc-k2", "--create");
  const team = await printed("team", "create", "--name", "Platform", "--models", "svc-k2");
  const ways = [
    ["key", "create"],
    ["key", "update", key.id],
    ["team", "create", "--name", "Other"],
    ["team", "update", team.id],
  ];
  for (const way of ways) {
    for (const models of ["", ",", " ", "gone", "svc-k3,gone", "all,svc-k3", "ALL", "*"]) {
      const { code, err } = await run(...way, "--models", models);
      assertEquals(code, 2, `${way.join(" ")} --models '${models}': ${err}`);
    }
  }
  assertEquals((await printed("key", "list")).data.length, 1);
  assertEquals((await printed("team", "list")).data.map((one: { models: unknown }) => one.models), [
    [
      "svc-k2",
    ],
  ]);
  await write({ all: route });
  for (const way of ways) {
    const { code, err } = await run(...way, "--models", "all");
    assertEquals(code, 2, way.join(" "));
    assertStringIncludes(err, "a route has the name 'all'");
  }
  await write({});
  for (const way of ways) assertEquals((await printed(...way, "--models", "all")).models, null);
});

Deno.test("a key that is changed, rotated or revoked says when it was used and what it spent", async () => {
  await using gateway = await startGateway({ lendFrom: 1e9 });
  const { keys, owner } = gateway.gateway;
  const client = await ownersClient(gateway);
  const { id, secret } = await keys.issue(owner, { name: "laptop", models: ["svc-k2"] });
  const use = (content: string, body = {}) =>
    statusOf(gateway.chat(content, body, { key: secret }));
  const lastUsed = async () => (await client("GET", `/keys/${id}`)).json.last_used_at;
  // what is rejected is no use; what was admitted is one, whatever becomes of it
  assertEquals([await use("Hi", { temperature: 9 }), await use("Hi", { model: "svc-k3" })], [
    400,
    403,
  ]);
  assertEquals(await lastUsed(), null);
  assertEquals([await use("[[status 503]]"), typeof await lastUsed()], [503, "string"]);
  assertEquals(await use("Hi"), 200);
  const { json: known } = await client("GET", `/keys/${id}`);
  assertEquals([typeof known.last_used_at, known.spent > 0], ["string", true]);
  const command = (...args: string[]) =>
    sluice(["key", ...args, "--config", `${gateway.directory}/sluice.jsonc`], {
      directory: gateway.directory,
    });
  const update = (...more: string[]) => command("update", id, "--name", "desk", ...more);
  const printed = JSON.parse((await update("--json")).out);
  assertEquals([printed.last_used_at, printed.spent], [known.last_used_at, known.spent]);
  assertEquals((await update()).out.includes("never"), false);
  const rotated = JSON.parse((await command("rotate", id, "--json")).out);
  const { key: _key, ...listed } = rotated;
  const { json: found } = await client("GET", `/keys/${id}`);
  assertEquals(listed, found);
  const writes = [
    ["PATCH", `/keys/${id}`, { name: "laptop" }],
    ["POST", `/keys/${id}/rotate`, {}],
    ["POST", `/keys/${id}/revoke`, {}],
  ] as const;
  for (const [method, path, body] of writes) {
    const { status, json } = await client(method, path, { body });
    assertEquals([status, json.last_used_at, json.spent], [200, known.last_used_at, known.spent]);
  }
  const revoked = JSON.parse((await command("revoke", id, "--json")).out);
  assertEquals(revoked, (await client("GET", `/keys/${id}`)).json);
});

Deno.test("a list of more keys than a page has reads once what the keys of an account have spent", async () => {
  await using gateway = await startGateway();
  const { database, owner } = gateway.gateway;
  await database.batch([{
    sql: `insert into keys (id, account_id, name, digest, hint, source, created_at_ms)
      select printf('key_%016d', value), ?, '', printf('%064d', value), '', 'issued', value
      from generate_series(1, 501)`,
    args: [owner.id],
  }]);
  const all: (readonly Plan[])[] = [];
  const { out } = await sluice(
    [
      "key",
      "list",
      "--account",
      owner.email,
      "--json",
      "--config",
      `${gateway.directory}/sluice.jsonc`,
    ],
    {
      directory: gateway.directory,
      openParts: (config) =>
        openStore(config, {
          besideGateway: true,
          now: Date.now,
          wrapDatabase(opened) {
            const watched = watchPlans(opened);
            all.push(watched.plans);
            return watched.database;
          },
        }),
    },
  );
  assertEquals(JSON.parse(out).data.length, 502);
  assertEquals(all.flat().filter(({ sql }) => sql.includes("usage_days")).length, 1);
});
