import fc from "fast-check";
import { assert, assertEquals, assertMatch, assertStringIncludes } from "../../assert.ts";
import { NO_GATEWAY, startCommand } from "../../fake/command.ts";
import { keptOpen } from "../../fake/kept_open.ts";
import { ownersClient } from "../../fake/admin_client.ts";
import { startGateway } from "../../fake/gateway.ts";
import { Random, testSeed } from "../../fake/random.ts";
import { serveByTier, serveHere, sluice } from "../../fake/shell.ts";
import { exists, tempDir } from "../../fake/temp.ts";
import { signedIn } from "../../fake/visitor.ts";
import { sampled, sized } from "../../tier.ts";
import { commandText } from "../../../src/doors/cli/format.ts";

/** The words that a shell makes of each line. */
async function wordsOf(lines: readonly string[]): Promise<string[][]> {
  const script = lines.map((line) => `printf '%s\\0' ${line}; printf '\\n\\0'`).join("\n");
  const child = new Deno.Command("bash", { args: ["-s"], stdin: "piped", stdout: "piped" }).spawn();
  const output = child.output(); // a full pipe would hold the shell, and it the writer
  const writer = child.stdin.getWriter();
  await writer.write(new TextEncoder().encode(script));
  await writer.close();
  const text = new TextDecoder().decode((await output).stdout);
  return text.split("\n\0").slice(0, -1).map((one) => one.split("\0").slice(0, -1));
}

const NAMES = [
  ..."-x --help -- - --team=y it's a\"b $(id) `id` $HOME * ~ ! # a;b a&b a|b \\ é <a> ?x".split(
    " ",
  ),
  "a b",
  " -x",
];

Deno.test("printed commands: a shell makes of them the names that they are about", async () => {
  const name = fc.oneof(fc.constantFrom(...NAMES), fc.string({ minLength: 1 }))
    .filter((text) => !/[\0\n]/.test(text));
  const all = fc.sample(fc.tuple(name, name), sized(300, 5_000));
  const lines = all.map(([option, arg]) => commandText("x", { options: { option }, args: [arg] }));
  const words = await wordsOf(lines);
  for (const [at, [option, arg]] of all.entries()) {
    const [first, named = "", ...rest] = words[at]!;
    const [given, left] = named.includes("=") && option.startsWith("-")
      ? [named.slice("--option=".length), rest]
      : [rest[0], rest.slice(1)];
    const args = arg.startsWith("-") ? ["--", arg] : [arg];
    assertEquals([first, given, left], ["x", option, args], lines[at]);
  }
});

Deno.test("printed commands: what team create and key list print works as pasted, whatever the team is called", async () => {
  await using dir = await tempDir();
  await using kept = keptOpen();
  const options = { directory: dir.path, openParts: kept.openParts };
  await sluice(["account", "create", "--email", "ada@example.com"], options);
  const names = NAMES.filter((one) => one.trim() === one);
  for (const name of sampled(names, new Random(testSeed()), 4)) {
    const { out, err } = await sluice(["team", "create", `--name=${name}`], options);
    const [, next] = /Next: sluice (.*)\n/.exec(out) ?? [];
    assert(next !== undefined, out + err);
    const [words] = await wordsOf([next.replace("EMAIL", "ada@example.com")]);
    const added = await sluice(words!, options);
    assertEquals([added.code, added.err], [0, ""], next);
    const key = await sluice(["key", "create", `--team=${name}`, "--json"], options);
    await sluice(["key", "revoke", JSON.parse(key.out).id], options);
    const list = await sluice(["key", "list", `--team=${name}`], options);
    const [, all] = /revoked or expired: sluice (.*)\n/.exec(list.out) ?? [];
    const [said] = await wordsOf([all!]);
    const shown = await sluice(said!, options);
    assertEquals([shown.code, shown.out.includes(JSON.parse(key.out).id)], [0, true], all);
  }
});

Deno.test("what commands say without a result leads on, and they advise nothing that was done", async () => {
  await using dir = await tempDir();
  await using kept = keptOpen();
  const said = async (...args: string[]) => {
    const { out, err } = await sluice(args, {
      directory: dir.path,
      openParts: kept.openParts,
      input: "sk-own-0123456789",
    });
    return out + err;
  };
  await said("team", "create", "--name", "Platform");
  assertStringIncludes(await said("invite", "show"), "Nobody has joined with it yet.");
  assertStringIncludes(await said("alerts", "test"), 'such as "alerts": { "receivers": {');
  assertStringIncludes(
    await said("upstream-key", "set", "--team", "Platform", "--upstream", "one", "--no-test"),
    "The settings have no upstreams: add it to `upstreams`",
  );
  const sold = await said(
    ...["credits", "grant", "--team", "Platform", "--package", "starter", "--paid"],
    ...["--reference", "INV-1"],
  );
  assertStringIncludes(sold, "The pool of Platform has 500 credits now.");
  const [order = ""] = /ord_\w+/.exec(await said("payments", "list")) ?? [];
  const refunded = await said("payments", "refund", order, "--amount", "2", "--reference", "r-1");
  assertEquals(refunded, "2.00 USD of 4.99 USD are refunded: the order is partly refunded.\n");
  assertStringIncludes(await said("payments", "refund", order), "add: --reference ");
  const shown = await said("payments", "show", order);
  const names = shown.split("\n\n")[0]!.split("\n").map((line) => line.split(" ")[0]!);
  assertEquals(names.length, new Set(names).size, shown);
  assertMatch(shown, /^paid {6}4\.99 USD, \d{4}-.* UTC$/m);
  assertMatch(shown, /^returned {2}4\.99 USD$/m);
  assertEquals(/_at\b|\b499\b/.test(shown), false, shown);
});

Deno.test("a file that is not there, and a word that is no command, are said in words", async () => {
  await using dir = await tempDir();
  await using kept = keptOpen();
  const said = async (...args: string[]) =>
    (await sluice(args, { directory: dir.path, openParts: kept.openParts })).err;
  await said("key", "create");
  for (
    const args of [["import", "litellm", "none.yaml"], ["usage", "reconcile", "none.csv"]]
  ) {
    assertEquals(await said(...args), `sluice: Cannot read ${args[2]}: file not found\n`);
  }
  assertEquals(
    await said("acount"),
    "sluice: there is no command 'acount'; did you mean account? (see --help)\n",
  );
  assertEquals(
    await said("frobnicate"),
    "sluice: there is no command 'frobnicate'; see --help for all of them\n",
  );
});

Deno.test("rotate --keep: an earlier promise is not broken without a word, through any door", async () => {
  await using gateway = await startGateway();
  await using kept = keptOpen();
  const options = { directory: gateway.directory, openParts: kept.openParts };
  const { id } = JSON.parse((await sluice(["key", "create", "--json"], options)).out);
  const rotate = (...more: string[]) => sluice(["key", "rotate", id, ...more], options);
  assertEquals((await rotate("--keep", "24h")).code, 0);
  const refused = await rotate("--keep", "1h");
  assertEquals([refused.code, refused.out], [1, ""]);
  assertStringIncludes(refused.err, "is still valid, until 20");
  const api = await ownersClient(gateway);
  const body = { keep_seconds: 60 };
  assertEquals((await api("POST", `/keys/${id}/rotate`, { body })).status, 409);
  const browser = await signedIn(gateway, "owner@localhost");
  const form = async (fields: Record<string, string>) => {
    const reply = await browser.post(`/console/keys/${id}/rotate`, fields, {
      from: "/console/keys",
    });
    await reply.body?.cancel();
    return reply.status;
  };
  assertStringIncludes(await (await browser.get("/console/keys")).text(), 'name="end_earlier"');
  assertEquals(await form({ hours: "24" }), 400);
  assertEquals(await form({ hours: "24", end_earlier: "on" }), 200);
  assertEquals((await rotate("--keep", "1h", "--end-earlier")).code, 0);
  const said = { ...body, end_earlier: true };
  assertEquals((await api("POST", `/keys/${id}/rotate`, { body: said })).status, 200);
  assertEquals((await rotate()).code, 0); // all end at once, as its help says
  assertEquals((await rotate("--keep", "1h")).code, 0);
});

Deno.test("--data: a command that makes something asks before it makes a database there", async () => {
  await using dir = await tempDir();
  const options = { directory: dir.path, env: NO_GATEWAY };
  await Deno.writeTextFile(`${dir.path}/sluice.jsonc`, "{}");
  await Deno.writeTextFile(`${dir.path}/config.yaml`, "model_list: []\n");
  await Deno.writeTextFile(
    `${dir.path}/keys.json`,
    JSON.stringify({
      keys: [{ token: "a".repeat(64), key_alias: "k", user_id: "u", models: [], spend: 0 }],
    }),
  );
  const commands = [
    ["key", "create"],
    ["account", "create", "--email", "ada@example.com"],
    ["team", "create", "--name", "Platform"],
    ["env"],
    ["run", "true"],
    ["import", "litellm", "config.yaml", "--keys", "keys.json", "--write"],
  ];
  for (const [at, [command = "", ...args]] of commands.entries()) {
    const [first, ...rest] = args;
    const nested = command === "env" || command === "run" ? [command] : [command, first!];
    const others = nested.length === 1 ? args : rest;
    const run = (...more: string[]) =>
      sluice([...nested, "--data", `typo${at}`, ...more, ...others], options);
    const refused = await run();
    assertEquals([refused.code, refused.out], [1, ""], command);
    assertStringIncludes(refused.err, "make one with --create, or fix --data");
    assertEquals(await exists(`${dir.path}/typo${at}`), false, command);
    const made = await run("--create");
    assertEquals(made.code, 0, made.err);
    assert(await exists(`${dir.path}/typo${at}/sluice.db`), command);
  }
  assertEquals((await sluice(["key", "create"], options)).code, 0); // no --data: the place of always
});

Deno.test("for systemd, invalid settings have an exit status of their own, at which the unit does not restart", async () => {
  await using dir = await tempDir();
  const unit = await Deno.readTextFile(new URL("../../../deploy/sluice.service", import.meta.url));
  const [, stops = ""] = /^RestartPreventExitStatus=(.*)$/m.exec(unit) ?? [];
  const statusOf = async (
    args: string[],
    env: Record<string, string> = {},
    start = serveByTier,
  ) => {
    await using command = start(args, { directory: dir.path, env });
    return (await command.status).code;
  };
  const inUnit = { SLUICE_PORT: "http", SYSTEMD_EXEC_PID: String(Deno.pid) };
  await using started = serveHere(["serve"], { directory: dir.path, env: inUnit });
  assertEquals((await started.status).code, 78);
  assertEquals(await statusOf(["serve"], inUnit, startCommand), 1); // a process of the unit's main process
  assertEquals(await statusOf(["serve"], { SLUICE_PORT: "http" }), 1);
  assertEquals(await statusOf(["serve", "--port", "x"]), 2);
  assertEquals(stops.split(" "), ["2", "78"]);
  using taken = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  assertEquals(await statusOf(["serve", "--port", String(taken.addr.port)]), 1); // it may be free soon
});

Deno.test("config check notices quotes that belong to a variable's value, and prints no value", async () => {
  await using dir = await tempDir();
  await Deno.writeTextFile(
    `${dir.path}/sluice.jsonc`,
    JSON.stringify({ upstreams: { a: { url: "http://127.0.0.1:1/v1", key: "${MY_KEY}" } } }),
  );
  const check = (env: Record<string, string>) =>
    sluice(["config", "check"], { directory: dir.path, env });
  for (const quote of ['"', "'"]) {
    const quoted = (text: string) => `${quote}${text}${quote}`;
    const { code, out } = await check({
      MY_KEY: quoted("sk-1"),
      SLUICE_LOG: quoted("x"),
      OTHER: quoted("y"),
    })
      .then((one) => one.code === 0 ? one : { code: one.code, out: one.err });
    assertEquals(code, 1); // no such kind of log
    assertStringIncludes(out, "Environment variable SLUICE_LOG has quotes around its value");
    assertStringIncludes(out, "Environment variable MY_KEY has quotes");
    assert(!out.includes("OTHER") && !out.includes("sk-1"), out);
    const fine = await check({ MY_KEY: quoted("sk-1") });
    assertEquals(fine.code, 0);
    assertStringIncludes(fine.out, "Warning: Environment variable MY_KEY has quotes");
  }
  assert(!(await check({ MY_KEY: `it's "fine"` })).out.includes("quotes"));
  assert(!(await check({ MY_KEY: `"` })).out.includes("quotes"));
});
