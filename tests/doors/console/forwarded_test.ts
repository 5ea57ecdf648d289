/** Whose address counts: what a stranger says of itself never does. */

import { TrustedProxies } from "../../../src/ground/web/mod.ts";
import { ConfigError, loadConfig, type SettingsInput } from "../../../src/settings/config/mod.ts";
import { assert, assertEquals, assertRejects } from "../../assert.ts";
import { startGateway, statusOf, type TestGateway } from "../../fake/gateway.ts";
import { tempDir } from "../../fake/temp.ts";
import { PlainBrowser } from "../../fake/visitor.ts";
import { sized } from "../../tier.ts";

const OWNER = "owner@localhost";
const PASSWORD = "a long enough password";

/** A gateway of which anybody may register an account, with the owner's password set. */
async function start(trustedProxies?: readonly string[]): Promise<TestGateway> {
  const gateway = await startGateway({
    settings: {
      registration: "open",
      ...(trustedProxies === undefined ? {} : { trustedProxies }),
    } as SettingsInput,
  });
  const owner = await gateway.gateway.accounts.get(OWNER);
  await gateway.gateway.passwords.set(owner, PASSWORD);
  return gateway;
}

/** A wrong password, by way of a proxy. */
const signIn = ({ url }: TestGateway, forwarded: string, password = "a wrong password") =>
  statusOf(
    new PlainBrowser(url).post("/console/sign-in", { email: OWNER, password }, {
      headers: { "x-forwarded-for": forwarded },
    }),
  );

let farmed = 0;
/** A registration that is counted and comes to nothing, by way of a proxy. */
const register = ({ url }: TestGateway, forwarded: string) =>
  statusOf(
    new PlainBrowser(url).post("/console/register", {
      email: `farm${farmed++}@example.com`,
      password: "short", // costs no hashing, and counts all the same
    }, { headers: { "x-forwarded-for": forwarded } }),
  );

async function statuses(times: number, ask: (at: number) => Promise<number>): Promise<number[]> {
  const found = [];
  for (let at = 0; at < times; at++) found.push(await ask(at));
  return found;
}

Deno.test("nobody is trusted by default: forged addresses get no more tries", async () => {
  await using gateway = await start();
  assertEquals(
    await statuses(7, (at) => signIn(gateway, `203.0.113.${at}`)),
    [401, 401, 401, 401, 401, 429, 429],
  );
  assertEquals(await signIn(gateway, "198.51.100.1, 10.0.0.1", PASSWORD), 429);
  assertEquals(
    await statuses(12, (at) => register(gateway, `2001:db8:${at}::1`)),
    [...Array(10).fill(400), 429, 429],
  );
});

Deno.test("a peer that is trusted is not trusted by another's name: addresses and ranges are exact", async () => {
  await using gateway = await start(["10.0.0.0/8", "127.0.0.2", "fd00::/8"]);
  assertEquals(
    await statuses(12, (at) => register(gateway, `203.0.113.${at}`)),
    [...Array(10).fill(400), 429, 429],
  );
});

/** What a trusted peer forwards, and the address that counts; `N` is another number for each. */
const FORWARDED: readonly [forwarded: string, counts: string, why: string][] = [
  ["203.0.113.N", "203.0.113.N", "one address"],
  ["6.6.6.6, 203.0.113.N", "203.0.113.N", "the caller says the rest of itself"],
  ["203.0.113.N, 10.1.2.3", "203.0.113.N", "another trusted proxy on the way"],
  ["6.6.6.6, 203.0.113.N, 10.1.2.3, 127.0.0.1", "203.0.113.N", "two of them"],
  ["203.0.113.N,10.1.2.3", "203.0.113.N", "without spaces"],
  ["::ffff:203.0.113.N", "203.0.113.N", "IPv4 dressed as IPv6"],
  ["203.0.113.N:52011, 10.1.2.3:80", "203.0.113.N", "with ports"],
  ["[2001:db8:1:N::ffff]:52011, [::ffff:10.1.2.3]", "2001:db8:1:N::1", "IPv6 in brackets"],
  ["6.6.6.6, 2001:db8:1:N:3:4:5:6", "2001:db8:1:N::1", "the rest of a /64 is its owner's"],
  ["2001:db8:1:N::ffff, ::ffff:10.1.2.3", "2001:db8:1:N::1", "a trusted one dressed as IPv6"],
];

Deno.test("of what a trusted proxy forwards, the last address that is not trusted counts", async () => {
  await using gateway = await start(["127.0.0.1", "10.0.0.0/8"]);
  for (const [at, [pattern, address, why]] of FORWARDED.entries()) {
    const [forwarded, counts] = [pattern, address].map((one) => one.replace("N", `${10 + at}`));
    const what = `${forwarded}: ${counts} counts, ${why}`;
    assertEquals(await statuses(10, () => register(gateway, counts!)), Array(10).fill(400), what);
    assertEquals(await register(gateway, forwarded!), 429, what);
    for (const other of ["6.6.6.6", `203.0.113.${100 + at}`, `2001:db8:2:${at}::1`, "10.1.2.3"]) {
      assertEquals(await register(gateway, other), 400, `${what}, not ${other}`);
    }
  }
});

Deno.test("who has all networks of a /48 gets the free credits of one site", async () => {
  await using gateway = await start(["127.0.0.1"]);
  const { accounts, database } = gateway.gateway;
  const code = await accounts.inviteCode(await accounts.get(OWNER));
  for (let at = 0; at < 12; at++) {
    await new PlainBrowser(gateway.url).post("/console/register", {
      email: `site${at}@example.com`,
      password: PASSWORD,
      code,
    }, { headers: { "x-forwarded-for": `2001:db8:7:${at}::1` } });
  }
  await new PlainBrowser(gateway.url).post("/console/register", {
    email: "elsewhere@example.com",
    password: PASSWORD,
  }, { headers: { "x-forwarded-for": "2001:db8:8::1" } });
  const rows = await database.all(
    "select source, count(*) as n from lots where source <> 'owner' group by 1 order by 1",
  );
  assertEquals(rows.map((row) => [row.source, Number(row.n)]), [
    ["invite_signup", 10],
    ["signup", 11],
  ]);
  const networks = await database.all("select network from signups group by 1 order by 1");
  assertEquals(networks.map((row) => row.network), ["2001:db8:7::/48", "2001:db8:8::/48"]);
});

Deno.test("behind a trusted proxy one caller's tries are not another's", async () => {
  await using gateway = await start(["127.0.0.1"]);
  assertEquals(
    await statuses(6, () => signIn(gateway, "6.6.6.6, 203.0.113.7")),
    [401, 401, 401, 401, 401, 429],
  );
  assertEquals(await signIn(gateway, "203.0.113.7, 203.0.113.8", PASSWORD), 303);
});

Deno.test("whether the browser speaks TLS is believed of trusted proxies only", async () => {
  for (
    const [trusted, name] of [[undefined, "sluice"], [["127.0.0.1"], "__Host-sluice"]] as const
  ) {
    await using gateway = await start(trusted);
    const { accounts, sessions } = gateway.gateway;
    for (
      const [proto, isHttps] of [
        ["https", true],
        ["HTTPS", true],
        ["https, http", true],
        ["http, https", false],
        ["httpsx", false],
      ] as const
    ) {
      const token = await sessions.makeLink(await accounts.get(OWNER));
      const reply = await new PlainBrowser(gateway.url).get(`/console/link/${token}`, {
        "x-forwarded-proto": proto,
      });
      assertEquals(
        reply.headers.get("set-cookie")?.split("=")[0],
        isHttps ? name : "sluice",
        proto,
      );
    }
  }
});

Deno.test("a flood of empty forms with forged addresses wipes nobody's failures", async () => {
  await using gateway = await start();
  const post = async (path: string, peer: string, forwarded: string, fields = {}) => {
    const request = new Request(`http://gateway.example/console/${path}`, {
      method: "POST",
      headers: {
        "host": "gateway.example",
        "content-length": "9", // that there is one; the platform sets it for those that come by socket
        "content-type": "application/x-www-form-urlencoded",
        "sec-fetch-site": "same-origin",
        "x-forwarded-for": forwarded,
      },
      body: String(new URLSearchParams(fields)),
    });
    const remoteAddr = { transport: "tcp", hostname: peer, port: 9 } as const;
    const reply = await gateway.gateway.app.fetch(request, { remoteAddr });
    await reply.body?.cancel();
    return reply.status;
  };
  const guess = () =>
    post("sign-in", "198.51.100.1", "", { email: OWNER, password: "a wrong password" });
  assertEquals(await statuses(6, guess), [401, 401, 401, 401, 401, 429]);
  const forms = sized(1_000, 60_000);
  let sent = 0;
  while (sent < forms) {
    const some = Array.from({ length: 200 }, () => {
      const forged = `11.${sent >> 16 & 255}.${sent >> 8 & 255}.${sent & 255}`;
      return post("register", "10.0.0.9", forged, ++sent % 2 === 0 ? {} : { password: "short" });
    });
    await Promise.all(some);
  }
  assertEquals(await guess(), 429, `after ${sent} forms`);
});

Deno.test("SLUICE_TRUSTED_PROXIES: addresses and ranges with commas between; others are faults", async () => {
  await using dir = await tempDir();
  const load = (env: Record<string, string>) => loadConfig({ env, directory: dir.path });
  const trusted = async (env: Record<string, string>) =>
    ((await load(env)).settings as Record<string, unknown>).trustedProxies;
  assertEquals(await trusted({}), []);
  assertEquals(await trusted({ SLUICE_TRUSTED_PROXIES: "10.0.0.0/8, 127.0.0.1,fd00::/8" }), [
    "10.0.0.0/8",
    "127.0.0.1",
    "fd00::/8",
  ]);
  for (const wrong of ["proxy.example", "10.0.0.0/33", "10.0.0.1/x", "*"]) {
    const env = { SLUICE_TRUSTED_PROXIES: `127.0.0.1,${wrong}` };
    const { message } = await assertRejects(() => load(env), ConfigError);
    assert(message.includes("trustedProxies"), message);
  }
});

Deno.test("a trusted proxy is known however its address and the setting are written (table)", () => {
  const table: [range: string, address: string, isTrusted: boolean][] = [
    ["10.0.0.1", "10.0.0.1", true],
    ["10.0.0.1", "::ffff:10.0.0.1", true],
    ["::ffff:10.0.0.1", "10.0.0.1", true],
    ["::ffff:10.0.0.1", "::ffff:a00:1", true],
    ["::ffff:10.0.0.1", "10.0.0.2", false],
    ["::ffff:10.0.0.0/104", "10.200.0.2", true],
    ["::ffff:10.0.0.0/104", "11.0.0.2", false],
    ["10.0.0.0/8", "10.9.9.9", true],
    ["fd00::/8", "fd12::1", true],
    ["fd00::/8", "10.0.0.1", false],
    ["::1", "::1", true],
    ["::1", "127.0.0.1", false],
    ["::/0", "10.0.0.1", false],
  ];
  for (const [range, address, isTrusted] of table) {
    const trusted = new TrustedProxies([range]);
    assertEquals(trusted.includes(address), isTrusted, `${address} in ${range}`);
  }
});
