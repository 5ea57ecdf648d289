import { announcedGateway } from "../../../src/ground/database/mod.ts";
import { assert, assertEquals, assertStringIncludes } from "../../assert.ts";
import { type Finished, startCommand } from "../../fake/command.ts";
import { serveHere, sluice } from "../../fake/shell.ts";
import { tempDir } from "../../fake/temp.ts";
import { fakeUpstream } from "../../fake/upstream.ts";

/** The status of a request with the address and the key that `sluice env` printed. */
async function tried({ out }: Finished): Promise<{ url: string; status: number }> {
  const [, url = ""] = /OPENAI_BASE_URL='(.*)\/v1'/.exec(out) ?? [];
  const [, key = ""] = /OPENAI_API_KEY='(.*)'/.exec(out) ?? [];
  const reply = await fetch(`${url}/user/credits`, { headers: { authorization: `Bearer ${key}` } });
  await reply.body?.cancel();
  return { url, status: reply.status };
}

async function started(directory: string, { port = "0", start = serveHere } = {}) {
  const process = start(["--port", port], { directory });
  const [, url = ""] = await process.waitFor(/listening on (\S+)/);
  await process.waitFor(/console/);
  return { process, url, [Symbol.asyncDispose]: () => process[Symbol.asyncDispose]() };
}

Deno.test("sluice env of two gateways on one machine: each address with keys of its own database, and none for the other's", async () => {
  await using one = await tempDir();
  await using other = await tempDir();
  await using first = await started(one.path);
  await using second = await started(other.path);
  for (const [dir, { url }] of [[one, first], [other, second]] as const) {
    const printed = await sluice(["env"], { directory: dir.path });
    assertEquals([printed.code, await tried(printed)], [0, { url, status: 200 }], printed.err);
  }
  // a public address that leads to another gateway is refused
  const env = { SLUICE_PUBLIC_URL: first.url };
  const { code, err } = await sluice(["env"], { directory: other.path, env });
  assertEquals(code, 1);
  assertStringIncludes(err, `Another gateway answers at ${first.url}`);
  assertEquals((await sluice(["env"], { directory: one.path, env })).code, 0);
});

Deno.test("sluice env beside another's gateway prints neither its address nor a key", async () => {
  await using one = await tempDir();
  await using other = await tempDir();
  await using first = await started(one.path);
  const env = { SLUICE_PORT: new URL(first.url).port };
  for (const args of [["env"], ["account", "link"]]) {
    if (args[0] === "account") await sluice(["key", "create"], { directory: other.path, env });
    const { code, out, err } = await sluice(args, { directory: other.path, env });
    assertEquals([code, out], [1, ""]);
    assertStringIncludes(
      err,
      `Another gateway answers at ${first.url}, with another database than ${other.path}/data/sluice.db`,
    );
  }
  // `run` needs no such port
  const script =
    'curl -s "$OPENAI_BASE_URL/../user/credits" -H "Authorization: Bearer $OPENAI_API_KEY"';
  const ran = await sluice(["run", "--", "sh", "-c", script], { directory: other.path, env });
  assertEquals(ran.code, 0, ran.err);
  assertStringIncludes(ran.out, '"credits_remaining":1000000');
  assert(!ran.err.includes(first.url));
});

Deno.test("sluice env: the port of a killed gateway that is another's by now", async () => {
  await using one = await tempDir();
  await using other = await tempDir();
  let port: string;
  {
    await using killed = await started(one.path, { start: startCommand });
    port = new URL(killed.url).port;
    killed.process.signal("SIGKILL");
    await killed.process.status;
  }
  await using second = await started(other.path, { port });
  const left = await Deno.readTextFile(`${one.path}/data/gateway.json`);
  assertStringIncludes(left, second.url);
  const env = { SLUICE_PORT: port };
  const { code, out } = await sluice(["env"], { directory: one.path, env });
  assertEquals([code, out], [1, ""]);
  const doctor = await sluice(["doctor", "--running"], { directory: one.path, env });
  assertEquals(doctor.code, 1);
});

Deno.test("a data directory that names a gateway of another machine is not followed", async () => {
  await using dir = await tempDir();
  await sluice(["key", "create"], { directory: dir.path });
  for (
    const url of ["http://192.0.2.7:80", "http://thief.example", "not an address", "file:///x"]
  ) {
    const said = { url, pid: 1, settings: null, reload: null, secret: "s".repeat(32) };
    await Deno.writeTextFile(`${dir.path}/data/gateway.json`, JSON.stringify(said), {
      mode: 0o600, // one that others can write is not read at all
    });
    assertEquals(await announcedGateway(`${dir.path}/data`), undefined);
    const { code, out, err } = await sluice(["env"], {
      directory: dir.path,
      env: { SLUICE_PORT: "9" },
    });
    assertEquals(code, 0, err);
    assertStringIncludes(out, "OPENAI_BASE_URL='http://127.0.0.1:9/v1'");
    assertStringIncludes(err, "no gateway is running");
  }
});

Deno.test("doctor and models say that a gateway has an upstream that their own shell does not name, and the reverse", async () => {
  await using dir = await tempDir();
  await using upstream = fakeUpstream(() => Response.json({ object: "list", data: [{ id: "m" }] }));
  const named = { SLUICE_UPSTREAM_URL: upstream.url };
  for (
    const [ofGateway, ofShell, says] of [
      [named, {}, "the running gateway has an upstream of its environment"],
      [{}, named, "the running gateway has no upstream: default is set for this command only"],
      [named, named, undefined],
      [{}, {}, undefined],
    ] as const
  ) {
    await using gateway = serveHere(["--port", "0"], { directory: dir.path, env: ofGateway });
    await gateway.waitFor(/console/);
    const models = await sluice(["models"], { directory: dir.path, env: ofShell });
    const doctor = await sluice(["doctor"], { directory: dir.path, env: ofShell });
    const replies = says ??
      (ofShell === named ? "upstream default" : "none configured: the built-in simulator");
    assertStringIncludes(doctor.out, replies);
    assertEquals(doctor.out.includes("none configured"), replies.startsWith("none"), doctor.out);
    if (says === undefined) assertEquals(models.err.includes("running gateway"), false);
    else assertStringIncludes(models.err, says);
  }
});

Deno.test("a settings file beside a command that the gateway does not read: what is said of it makes the gateway use it", async () => {
  await using one = await tempDir();
  await using other = await tempDir();
  const file = `${other.path}/sluice.jsonc`;
  await Deno.writeTextFile(file, "{}");
  await using gateway = await started(one.path);
  assert(gateway.url !== "");
  const env = { SLUICE_DATA: `${one.path}/data`, HOME: other.path };
  const run = (...args: string[]) => sluice(args, { directory: other.path, env });
  for (const { out, err } of [await run("doctor", "--local"), await run("models")]) {
    assertStringIncludes(out + err, `the running gateway uses no settings file, this command uses`);
    assertStringIncludes(out + err, "restart the gateway in this directory, or with --config FILE");
  }
  const { out } = await sluice(["reload", "--config", file], { directory: one.path });
  assertStringIncludes(out, `This gateway does not use ${file}: restart it with sluice --config `);
});
