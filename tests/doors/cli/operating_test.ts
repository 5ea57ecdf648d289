import { assert, assertEquals, assertMatch, assertStringIncludes } from "../../assert.ts";
import { MIGRATIONS } from "../../../src/ground/database/mod.ts";
import { type Finished, NO_GATEWAY, startCommand } from "../../fake/command.ts";
import { serveHere, sluice } from "../../fake/shell.ts";
import { simulateServer } from "../../fake/simulate.ts";
import { tempDir, until } from "../../fake/temp.ts";
import { fakeUpstream } from "../../fake/upstream.ts";
import { sized } from "../../tier.ts";

const KEY = `sk-owner-${"k".repeat(32)}`;

/** Runs commands in one directory. */
function shell(directory: string, env: Record<string, string> = {}) {
  return (...args: string[]): Promise<Finished> => sluice(args, { directory, env });
}

async function succeeded(finished: Promise<Finished>): Promise<string> {
  const { code, out, err } = await finished;
  assertEquals(code, 0, `${out}\n${err}`);
  return out;
}

Deno.test("env: what it prints makes a client work, against the gateway that runs", async () => {
  await using dir = await tempDir();
  await using gateway = serveHere(["--port", "0"], { directory: dir.path });
  const [, url] = await gateway.waitFor(/listening on (\S+)/);
  await gateway.waitFor(/curl/);
  const run = shell(dir.path);
  const variables = JSON.parse(await succeeded(run("env", "--json")));
  assertEquals(variables.OPENAI_BASE_URL, `${url}/v1`);
  const reply = await fetch(`${variables.ANTHROPIC_BASE_URL}/v1/messages`, {
    method: "POST",
    headers: { authorization: `Bearer ${variables.ANTHROPIC_AUTH_TOKEN}` },
    body: JSON.stringify({
      model: variables.ANTHROPIC_MODEL,
      max_tokens: 64,
      messages: [{ role: "user", content: "Hi" }],
    }),
  });
  assertEquals(reply.status, 200);
  await reply.body?.cancel();
  const text = await succeeded(run("env"));
  const { stdout } = await new Deno.Command("bash", {
    args: ["-c", `eval "$1"; printf %s "$OPENAI_BASE_URL"`, "-", text],
  }).output();
  assertEquals(new TextDecoder().decode(stdout), `${url}/v1`);
});

Deno.test("env: with SLUICE_OWNER_KEY nothing is issued, and a gateway that is not there is said", async () => {
  await using dir = await tempDir();
  const { code, out, err } = await sluice(["env"], {
    directory: dir.path,
    env: { SLUICE_OWNER_KEY: KEY, ...NO_GATEWAY },
  });
  assertEquals(code, 0);
  assertStringIncludes(out, `export OPENAI_API_KEY='${KEY}'`);
  assertStringIncludes(err, `no gateway is running on ${dir.path}/data;`);
  assertEquals(JSON.parse(await succeeded(shell(dir.path)("key", "list", "--json"))).data, []);
});

Deno.test("env: names models that are served", async () => {
  await using dir = await tempDir();
  const printed = async () => {
    const out = await succeeded(shell(dir.path, NO_GATEWAY)("env", "--json"));
    const { ANTHROPIC_MODEL: model, ANTHROPIC_DEFAULT_HAIKU_MODEL: small } = JSON.parse(out);
    return [model, small];
  };
  assertEquals(await printed(), ["claude-svc-k3", "claude-svc-k2"]);
  const upstreams = {
    one: { url: "http://127.0.0.1:9/v1" },
    two: { url: "http://127.0.0.1:9/v1" },
  };
  const routes = {
    small: {
      targets: [{ upstream: "one", model: "m" }],
      context: 8_192,
      maxOutput: 1_024,
      minimum: 1,
      prices: { input: 1, cached: 1, output: 1 },
    },
  };
  await Deno.writeTextFile(`${dir.path}/sluice.jsonc`, JSON.stringify({ upstreams, routes }));
  assertEquals(await printed(), ["claude-small", "claude-small"]);
});

Deno.test("run: a gateway beside the program, its key kept for the next run, its status passed on", async () => {
  await using dir = await tempDir();
  const run = shell(dir.path, { SLUICE_PORT: "1" });
  const call =
    `curl -sf $OPENAI_BASE_URL/chat/completions -H "Authorization: Bearer $OPENAI_API_KEY" ` +
    `-d '{"model":"svc-k2","messages":[{"role":"user","content":"Hello"}]}' && exit 7`;
  for (let time = 0; time < 2; time++) {
    const { code, out, err } = await run("run", "--", "sh", "-c", call);
    assertEquals(code, 7, err);
    assertStringIncludes(out, 'You said: \\"Hello\\"');
    assertStringIncludes(err, "the built-in simulator replies to sh (svc-k3, svc-k2)");
    assertStringIncludes(err, "sluice init");
  }
  const { data: keys } = JSON.parse(await succeeded(run("key", "list", "--json")));
  assertEquals(keys.map(({ name, revoked_at }: Record<string, unknown>) => [name, revoked_at]), [
    ["sluice run sh", null],
  ]);
  const missing = await run("run", "--", "no-such-program-here");
  assertEquals(missing.code, 1);
  assertStringIncludes(missing.err, "program not found");
  assertEquals((await run("run")).code, 2);
});

Deno.test("run: a tool that is not installed, and one that would go elsewhere, are said", async () => {
  await using dir = await tempDir();
  const run = shell(dir.path, { SLUICE_PORT: "1", PATH: "/nowhere" });
  const missing = await run("run", "--", "claude", "-p", "hi");
  assertEquals(missing.code, 1);
  assertStringIncludes(missing.err, "npm install -g @anthropic-ai/claude-code");
  const refused = await run("run", "--", "gemini", "-p", "hi");
  assertEquals([refused.code, refused.out], [1, ""]);
  assertStringIncludes(
    refused.err,
    "sluice: Cannot run gemini: Gemini CLI speaks only Google's API",
  );
});

Deno.test("run: the simulator is said only where it replies", async () => {
  await using dir = await tempDir();
  await using server = simulateServer();
  {
    const run = shell(dir.path, { SLUICE_PORT: "1", SLUICE_UPSTREAM_URL: server.url });
    assert(!(await run("run", "--", "true")).err.includes("simulator"));
  }
  // the gateway that runs decides, not the settings of this shell
  const run = shell(dir.path, { SLUICE_PORT: "1" });
  await using gateway = serveHere(["--port", "0"], {
    directory: dir.path,
    env: { SLUICE_UPSTREAM_URL: server.url },
  });
  await gateway.waitFor(/listening on (\S+)/);
  assertEquals((await run("run", "--", "true")).err, "");
});

Deno.test("run: a gateway that runs has the keys of its upstreams, and the shell need not", async () => {
  await using dir = await tempDir();
  await using server = simulateServer();
  const settings = { port: 0, upstreams: { a: { url: server.url, key: "${A_KEY}" } } };
  await Deno.writeTextFile(`${dir.path}/sluice.jsonc`, JSON.stringify(settings));
  const run = shell(dir.path, NO_GATEWAY);
  {
    const options = { directory: dir.path, env: { A_KEY: "key" } };
    await using gateway = serveHere([], options);
    const [, url] = await gateway.waitFor(/listening on (\S+)/);
    const ran = await succeeded(run("run", "--", "sh", "-c", "echo $OPENAI_BASE_URL"));
    assertEquals(ran, `${url}/v1\n`);
  }
  const { code, err } = await run("run", "--", "true");
  assertEquals(code, 1);
  assertStringIncludes(err, "environment variable A_KEY is not set");
});

Deno.test("run: a tool is started with its own arguments before the user's, and a file of its own", async () => {
  await using dir = await tempDir();
  const script =
    `#!/bin/sh\necho "$@"; ls -l "$CLINE_PROVIDER_SETTINGS_PATH" "$2" 2>/dev/null; true\n`;
  for (const name of ["pi", "cline"]) {
    await Deno.writeTextFile(`${dir.path}/${name}`, script, { mode: 0o755 });
  }
  const run = shell(dir.path, {
    SLUICE_PORT: "1",
    PATH: `${dir.path}:${Deno.env.get("PATH")}`,
  });
  const pi = await succeeded(run("run", "--", "pi", "-p", "hi"));
  assertMatch(
    pi,
    /^--extension \S+\/sluice\.mjs --provider sluice --model svc-k3 -p hi\n-rw------- /,
  );
  assertEquals((await succeeded(run("run", "--", "pi", "list"))).split("\n")[0], "list");
  assertMatch(
    await succeeded(run("run", "--", "cline", "hi")),
    /^hi\n-rw------- .*providers\.json/,
  );
});

Deno.test("env: the key is printed again, and a short-lived one is another", async () => {
  await using dir = await tempDir();
  const key = async (...args: string[]) =>
    JSON.parse(await succeeded(shell(dir.path, NO_GATEWAY)("env", "--json", ...args)))
      .OPENAI_API_KEY;
  const first = await key();
  assertEquals(await key(), first);
  assert(await key("--expires", "12h") !== first);
  assertEquals(await key(), first);
});

Deno.test("another data directory's gateway is not taken for one's own", async () => {
  await using dir = await tempDir();
  await using other = await tempDir();
  await using gateway = serveHere(["--port", "0"], { directory: other.path });
  const [, url] = await gateway.waitFor(/listening on (\S+)/);
  const run = shell(dir.path, { SLUICE_PORT: new URL(url!).port });
  const ran = await run("run", "--", "sh", "-c", "echo $OPENAI_BASE_URL");
  assertEquals(ran.code, 0, ran.err);
  assert(!ran.out.includes(url!), ran.out);
  assertStringIncludes(ran.err, "no gateway is running on");
  assertStringIncludes((await run("env")).err, `Another gateway answers at ${url}`);
  const { findings } = JSON.parse((await run("doctor", "--local", "--json")).out);
  const found = findings.find(({ check }: { check: string }) => check === "gateway");
  assertEquals(found.state, "warning");
});

Deno.test("a gateway is found whose public address does not answer", async () => {
  await using dir = await tempDir();
  const options = { directory: dir.path, env: { SLUICE_PUBLIC_URL: "https://gateway.invalid" } };
  await using gateway = serveHere(["--port", "0"], options);
  const [, url] = await gateway.waitFor(
    /listening on (\S+) \(public address: https:\/\/gateway\.invalid\)/,
  );
  const run = shell(dir.path, options.env);
  const ran = await succeeded(run("run", "--", "sh", "-c", "echo $OPENAI_BASE_URL"));
  assertEquals(ran, `${url}/v1\n`);
  const { findings } = JSON.parse((await run("doctor", "--local", "--json")).out);
  const { state, detail } = findings.find(({ check }: { check: string }) => check === "gateway");
  assertEquals(state, "warning");
  assertStringIncludes(
    detail,
    `running at ${url}, but not reachable at the public address https://gateway.invalid`,
  );
});

Deno.test("the printed calls ask a model that is served; without one that is said", async () => {
  await using dir = await tempDir();
  await using server = simulateServer();
  const start = async (routes: unknown) => {
    const settings = { upstreams: { a: { url: server.url }, b: { url: server.url } }, routes };
    await Deno.writeTextFile(`${dir.path}/sluice.jsonc`, JSON.stringify(settings));
    return serveHere(["--port", "0"], { directory: dir.path, env: { SLUICE_OWNER_KEY: KEY } });
  };
  {
    await using gateway = await start({
      own: { targets: [{ upstream: "a", model: "m" }], context: 9e3 },
    });
    await gateway.waitFor(/curl[^\n]*"model":"own"[^\n]*\n[\s\S]*"model":"own"/);
  }
  await using gateway = await start({});
  const [, url] = await gateway.waitFor(/listening on (\S+)[\s\S]*no route has a target/);
  const reply = await fetch(`${url}/v1/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${KEY}` },
    body: '{"model":"svc-k2","messages":[{"role":"user","content":"Hi"}]}',
  });
  const { error } = await reply.json();
  assertEquals([reply.status, error.code], [404, "model_not_found"]);
  assertStringIncludes(error.message, "No models are configured");
});

Deno.test("key create and key list are about the owner unless an account is named", async () => {
  await using dir = await tempDir();
  const run = shell(dir.path);
  const made = JSON.parse(await succeeded(run("key", "create", "--json")));
  const [listed] = JSON.parse(await succeeded(run("key", "list", "--json"))).data;
  assertEquals(listed.id, made.id);
  const credits = await succeeded(run("credits", "show", "--account", "owner@localhost", "--json"));
  assertEquals(JSON.parse(credits).balance, 1_000_000);
});

Deno.test("init finds keys and local servers, and what it writes is used", async () => {
  await using dir = await tempDir();
  const run = shell(dir.path, { OPENAI_API_KEY: "sk-test-not-a-key" });
  const found = await succeeded(run("init", "--yes", "--here"));
  assertStringIncludes(found, "an API key for OpenAI in OPENAI_API_KEY");
  const text = await Deno.readTextFile(`${dir.path}/sluice.jsonc`);
  assertStringIncludes(text, '"key": "${OPENAI_API_KEY}"');
  assert(!text.includes("sk-test-not-a-key"));
  assertStringIncludes(await succeeded(run("config", "check")), "Settings OK");
  const again = await run("init", "--yes", "--here");
  assertEquals(again.code, 1);
  assertStringIncludes(again.err, "--force");
  assertEquals((await sluice(["init", "--force", "--here"], { directory: dir.path })).code, 2);
});

Deno.test("doctor: what works, what does not, and what to do", async () => {
  await using dir = await tempDir();
  await using server = fakeUpstream(() => Response.json({ object: "list", data: [] }));
  await Deno.writeTextFile(
    `${dir.path}/sluice.jsonc`,
    JSON.stringify({
      upstreams: {
        good: { url: server.url },
        refused: { url: "http://127.0.0.1:1/v1" },
        nowhere: { url: "http://no-such-host.invalid/v1" },
      },
      routes: { "svc-k2": { targets: [{ upstream: "good", model: "svc-k2" }] } },
    }),
  );
  await succeeded(shell(dir.path)("key", "create"));
  const { code, out, err } = await shell(dir.path)("doctor", "--json");
  const { ok, findings } = JSON.parse(out);
  assertEquals([code, ok], [1, false]);
  assertStringIncludes(err, "sluice: 2 checks failed\n");
  const of = (check: string) => findings.find((one: { check: string }) => one.check === check);
  assertEquals(of("settings").state, "ok");
  assert(of("database").state !== "failed"); // a busy disk is a warning
  assertEquals(of("upstream good").state, "ok");
  assertEquals(of("upstream refused").state, "failed");
  assertStringIncludes(of("upstream refused").advice, "start the upstream");
  assertEquals(of("upstream nowhere").state, "failed");
  assertStringIncludes(of("upstream nowhere").advice, "host not found");
  // without the key that only answering needs, everything else is looked at
  await Deno.writeTextFile(
    `${dir.path}/sluice.jsonc`,
    `{ "upstreams": { "x": { "url": "${server.url}", "key": "\${NOT_SET}" } } }`,
  );
  const partly = JSON.parse((await shell(dir.path)("doctor", "--json")).out);
  const states = Object.fromEntries(
    partly.findings.map(({ check, state }: { check: string; state: string }) => [check, state]),
  );
  assertEquals(states["upstream x"], "warning");
  assertStringIncludes(JSON.stringify(partly), "NOT_SET not set in this shell");
  // nor does any command send the variable's name as a key
  for (const command of [["models"], ["config", "check"], ["config", "show"]]) {
    await succeeded(shell(dir.path)(...command));
  }
  const sent = server.received.map(({ headers }) => headers.get("authorization") ?? "");
  assertEquals(sent.filter((one) => one.includes("NOT_SET")), []);
  await Deno.writeTextFile(`${dir.path}/sluice.jsonc`, `{ "prot": 1 }`);
  const wrong = await shell(dir.path)("doctor");
  assertEquals(wrong.code, 1);
  assertStringIncludes(wrong.out, "did you mean 'port'?");
});

Deno.test("doctor: advice on a warning of the settings fits each of them", async () => {
  await using dir = await tempDir();
  const env = { SLUICE_REGISTRATION: "open", SLUICE_PROT: "1" };
  const { findings } = JSON.parse((await shell(dir.path, env)("doctor", "--local", "--json")).out);
  const warnings: { detail: string; advice: string }[] = findings.filter(
    ({ check, state }: { check: string; state: string }) =>
      check === "settings" && state === "warning",
  );
  assertEquals(warnings.map(({ detail }) => detail.slice(0, 20)), [
    "Unknown environment ",
    "registration is open",
  ]);
  const advice = "correct it, unless it is what you want";
  assertEquals(warnings.map((one) => one.advice), [advice, advice]);
});

Deno.test("doctor says which models an upstream serves that lists none", async () => {
  await using dir = await tempDir();
  const lists = { now: false };
  await using upstream = fakeUpstream(() =>
    lists.now
      ? Response.json({ object: "list", data: [{ id: "svc-k2" }] })
      : new Response("no", { status: 404 })
  );
  const said = async () => {
    const { out } = await sluice(["doctor"], {
      directory: dir.path,
      env: { SLUICE_UPSTREAM_URL: upstream.url },
    });
    return out.includes("it is sent the names of the built-in routes, such as svc-k2");
  };
  assertEquals(await said(), true);
  lists.now = true;
  assertEquals(await said(), false);
});

Deno.test("doctor checks each key of an upstream, and takes only a list of models for one", async () => {
  await using dir = await tempDir();
  await using upstream = fakeUpstream(({ headers, path }) => {
    if (path.startsWith("/v1/other")) return new Response("welcome");
    // as Gemini's chat address says it
    if (path.startsWith("/v1/gemini")) {
      const message = "API key not valid. Please pass a valid API key.";
      return Response.json([{ error: { code: 400, message, status: "INVALID_ARGUMENT" } }], {
        status: 400,
      });
    }
    if (path.startsWith("/v1/odd")) {
      return Response.json({ error: { message: "no such version" } }, { status: 400 });
    }
    return headers.get("authorization") === "Bearer good-upstream-key"
      ? Response.json({ object: "list", data: [{ id: "m" }] })
      : Response.json({ error: { message: "no" } }, { status: 401 });
  });
  await Deno.writeTextFile(
    `${dir.path}/sluice.jsonc`,
    JSON.stringify({
      upstreams: {
        pool: { url: upstream.url, keys: ["good-upstream-key", "bad-upstream-key"] },
        other: { url: `${upstream.url}/other` },
        gemini: { url: `${upstream.url}/gemini`, key: "wrong-upstream-key" },
        odd: { url: `${upstream.url}/odd`, key: "good-upstream-key" },
      },
      routes: { "svc-k2": { targets: [{ upstream: "pool", model: "m" }] } },
    }),
  );
  const { code, out } = await shell(dir.path)("doctor", "--json");
  const states = Object.fromEntries(
    JSON.parse(out).findings.map((
      { check, state }: { check: string; state: string },
    ) => [check, state]),
  );
  assertEquals(
    [states["upstream pool, key 1 of 2"], states["upstream pool, key 2 of 2"]],
    ["ok", "failed"],
  );
  assertEquals([code, states["upstream other"]], [1, "warning"]);
  assertEquals([states["upstream gemini"], states["upstream odd"]], ["failed", "warning"]);
  assertStringIncludes(out, "the key is invalid, expired or not allowed to list models");
  assert(!out.includes("upstream-key"), out);
});

Deno.test("backup under load, restored elsewhere: no committed charge is lost, twice the same", async () => {
  await using dir = await tempDir();
  await using elsewhere = await tempDir();
  const wide = { tiers: [{ above: 0, minute: 1e9, hour: 1e9, day: 1e9 }] };
  await Deno.writeTextFile(`${dir.path}/sluice.jsonc`, JSON.stringify(wide));
  await using gateway = startCommand(["--port", "0"], {
    directory: dir.path,
    env: { SLUICE_OWNER_KEY: KEY, SLUICE_LOG_LEVEL: "error" },
  });
  const [, url] = await gateway.waitFor(/listening on (\S+)/);
  let charged = 0;
  let asking = true;
  const ask = async () => {
    while (asking) {
      const reply = await fetch(`${url}/v1/chat/completions`, {
        method: "POST",
        headers: { authorization: `Bearer ${KEY}` },
        body: JSON.stringify({ model: "svc-k2", messages: [{ role: "user", content: "Hi" }] }),
      });
      await reply.text();
      if (reply.ok) charged++;
    }
  };
  const load = Array.from({ length: 8 }, ask);
  await until(() => charged >= sized(100, 300), { what: "requests" });
  const run = shell(dir.path);
  const before = charged;
  const file = `${elsewhere.path}/copy.db`;
  await succeeded(run("backup", file));
  const beside = charged - before;
  asking = false;
  await Promise.all(load);
  assert(beside > 0, "no request ended while the backup was made");

  const refused = await run("restore", file);
  assertEquals(refused.code, 1);
  assertStringIncludes(refused.err, "a gateway is running");

  const there = shell(elsewhere.path);
  const states: string[] = [];
  for (let round = 0; round < 2; round++) {
    await succeeded(there("restore", file));
    assertStringIncludes(await succeeded(there("credits", "audit")), "No mismatches found.");
    states.push(
      await succeeded(there("credits", "show", "--account", "owner@localhost", "--json")),
    );
  }
  assertEquals(states[0], states[1]);
  const { requests } = JSON.parse(states[0]!);
  assert(requests >= before, `${requests} of ${before} charges are in the backup`);
});

Deno.test("restore: what is no backup, a damaged or a newer one changes nothing", async () => {
  await using dir = await tempDir();
  const run = shell(dir.path);
  await succeeded(run("account", "create", "--email", "ada@example.com"));
  const file = `${dir.path}/copy.db`;
  await succeeded(run("backup", file));
  const bytes = await Deno.readFile(file);

  const spoilt = bytes.slice();
  spoilt.fill(0, 4_096 * 2, 4_096 * 6);
  const { default: Driver } = await import("libsql");
  await Deno.writeFile(`${dir.path}/newer.db`, bytes);
  const newer = new Driver(`${dir.path}/newer.db`);
  newer.exec(`insert into schema_versions values (${MIGRATIONS.at(-1)!.version + 1}, 'later', 0)`);
  newer.close();
  const cases: readonly [string, Uint8Array | string | undefined, string][] = [
    ["text.db", "not a database", "backup"],
    ["spoilt.db", spoilt, "backup"],
    ["newer.db", undefined, "newer Sluice"],
    ["absent.db", undefined, "file not found"],
    [".", undefined, `sluice: Cannot restore ${dir.path}: it is not a regular file\n`],
  ];
  for (const [name, content, says] of cases) {
    if (typeof content === "string") await Deno.writeTextFile(`${dir.path}/${name}`, content);
    else if (content !== undefined) await Deno.writeFile(`${dir.path}/${name}`, content);
    const { code, err } = await run("restore", name);
    assertEquals(code, 1, name);
    assertStringIncludes(err, says);
  }
  for (const target of ["data/sluice.db", "data/sluice.db-wal", "data"]) {
    const { code, err } = await run("backup", target);
    assertEquals(code, 1, target);
    assertStringIncludes(err, target === "data" ? "it is a directory" : "Cannot back up to");
  }
  const live = await run("restore", "data/sluice.db");
  assertStringIncludes(live.err, "onto itself");
  const { data: list } = JSON.parse(await succeeded(run("account", "list", "--json")));
  assertEquals(list.length, 2);
  const left = await Array.fromAsync(Deno.readDir(`${dir.path}/data`), ({ name }) => name);
  assertEquals(left.filter((name) => name.includes("restor")), []);
});

Deno.test("restore keeps what was there, every time, and plays no old log into it", async () => {
  await using dir = await tempDir();
  const run = shell(dir.path);
  const emails = async () => {
    const { data: list } = JSON.parse(await succeeded(run("account", "list", "--json")));
    return list.map(({ email }: { email: string }) => email).slice(1);
  };
  await succeeded(run("account", "create", "--email", "ada@example.com"));
  await succeeded(run("backup", "copy.db"));
  await succeeded(run("account", "create", "--email", "bob@example.com"));
  const first = JSON.parse(await succeeded(run("restore", "copy.db", "--json")));
  assertEquals(await emails(), ["ada@example.com"]);
  await succeeded(run("restore", "copy.db"));
  await succeeded(run("restore", first.before)); // the right one after the wrong one
  assertEquals(await emails(), ["ada@example.com", "bob@example.com"]);

  // the database was deleted, its log was not
  await succeeded(run("account", "create", "--email", "carol@example.com"));
  await Deno.remove(`${dir.path}/data/sluice.db`);
  await succeeded(run("restore", "copy.db"));
  assertEquals(await emails(), ["ada@example.com"]);
  const { mode } = await Deno.stat(`${dir.path}/data/sluice.db`);
  if (Deno.build.os !== "windows") assertEquals(mode! & 0o777, 0o600);
});

Deno.test("a database that a gateway with another data directory uses: no second one, no restore", async () => {
  await using dir = await tempDir();
  const options = {
    directory: dir.path,
    env: { SLUICE_DATABASE_URL: `file:${dir.path}/shared/sluice.db` },
  };
  await succeeded(sluice(["account", "create", "--email", "ada@example.com"], options));
  await succeeded(sluice(["backup", "copy.db"], options));
  await using gateway = serveHere(["--port", "0", "--data", "one"], options);
  await gateway.waitFor(/listening on/);
  await using second = serveHere(["--port", "0", "--data", "two"], options);
  assertEquals((await second.status).code, 1);
  assertStringIncludes(second.err(), "Another gateway is running");
  const { code, err } = await sluice(["restore", "copy.db", "--data", "two"], options);
  assertEquals(code, 1);
  assertStringIncludes(err, "gateway");
});

Deno.test("keys of upstreams are needed for answering, not for a backup", async () => {
  await using dir = await tempDir();
  await succeeded(shell(dir.path)("key", "create"));
  await Deno.writeTextFile(
    `${dir.path}/sluice.jsonc`,
    `{ "upstream": { "url": "http://127.0.0.1:1/v1", "key": "\${NOT_SET}" } }`,
  );
  await succeeded(shell(dir.path)("backup", "copy.db"));
  await using gateway = serveHere(["serve"], { directory: dir.path });
  assertEquals((await gateway.status).code, 1);
  assertEquals(
    gateway.err(),
    "sluice: Invalid settings: 1 error\n" +
      "  - sluice.jsonc:1:49  upstream.key: environment variable NOT_SET is not set\n",
  );
});

Deno.test("a gateway is healthy whose settings file has faults since it was read", async () => {
  await using dir = await tempDir();
  await using gateway = serveHere(["--port", "0"], { directory: dir.path });
  const [, url] = await gateway.waitFor(/listening on (\S+)/);
  for (const text of ["{ nonsense", '{ "port": "x" }', '{ "nothing": 1 }']) {
    await Deno.writeTextFile(`${dir.path}/sluice.jsonc`, text);
    for (const place of [["--data", "data"], []]) {
      const out = await succeeded(shell(dir.path)("doctor", "--running", ...place));
      assertStringIncludes(out, `running at ${url}`);
    }
    // where no gateway is
    const { code } = await shell(dir.path, { SLUICE_DATA: "other" })("doctor", "--running");
    assertEquals(code, 1);
  }
});

Deno.test("a first start that cannot listen makes no key that nobody sees", async () => {
  await using dir = await tempDir();
  using taken = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  await using failed = serveHere(["--port", String(taken.addr.port)], { directory: dir.path });
  assertEquals((await failed.status).code, 1);
  await using gateway = serveHere(["--port", "0"], { directory: dir.path });
  await gateway.waitFor(/API key {3}sk-/);
});

Deno.test("a simulated upstream that cannot listen says where, and what to do", async () => {
  await using dir = await tempDir();
  using taken = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const { port } = taken.addr;
  const { code, err } = await sluice(["simulate", "--port", String(port)], { directory: dir.path });
  assertEquals([code, err], [
    1,
    `sluice: Cannot listen on 127.0.0.1:${port}: the port is in use. Choose another with --port (0 picks a free one)\n`,
  ]);
});

Deno.test("every command that prints data takes --json, --config and --data", async () => {
  await using dir = await tempDir();
  const { out } = await sluice(["completion", "bash"], { directory: dir.path });
  const options = [...out.matchAll(/^ {4}"([^"]*)"\).* -W "([^"]+)"/gm)].map(([, path, words]) => ({
    path: path!,
    words: words!.split(" "),
  }));
  const without = (option: string) =>
    options.filter(({ words }) => !words.includes(option)).map(({ path }) => path);
  const elsewhere = ["auth login", "auth token", "auth logout", "auth status"];
  const groups = [
    ...["", "auth", "account", "key", "team", "credits", "import", "invite", "config", "alerts"],
    ...["payments", "codes", "upstream", "upstream-key"],
  ];
  assertEquals(
    new Set(without("--json")),
    new Set([
      ...[...groups, "serve", "init", "run", "simulate", "completion"],
      ...["auth login", "auth logout"],
    ]),
  );
  assertEquals(
    new Set(without("--data")),
    new Set([
      ...groups,
      ...elsewhere,
      "init",
      "config schema",
      "simulate",
      "completion",
      "version",
    ]),
  );
  assertEquals(without("--data"), without("--config"));
});

Deno.test("completion scripts load and complete", async () => {
  await using dir = await tempDir();
  const script = await succeeded(shell(dir.path)("completion", "bash"));
  const { stdout, code } = await new Deno.Command("bash", {
    args: [
      "-euc",
      `eval "$1"
      complete_of() { COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMPREPLY=(); _sluice; echo "\${COMPREPLY[*]}"; }
      complete_of sluice cre
      complete_of sluice credits ""
      complete_of sluice key create --acc
      complete_of sluice key create --account ada@example.com --na
      complete_of sluice account show ada@example.com --js`,
      "-",
      script,
    ],
    cwd: dir.path,
  }).output();
  assertEquals(code, 0);
  assertEquals(new TextDecoder().decode(stdout).trim().split("\n"), [
    "credits",
    "grant take-back checkout show audit lent write-off --help",
    "--account",
    "--name",
    "--json",
  ]);
  for (const shell of ["zsh", "fish"]) {
    assertStringIncludes(
      (await sluice(["completion", shell], { directory: dir.path })).out,
      "credits",
    );
  }
});
