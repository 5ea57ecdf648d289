import {
  ConfigError,
  effectiveSettings,
  loadConfig,
  proxiesIn,
  proxyOf,
  type Settings,
} from "../../../src/settings/config/mod.ts";
import { assert, assertEquals, assertRejects } from "../../assert.ts";
import { tempDir } from "../../fake/temp.ts";

async function load(
  { env = {}, file = {}, serving = true }: {
    readonly env?: Record<string, string>;
    readonly file?: unknown;
    readonly serving?: boolean;
  },
) {
  await using dir = await tempDir();
  await Deno.writeTextFile(`${dir.path}/sluice.jsonc`, JSON.stringify(file));
  return await loadConfig({ env, directory: dir.path, serving });
}

const addresses = ({ proxies: { https, http, except } }: Pick<Settings, "proxies">) => [
  https?.reveal(),
  http?.reveal(),
  except,
];

Deno.test("variables of proxies are read as curl reads them: small letters first, ALL_PROXY for the rest", async () => {
  const read = async (env: Record<string, string>) => addresses((await load({ env })).settings);
  const [one, two] = ["http://one:1", "http://two:2"];
  assertEquals(await read({}), [undefined, undefined, []]);
  assertEquals(await read({ HTTPS_PROXY: one, https_proxy: two }), [two, undefined, []]);
  assertEquals(await read({ HTTPS_PROXY: one, https_proxy: " " }), [one, undefined, []]);
  assertEquals(await read({ http_proxy: "one:1" }), [undefined, one, []]);
  assertEquals(await read({ ALL_PROXY: one, HTTP_PROXY: two }), [one, two, []]);
  assertEquals(await read({ all_proxy: one, no_proxy: "a.example, .b.example 10.0.0.0/8" }), [
    one,
    one,
    ["a.example", ".b.example", "10.0.0.0/8"],
  ]);
  const { settings, origins } = await load({
    env: { HTTPS_PROXY: one },
    file: { proxies: { https: two, http: two, except: ["c.example"] } },
  });
  assertEquals(addresses(settings), [one, two, ["c.example"]]);
  assertEquals(origins.get("proxies.https"), "environment HTTPS_PROXY");
});

Deno.test("faulty proxies are refused with what is right, and nothing of them; a backup works with them", async () => {
  const env = {
    HTTPS_PROXY: "socks5://u:hidden@proxy:1080",
    HTTP_PROXY: "http://proxy:3128/hidden",
  };
  const file = {
    upstreams: { a: { url: "https://a.example", proxy: "ftp://hidden" } },
    images: { proxy: 3 },
  };
  const { faults } = await assertRejects(() => load({ env, file }), ConfigError);
  const right = "must be the address of a proxy, such as http://proxy.example:3128";
  assertEquals(faults.map((one) => one.replace(/^sluice.jsonc:\d+:\d+ {2}/, "")), [
    `upstreams.a.proxy: ${right}: the scheme ftp:// is not supported`,
    `images.proxy: must be text that is not empty`,
    `HTTPS_PROXY  proxies.https: ${right}: SOCKS proxies are not supported`,
    `HTTP_PROXY  proxies.http: ${right}, without a path, query or fragment`,
  ]);
  assertEquals(addresses((await load({ env, serving: false })).settings), [
    undefined,
    undefined,
    [],
  ]);
  assertEquals(proxiesIn({ ...env, NO_PROXY: "x" }), { except: ["x"] });
  // the variable of a password may be missing, too
  const withVariable = { proxies: { https: "http://u:${NOT_SET}@proxy:1" } };
  const { settings } = await load({ file: withVariable, serving: false });
  assertEquals(settings.proxies.https?.reveal(), "http://u:${NOT_SET}@proxy:1");
  await assertRejects(() => load({ file: withVariable }), ConfigError, "NOT_SET is not set");
});

Deno.test("effective settings show proxies without user name and password", async () => {
  const config = await load({
    env: { HTTPS_PROXY: "corp:p@ss/hidden@proxy.corp:1".replace("/", "%2F"), PASSWORD: "hidden" },
    file: {
      proxies: { http: "http://u:${PASSWORD}@plain.corp:2" },
      upstreams: {
        a: { url: "https://a.example", proxy: "http://hidden@own.corp:3" },
        b: { url: "https://b.example", proxy: "none" },
      },
      images: { proxy: "http://images.corp" },
    },
  });
  const shown = effectiveSettings(config).filter(({ path }) => /prox/i.test(path))
    .map(({ path, value }) => [path, value]);
  assertEquals(Object.fromEntries(shown), {
    trustedProxies: [],
    "proxies.https": "http://[secret]@proxy.corp:1",
    "proxies.http": "http://[secret]@plain.corp:2",
    "proxies.except": [],
    "upstreams.a.proxy": "http://[secret]@own.corp:3",
    "upstreams.b.proxy": "none",
    "images.proxy": "http://images.corp",
  });
  assert(!JSON.stringify(config.settings).includes("hidden"));
  assert(!Deno.inspect(config.settings, { depth: 9 }).includes("hidden"));
});

Deno.test("the way to an address: by its scheme, not for this machine, unless a proxy is named for it", async () => {
  const { settings: { proxies } } = await load({
    env: {
      HTTPS_PROXY: "http://s.corp:1",
      HTTP_PROXY: "http://p.corp:2",
      NO_PROXY: "inside.example:8443,10.0.0.0/8",
    },
  });
  const { settings } = await load({
    file: { upstreams: { a: { url: "https://a.example", proxy: "http://own.corp:3" } } },
  });
  const { proxy } = settings.upstreams.a!;
  const way = (url: string, named?: typeof proxy) =>
    proxyOf(new URL(url), { proxies, proxy: named })?.title;
  assertEquals(way("https://a.example"), "http://s.corp:1");
  assertEquals(way("http://a.example"), "http://p.corp:2");
  assertEquals(way("https://x.inside.example:8443"), undefined);
  assertEquals(way("https://x.inside.example"), "http://s.corp:1");
  assertEquals(way("http://10.2.3.4:11434"), undefined);
  for (const near of ["localhost", "127.0.0.1", "127.8.8.8", "[::1]", "169.254.169.254"]) {
    assertEquals(way(`http://${near}:8080`), undefined);
    assertEquals(way(`http://${near}:8080`, proxy), "http://own.corp:3");
    assertEquals(way(`https://${near}:8080`, "none"), undefined);
  }
  assertEquals(way("https://a.example", "none"), undefined);
  assertEquals(way("http://10.2.3.4", proxy), "http://own.corp:3");
});
