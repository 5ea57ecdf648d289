import { assert, assertEquals, assertMatch, assertStringIncludes } from "../../assert.ts";
import { type Finished, NO_GATEWAY, startCommand } from "../../fake/command.ts";
import { serveHere, sluice } from "../../fake/shell.ts";
import { tempDir, until } from "../../fake/temp.ts";

/** What a command that must succeed prints with `--json`. */
async function json(directory: string, ...args: string[]) {
  const { code, out, err } = await sluice([...args, "--json"], { directory });
  assertEquals([code, err], [0, ""], args.join(" "));
  return JSON.parse(out);
}

Deno.test("first start: address, key and a curl line that works as pasted; later starts: no secret", async () => {
  await using dir = await tempDir();
  const options = { directory: dir.path };
  let key: string;
  {
    await using gateway = startCommand(["--port", "0"], options);
    const [, ...curls] = await gateway.waitFor(
      /^ {2}(curl .+)\n\n {2}(curl .+)\n\n {2}(curl .+\/v1\/responses .+)$/m,
    );
    key = /sk-[A-Za-z0-9]+/.exec(curls[0]!)![0];
    assertStringIncludes(gateway.out(), "the built-in simulator replies");
    for (const curl of curls) {
      const { stdout, code } = await new Deno.Command("bash", { args: ["-c", `${curl} -sS -f`] })
        .output();
      assertEquals(code, 0);
      const reply = JSON.parse(new TextDecoder().decode(stdout));
      const { choices, content, output } = reply;
      const text = choices?.[0].message.content ?? (content ?? output[0].content)[0].text;
      assertStringIncludes(text, "Hello");
    }
    gateway.signal("SIGTERM");
    assertEquals((await gateway.status).code, 0);
    assert(!gateway.err().includes(key), "the key is in the log");
    assertMatch(gateway.err(), /"message":"request"/);
  }
  await using again = startCommand(["serve", "--port", "0"], options);
  await again.waitFor(/listening on/);
  again.signal("SIGINT");
  assertEquals((await again.status).code, 0);
  assert(!again.out().includes("sk-") && !again.out().includes("curl"));
});

Deno.test("wrong usage is said by the program's name, like every other fault", async () => {
  await using dir = await tempDir();
  for (
    const [args, said] of [
      [["key", "create", "--nope"], "sluice: unknown option '--nope'"],
      [["key", "revoke"], "sluice: missing required argument 'id'"],
    ] as const
  ) {
    const { code, err } = await sluice(args, { directory: dir.path });
    assertEquals([code, err.slice(0, said.length)], [2, said]);
  }
});

Deno.test("with SLUICE_OWNER_KEY nothing secret is printed, and that key works", async () => {
  await using dir = await tempDir();
  const key = `sk-given-${"g".repeat(32)}`;
  await using gateway = serveHere([], {
    directory: dir.path,
    env: { SLUICE_PORT: "0", SLUICE_OWNER_KEY: key },
  });
  const [, url] = await gateway.waitFor(/listening on (\S+)[\s\S]*curl .*\$SLUICE_OWNER_KEY/);
  assert(!gateway.out().includes(key));
  const reply = await fetch(`${url}/v1/chat/completions`, {
    method: "POST",
    headers: { "x-api-key": key },
    body: '{"model":"svc-k2","messages":[{"role":"user","content":"Hi"}]}',
  });
  assertEquals(reply.status, 200);
  await reply.body?.cancel();
});

Deno.test("accounts and keys from the shell, beside a running gateway", async () => {
  await using dir = await tempDir();
  const directory = dir.path;
  await using gateway = serveHere(["--port", "0"], { directory });
  const [, url] = await gateway.waitFor(/listening on (\S+)/);
  await gateway.waitFor(/curl/);
  const run = (...args: string[]) => json(directory, ...args);
  const ada = await run("account", "create", "--email", "ada@example.com", "--name", "Ada");
  assertMatch(ada.id, /^acc_/);
  const made = await run(
    "key",
    "create",
    "--account",
    "ada@example.com",
    "--name",
    "laptop",
    "--expires",
    "30d",
    "--models",
    "svc-k2",
    "--budget",
    "100",
  );
  assertMatch(made.key, /^sk-[A-Za-z0-9]{32,}$/);
  assertEquals([made.name, made.models, made.budget], ["laptop", ["svc-k2"], 100]);
  const ask = async (model = "svc-k2") => {
    const reply = await fetch(`${url}/v1/chat/completions`, {
      method: "POST",
      headers: { authorization: `Bearer ${made.key}` },
      body: JSON.stringify({ model, messages: [{ role: "user", content: "Hi" }] }),
    });
    await reply.body?.cancel();
    return reply.status;
  };
  assertEquals([await ask(), await ask("svc-k3")], [200, 403]);
  const [listed] = (await run("key", "list", "--account", "ada@example.com")).data;
  assertEquals([listed.id, listed.key, listed.revoked_at], [made.id, undefined, null]);

  const { rows: usage } = await run("usage", "--account", "ada@example.com", "--by", "model");
  assertEquals([usage[0].group.model, usage[0].requests, usage[0].errors], ["svc-k2", 1, 0]);
  assert(usage[0].input_tokens > 0 && usage[0].output_tokens > 0);
  const { rows: byDay } = await run("usage", "--account", "ada@example.com");
  assertMatch(byDay[0].group.day, /^\d{4}-\d\d-\d\d$/);

  assertMatch((await run("key", "revoke", made.id)).revoked_at, /T/);
  await until(async () => await ask() === 401, { what: "the revocation" });

  const disabled = await run("account", "disable", "ada@example.com");
  assertMatch(disabled.disabled_at, /T/);
  assertEquals((await run("account", "list")).data.length, 2);
  assertEquals((await run("account", "show", "ada@example.com")).keys, 1);
  const nobody = await sluice(["account", "show", "nobody@example.com"], { directory });
  assertEquals(nobody.code, 1);
  assertStringIncludes(nobody.err, " not found. List accounts with");
  assertEquals((await run("account", "enable", "ada@example.com")).disabled_at, null);
});

const USAGE: readonly { args: string[]; code: number; says: string }[] = [
  { args: ["--help"], code: 0, says: "Usage: sluice" },
  {
    args: ["key", "create", "--help"],
    code: 0,
    says: "sluice key create --account ada@example.com",
  },
  { args: ["frobnicate"], code: 2, says: "" },
  { args: ["credits", "grant", "--credits", "5"], code: 2, says: "--account" },
  {
    args: ["key", "create", "--account", "owner@localhost", "--expires", "soon"],
    code: 2,
    says: "--expires must be a number and a unit",
  },
  // a mistyped --data makes no database
  { args: ["account", "show", "nobody@example.com"], code: 1, says: "No database at" },
  { args: ["backup", "copy.db"], code: 1, says: "No database at" },
  { args: ["doctr"], code: 2, says: "did you mean doctor?" },
  { args: ["account", "create", "--email", "nope"], code: 1, says: "Invalid email address" },
  {
    args: ["usage", "--account", "x@example.com", "--by", "moon"],
    code: 2,
    says: "day, hour, model, key",
  },
  {
    args: ["serve", "--port", "99999"],
    code: 2,
    says: "--port must be a whole number from 0 to 65535",
  },
  { args: ["config", "schema", "--json"], code: 0, says: '"$schema"' },
  { args: ["serve", "--config", "gone.jsonc"], code: 1, says: "file not found" },
  {
    args: ["simulate", "--port", "x"],
    code: 2,
    says: "--port must be a whole number from 0 to 65535",
  },
];

/** Runs a command that ends by itself, also one that would serve. */
async function finished(args: readonly string[], directory: string): Promise<Finished> {
  await using command = serveHere(args, { directory });
  const { code } = await command.status;
  return { code, out: command.out(), err: command.err() };
}

for (const { args, code, says } of USAGE) {
  Deno.test(`sluice ${args.join(" ")}: exit ${code}`, async () => {
    await using dir = await tempDir();
    const done = await finished(args, dir.path);
    assertEquals(done.code, code, done.out + done.err);
    assertStringIncludes(done.out + done.err, says);
    if (code !== 0) assertEquals(done.out, "");
  });
}

Deno.test("wrong usage of a command that makes a database makes none", async () => {
  await using dir = await tempDir();
  const help = async (path: readonly string[]) =>
    (await sluice([...path, "--help"], { directory: dir.path })).out;
  const making: string[][] = [];
  const walk = async (path: string[]) => {
    const text = await help(path);
    const [, below = ""] = /Commands:\n([^]*?)(\n\n|$)/.exec(text) ?? [];
    for (const [, name] of below.matchAll(/^ {2}([a-z][\w-]*)/gm)) {
      if (name !== "help") await walk([...path, name!]);
    }
    if (/^ +--create /m.test(text)) making.push(path);
  };
  await walk([]);
  const told: string[] = [];
  for (const path of making) {
    for (const [, flag] of (await help(path)).matchAll(/^ +(--[\w-]+) </gm)) {
      // which models are served is asked of the database
      if (["--config", "--data", "--models"].includes(flag!)) continue;
      const needed = path[1] === "create" && path[0] !== "key"
        ? [path[0] === "team" ? "--name=x" : "--email=x@example.com"]
        : [];
      const given = [...path, ...needed, `${flag}=so on`];
      const directory = `${dir.path}/${given.join(" ").replaceAll("/", "")}`;
      await Deno.mkdir(directory);
      const { code, out } = await sluice(given, { directory, env: NO_GATEWAY });
      if (code !== 2) continue;
      told.push(`${path.join(" ")} ${flag}`);
      assertEquals(
        [out, await Array.fromAsync(Deno.readDir(directory))],
        ["", []],
        given.join(" "),
      );
    }
  }
  for (const one of ["key create --expires", "key create --budget", "env --expires"]) {
    assert(told.includes(one), told.join(", "));
  }
});

Deno.test("a port in use is said in a sentence", async () => {
  await using dir = await tempDir();
  using taken = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const { port } = taken.addr as Deno.NetAddr;
  const done = await finished(["--port", String(port)], dir.path);
  assertEquals(done.code, 1);
  assertStringIncludes(done.err, `Cannot listen on 127.0.0.1:${port}: the port is in use`);
});

Deno.test("sluice config check, show, schema; models; version", async () => {
  await using dir = await tempDir();
  const directory = dir.path;
  await Deno.writeTextFile(
    `${directory}/sluice.jsonc`,
    '{"port": 1234, "upstream": {"url": "http://127.0.0.1:1/v1", "key": "canary-key"}}',
  );
  const check = await sluice(["config", "check"], { directory });
  assertEquals([check.code, check.err], [0, ""]);
  const show = await sluice(["config", "show", "--json"], { directory });
  const port = JSON.parse(show.out).find(({ path }: { path: string }) => path === "port");
  assertEquals(port, { path: "port", value: 1234, origin: "file sluice.jsonc" });
  assert(!show.out.includes("canary-key"));
  const table = await sluice(["config", "show"], { directory });
  assertMatch(table.out, /^upstream\.key +file sluice\.jsonc +\[secret\]$/m);
  assertEquals(JSON.parse((await sluice(["config", "schema"], { directory })).out).type, "object");
  const models = JSON.parse((await sluice(["models", "--json"], { directory })).out);
  assertEquals([models.length, models[0].targets], [6, [{ upstream: "default", model: "svc-k2" }]]);
  assertMatch(
    (await sluice(["models"], { directory })).out,
    /svc-k3 +1,000,000 +128,000 +remote +effort/,
  );
  const version = JSON.parse((await sluice(["version", "--json"], { directory })).out);
  assertEquals(version.deno, Deno.version.deno);

  await Deno.writeTextFile(`${directory}/sluice.jsonc`, '{"prot": 1}');
  const bad = await sluice(["config", "check"], { directory });
  assertEquals(bad.code, 1);
  assertStringIncludes(bad.err, "prot: unknown setting; did you mean 'port'?");
});

Deno.test("sluice simulate is an upstream of its own", async () => {
  await using dir = await tempDir();
  const directory = dir.path;
  await using upstream = serveHere(["simulate", "--port", "0"], { directory });
  const [, url] = await upstream.waitFor(/SLUICE_UPSTREAM_URL=(\S+)/);
  await using gateway = serveHere([], {
    directory,
    env: { SLUICE_PORT: "0", SLUICE_UPSTREAM_URL: url!, SLUICE_UPSTREAM_KEY: "x" },
  });
  const [, curl] = await gateway.waitFor(/^ {2}(curl .+)$/m);
  assertStringIncludes(gateway.out(), `upstream  default (${new URL(url!).host}, chat)`);
  const { stdout } = await new Deno.Command("bash", { args: ["-c", `${curl} -sS -i`] }).output();
  assertMatch(
    new TextDecoder().decode(stdout),
    /x-sluice-simulated: true[\s\S]*You said: \\"Hello\\"/,
  );
  const models =
    await (await fetch(`${new URL(gateway.out().match(/listening on (\S+)/)![1]!)}v1/models`))
      .json();
  const listed = models.data.map(({ id }: { id: string }) => id);
  for (const id of ["svc-k2", "svc-k3"]) assert(listed.includes(id), id);

  const env = { SLUICE_UPSTREAM_URL: url!, SLUICE_UPSTREAM_KEY: "x" };
  const { out } = await sluice(["doctor", "--json"], { directory, env });
  const findings: { check: string; state: string }[] = JSON.parse(out).findings;
  const found = findings.find(({ check }) => check === "upstream default");
  assertEquals(found?.state, "ok", out);
});

Deno.test("credits and invites from the shell, beside a running gateway", async () => {
  await using dir = await tempDir();
  const directory = dir.path;
  await using gateway = serveHere(["--port", "0"], { directory });
  const [, url] = await gateway.waitFor(/listening on (\S+)/);
  await gateway.waitFor(/curl/);
  const run = (...args: string[]) => json(directory, ...args);
  const ada = ["--account", "ada@example.com"];
  await run("account", "create", "--email", "ada@example.com");
  const { code: invite } = await run("invite", "show", ...ada);
  await run("account", "create", "--email", "bob@example.com", "--invite", invite);
  const granted = await run("credits", "grant", ...ada, "--credits", "500", "--expires", "30d");
  assertEquals(granted.balance, 560);
  const bob = ["--account", "bob@example.com"];
  const sold = await run("credits", "grant", ...bob, "--package", "starter", "--paid");
  assertEquals(sold.balance, 510);

  const { key } = await run("key", "create", ...ada);
  const reply = await fetch(`${url}/v1/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}` },
    body: JSON.stringify({ model: "svc-k3", messages: [{ role: "user", content: "Hi" }] }),
  });
  await reply.body?.cancel();
  assertEquals(reply.headers.get("x-sluice-credits"), "3");
  const shown = await run("credits", "show", ...ada);
  assertEquals([shown.balance, shown.held, shown.consumed, shown.requests], [1_057, 0, 3, 1]);
  // what expires first is spent first
  assertEquals(
    shown.lots.map(({ source, remaining }: Record<string, unknown>) => [source, remaining]),
    [["grant", 497], ["signup", 10], ["invite_signup", 50], ["invite_payment", 500]],
  );
  const invites = await run("invite", "show", ...ada);
  assertEquals([invites.code, invites.joined[0].email, invites.joined[0].credits_earned], [
    invite,
    "bob@example.com",
    550,
  ]);
  assertEquals((await run("credits", "audit")).mismatches, []);

  const people = await sluice(["credits", "audit"], { directory });
  assertEquals(people.code, 0);
  assertStringIncludes(people.out, "No mismatches found.");
  const wrong = await sluice(["credits", "grant", ...ada], { directory });
  assertEquals([wrong.code, wrong.err], [2, "sluice: pass --credits or --package\n"]);
  const unknown = await sluice(["credits", "grant", ...ada, "--package", "gold"], { directory });
  assertEquals(unknown.code, 1);
  assertStringIncludes(
    unknown.err,
    'Unknown package "gold". Available packages: starter, standard',
  );
});
