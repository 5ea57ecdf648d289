import fc from "fast-check";
import { assert, assertEquals, assertRejects, assertThrows } from "../../assert.ts";
import { sluice as process, startCommand } from "../../fake/command.ts";
import { keptOpen } from "../../fake/kept_open.ts";
import { serveHere, sluice } from "../../fake/shell.ts";
import { sleep, tempDir } from "../../fake/temp.ts";
import { sized } from "../../tier.ts";
import { hostIn, listenUrl, loadConfig } from "../../../src/settings/config/mod.ts";

/** Whether this machine has IPv6. */
const hasIpv6 = (() => {
  try {
    Deno.listen({ hostname: "::1", port: 0 }).close();
    return true;
  } catch {
    return false;
  }
})();

/** Forms of hosts: what they become, and how this machine reaches what listens there. */
const FORMS: readonly (readonly [given: string, host: string, reached: string])[] = [
  ["127.0.0.1", "127.0.0.1", "127.0.0.1"],
  ["127.1", "127.0.0.1", "127.0.0.1"],
  ["127.0.0.2", "127.0.0.2", "127.0.0.2"],
  ["0.0.0.0", "0.0.0.0", "127.0.0.1"],
  ["0", "0.0.0.0", "127.0.0.1"],
  ["::ffff:127.0.0.1", "127.0.0.1", "127.0.0.1"],
  ["localhost", "localhost", "localhost"],
  ["LocalHost.", "localhost", "localhost"],
  ["::1", "::1", "[::1]"],
  ["[::1]", "::1", "[::1]"],
  ["[0:0:0:0:0:0:0:1]", "::1", "[::1]"],
  ["::", "::", "[::1]"],
  ["[::]", "::", "[::1]"],
  [Deno.hostname().toUpperCase(), Deno.hostname().toLowerCase(), ""], // as it is bound
];

const REFUSED = [
  ..."127.0.0.1:80 [::1]:80 http://127.0.0.1 256.1.1.1 1.2.3.4.5 .. a..b .a *:80 * a/b a@b ::1::1 [::1"
    .split(
      " ",
    ),
  "",
  " ",
  "127.0.0.1 ",
  "a b",
  "fe80::1%lo",
  "[fe80::1%25lo]",
];

Deno.test("a host is normalised where it enters, or refused in a sentence", async () => {
  const load = (host: string) => loadConfig({ env: { SLUICE_HOST: host }, directory: "/" });
  for (const [given, host, reached] of FORMS) {
    assertEquals([hostIn(given), (await load(given)).settings.host], [host, host]);
    if (reached !== "") assertEquals(listenUrl(host, 80), `http://${reached}:80`);
  }
  // where a name leads may change, and only an address can be known to be of this machine
  assertEquals(listenUrl("gateway.internal", 80, "10.0.0.5"), "http://10.0.0.5:80");
  assertEquals(listenUrl("gateway.internal", 80, "::1"), "http://[::1]:80");
  assertEquals(listenUrl("localhost", 80, "127.0.0.1"), "http://localhost:80");
  for (const given of REFUSED) {
    const says = "must be an address or a host name";
    assertThrows(() => hostIn(given), RangeError, says);
    if (given !== "") await assertRejects(() => load(given), Error, `SLUICE_HOST  host: ${says}`);
  }
});

Deno.test("every host becomes one of which a URL says the same, and stays as it is then", () => {
  const address = fc.oneof(
    fc.ipV4(),
    fc.ipV4Extended(),
    fc.ipV6(),
    fc.ipV6().map((one) => `[${one.toUpperCase()}]`),
    fc.domain(),
    fc.domain().map((one) => `${one.toUpperCase()}.`),
    fc.string(),
    fc.string({ unit: fc.constantFrom(..."a1.:-[]") }),
  );
  fc.assert(
    fc.property(address, (given) => {
      let host: string;
      try {
        host = hostIn(given);
      } catch (error) {
        assert(error instanceof RangeError);
        return;
      }
      assertEquals(hostIn(host), host);
      const url = listenUrl(host, 8787);
      assertEquals(new URL(url).href, `${url}/`);
    }),
    { numRuns: sized(500, 100_000) },
  );
});

for (const [given, , reached] of FORMS) {
  const ignore = reached.startsWith("[") && !hasIpv6;
  Deno.test(`--host ${given}: start-up text, env, doctor, run and the health check agree`, {
    ignore,
  }, async () => {
    await using dir = await tempDir();
    await using kept = keptOpen();
    const options = { directory: dir.path, openParts: kept.openParts };
    await using gateway = serveHere(["--port", "0", "--host", given], { directory: dir.path });
    const [, url] = await gateway.waitFor(/listening on (\S+)/);
    if (reached !== "") assertEquals(new URL(url!).hostname, reached);
    const { code, out } = await sluice(["doctor", "--running"], options);
    assertEquals([code, out.includes(`running at ${url}`)], [0, true], out);
    const env = await sluice(["env"], options);
    assert(env.out.includes(`OPENAI_BASE_URL='${url}/v1'`), env.out);
    assertEquals(env.err, "");
    const run = await sluice(["run", "--", "sh", "-c", "echo $OPENAI_BASE_URL"], options);
    assert(run.out.includes(`${url}/v1`), run.out + run.err);
    const health = await fetch(`${url}/healthz`);
    assertEquals((await health.json()).status, "ok");
  });
}

for (const [given, shown] of [["127.1", "127.0.0.1"], ["[::1]", "[::1]"]] as const) {
  const ignore = given === "[::1]" && !hasIpv6;
  Deno.test(`SLUICE_HOST=${given}: a process is found by the health check of its container`, {
    ignore,
  }, async () => {
    await using dir = await tempDir();
    const options = { directory: dir.path, env: { SLUICE_HOST: given, SLUICE_PORT: "0" } };
    await using gateway = startCommand([], options);
    const [, url] = await gateway.waitFor(/listening on (\S+)/);
    assertEquals(new URL(url!).hostname, shown);
    const { code, out, err } = await process(["doctor", "--running"], options);
    assertEquals([code, out.includes(`running at ${url}`), err], [0, true, ""], out);
    if (given !== "127.1") return;
    // a machine so busy that the gateway does not answer for a while
    gateway.signal("SIGSTOP");
    const late = sluice(["doctor", "--running"], options);
    await sleep(4_000);
    gateway.signal("SIGCONT");
    assertEquals((await late).code, 0, (await late).out);
  });
}

Deno.test(
  "simulate: a host in brackets is printed as clients need it",
  { ignore: !hasIpv6 },
  async () => {
    await using dir = await tempDir();
    await using simulator = serveHere(["simulate", "--port", "0", "--host", "[::1]"], {
      directory: dir.path,
    });
    const found = await simulator.waitFor(/listening on (\S+)/);
    assertEquals((await (await fetch(`${found[1]}/models`)).json()).object, "list");
  },
);
