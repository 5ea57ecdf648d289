/** The proxies of docs/operator.md, as they stand there, with a browser in front and a gateway behind. */

import type { Page } from "playwright-core";
import { assert, assertEquals, assertMatch, assertStringIncludes } from "../assert.ts";
import { inOneBrowser, type Steps } from "../fake/browser.ts";
import { freePort } from "../fake/free_port.ts";
import { handshake, run } from "../fake/reverse_proxy.ts";
import { startGateway, statusOf, type TestGateway } from "../fake/gateway.ts";
import { Random, testSeed } from "../fake/random.ts";
import { exists, tempDir, until } from "../fake/temp.ts";
import { sized } from "../tier.ts";

const OWNER = "owner@localhost";
const PREFIX = "/gateway";
const NGINX = "/usr/sbin/nginx";
const CADDY = "/usr/bin/caddy";

const page = await Deno.readTextFile(new URL("../../docs/operator.md", import.meta.url));
/** Blocks of the page: first for a proxy that passes the path on, then for one that takes it off. */
const blocks = (language: string) =>
  [...page.matchAll(new RegExp(`^\`\`\`${language}\n([\\s\\S]*?)^\`\`\`$`, "gm"))]
    .map(([, code]) => code!);

interface Certificate {
  readonly cert: string;
  readonly key: string;
}

/** Where a proxy is to listen, and the gateway behind it. */
interface Place {
  readonly directory: string;
  readonly port: number;
  readonly gateway: string;
  readonly certificate: Certificate;
}

interface Proxy {
  readonly name: string;
  readonly program: string;
  /** Writes what it reads, and returns the arguments to start it with. */
  configure(place: Place): Promise<string[]>;
}

const nginx = (name: string, block: string): Proxy => ({
  name: `nginx that ${name}`,
  program: NGINX,
  async configure({ directory, port, gateway, certificate: { cert, key } }) {
    const temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
      .map((kind) => `${kind}_temp_path ${directory}/${kind};`).join("\n");
    const file = `${directory}/nginx.conf`;
    await Deno.writeTextFile(
      file,
      `daemon off; master_process off; pid ${directory}/nginx.pid; error_log stderr;
       events {} http { access_log off; ${temporary} server {
       listen 127.0.0.1:${port} ssl; ssl_certificate ${cert}; ssl_certificate_key ${key};
       ${block.replace("127.0.0.1:8787", new URL(gateway).host)} } }`,
    );
    return ["-e", "stderr", "-c", file];
  },
});

const caddy = (name: string, block: string): Proxy => ({
  name: `Caddy that ${name}`,
  program: CADDY,
  async configure({ directory, port, gateway, certificate: { cert, key } }) {
    const file = `${directory}/Caddyfile`;
    const site = block.replace("127.0.0.1:8787", new URL(gateway).host)
      .replace("llm.example.com {", `https://127.0.0.1:${port} {\n\ttls ${cert} ${key}`);
    await Deno.writeTextFile(
      file,
      `{\n\tadmin off\n\tauto_https off\n\tstorage file_system ${directory}/storage\n}\n${site}`,
    );
    return ["run", "--adapter", "caddyfile", "--config", file];
  },
});

const [nginxWhole, nginxStripped] = blocks("nginx");
const [caddyWhole, caddyStripped] = blocks("caddyfile");
const PROXIES = [
  nginx("passes the path on", nginxWhole!),
  nginx("takes the path off", nginxStripped!),
  caddy("passes the path on", caddyWhole!),
  caddy("takes the path off", caddyStripped!),
];

interface Started extends AsyncDisposable {
  readonly gateway: TestGateway;
  /** Where the proxy serves it. */
  readonly url: string;
  /** Sends a request to the proxy, as a client of the API does. */
  ask(path: string, init?: RequestInit): Promise<Response>;
}

const random = new Random(testSeed());
/** In the gate one of them, another each run; all of them serve the API. */
const IN_BROWSER = sized([random.pick(PROXIES)], PROXIES);
/** Paths of gateways on one host: in the gate, three that are below each other, or two that are beside each other. */
const PATHS = sized(["", ...random.pick([["/a", "/a/b"], ["/a", "/b"]])], ["", "/a", "/a/b", "/b"]);

/** A proxy in front of a gateway that is below a path. */
async function start(proxy: Proxy): Promise<Started> {
  await using started = new AsyncDisposableStack();
  const directory = started.use(await tempDir()).path;
  const certificate = { cert: `${directory}/cert.pem`, key: `${directory}/key.pem` };
  const made = await run(
    "openssl",
    ..."req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 1 -subj".split(" "),
    ...["/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"],
    ...["-addext", "basicConstraints=critical,CA:FALSE"],
    ...["-keyout", certificate.key, "-out", certificate.cert],
  );
  assertEquals(made.code, 0, made.err);
  const port = freePort();
  const url = `https://127.0.0.1:${port}${PREFIX}`;
  const gateway = started.use(
    await startGateway({ settings: { publicUrl: `${url}/`, trustedProxies: ["127.0.0.1"] } }),
  );
  const args = await proxy.configure({ directory, port, gateway: gateway.url, certificate });
  const process = new Deno.Command(proxy.program, {
    args,
    env: { HOME: directory, XDG_DATA_HOME: directory, XDG_CONFIG_HOME: directory },
    stdout: "null",
    stderr: "null",
  }).spawn();
  started.defer(async () => {
    process.kill("SIGKILL"); // a page that a failure left open would keep it
    await process.status;
  });
  const client = Deno.createHttpClient({ caCerts: [await Deno.readTextFile(certificate.cert)] });
  started.defer(() => client.close());
  const ask = (path: string, init: RequestInit = {}) =>
    fetch(new URL(path, url), { ...init, client, redirect: "manual" });
  await until(
    () => statusOf(ask(`${PREFIX}/healthz`)).then((status) => status === 200, () => false),
    { what: proxy.name },
  );
  const owned = started.move();
  return { gateway, url, ask, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

/** What must be so of the API, whichever way it is reached. */
async function tryApi({ gateway, url, ask }: Started) {
  const { accounts, keys } = gateway.gateway;
  const { secret } = await keys.issue(await accounts.get(OWNER), {
    scopes: ["admin", "inference"],
  });
  const headers = { authorization: `Bearer ${secret}`, "content-type": "application/json" };
  const post = (path: string, body: object) =>
    ask(path, { method: "POST", headers, body: JSON.stringify(body) });
  const body = { model: "svc-k3", max_tokens: 20, messages: [{ role: "user", content: "Hi" }] };
  const streamed = await post(`${PREFIX}/v1/chat/completions`, { ...body, stream: true });
  assertStringIncludes(await streamed.text(), "data: [DONE]");
  assertEquals(await statusOf(post(`${PREFIX}/v1/messages`, body)), 200);
  const upgraded = await handshake(`${url}/v1/responses`, secret);
  assertStringIncludes(upgraded, " 101 ");
  const preflight = await ask(`${PREFIX}/v1/messages`, {
    method: "OPTIONS",
    headers: { origin: "https://app.example", "access-control-request-method": "POST" },
  });
  await preflight.body?.cancel();
  assert(preflight.status < 300, `${preflight.status}`);
  for (const path of ["/metrics", "/readyz"]) {
    assertEquals(await statusOf(ask(PREFIX + path)), 404, path);
    assertEquals(await statusOf(fetch(gateway.url + path)), 200, "directly");
  }
  // else a rule of the proxy for a path could be got around
  for (const twice of [PREFIX + PREFIX, `${PREFIX}/${PREFIX}`, `${PREFIX}/%67ateway`]) {
    for (const path of ["/admin/v1/accounts", "/metrics", "/v1/models", "/healthz"]) {
      assertEquals(await statusOf(ask(twice + path, { headers })), 404, twice + path);
    }
  }
  const slashless = await ask(PREFIX);
  await slashless.body?.cancel();
  assertMatch(slashless.headers.get("location")!, /\/gateway\/$/);
  const link = await post(`${PREFIX}/admin/v1/accounts/${OWNER}/sign-in-link`, {});
  const made = (await link.json()).link;
  assert(made.startsWith(`${url}/console/link/`), made);
  return {
    link: made as string,
    chat: () => statusOf(post(`${PREFIX}/v1/chat/completions`, body)),
  };
}

/** Somebody signs in, makes a key, sees a balance change, saves a file, and signs out. */
async function tryConsole(page: Page, url: string, link: string, chat: () => Promise<number>) {
  const paths = new Set<string>();
  page.on("request", (request) => paths.add(new URL(request.url()).pathname));
  const following = page.waitForResponse((reply) => reply.url().includes("/console/events?"));
  await page.goto(link);
  await page.getByRole("heading", { name: "Home" }).waitFor();
  assertEquals(page.url(), `${url}/console/`);
  await following;
  const cookies = await page.context().cookies();
  assertEquals(
    cookies.map(({ name, path, secure, httpOnly }) => ({ name, path, secure, httpOnly })),
    [{ name: "__Secure-sluice+gateway", path: `${PREFIX}/`, secure: true, httpOnly: true }],
  );

  const today = page.locator("[data-part=today]");
  const before = await today.textContent();
  assertEquals(await chat(), 200);
  await until(async () => await today.textContent() !== before, { what: "the live page" });

  await page.getByRole("link", { name: "Keys", exact: true }).first().click();
  const form = page.locator(`form[action='${PREFIX}/console/keys']`);
  await form.getByLabel("Name").fill("laptop");
  await page.getByRole("button", { name: "Create key" }).click();
  assertMatch((await page.locator("#new-key code").first().textContent())!, /^sk-\w{43}$/);
  assertStringIncludes(await page.locator("#new-key").innerHTML(), `${url}/v1`);

  await page.getByRole("link", { name: "Playground" }).click();
  await page.getByLabel("Model").selectOption("svc-k3");
  await page.getByLabel("Prompt").fill("Hello");
  await page.getByRole("button", { name: "Send" }).click();
  await page.locator("#use", { hasText: "balance" }).waitFor();
  assertStringIncludes((await page.locator("#curl").textContent())!, `${url}/v1/chat/completions`);

  await page.getByRole("link", { name: "Usage", exact: true }).first().click();
  const saving = page.waitForEvent("download");
  await page.getByRole("link", { name: "this report" }).click();
  const saved = await Deno.readTextFile((await (await saving).path())!);
  assertMatch(saved, /^\uFEFF[a-z_,]+\r?\n/);

  await page.getByRole("link", { name: "API", exact: true }).click();
  assertStringIncludes(await page.locator("main").innerText(), url);
  await page.getByRole("button", { name: "Sign out", exact: true }).click();
  await page.getByText("You have been signed out.").waitFor();
  assertEquals(await page.context().cookies(), []);
  await page.goto(`${url}/console/keys`);
  await page.waitForURL(`${url}/console/sign-in`);
  assertEquals([...paths].filter((path) => !path.startsWith(`${PREFIX}/`)), []);
}

const STEPS: Record<string, Steps[string]> = {};
for (const proxy of PROXIES) {
  if (!await exists(proxy.program)) {
    Deno.test.ignore(`${proxy.name}: there is no ${proxy.program}`, () => {});
    continue;
  }
  const isInBrowser = IN_BROWSER.includes(proxy);
  STEPS[isInBrowser ? `${proxy.name}, in a browser` : proxy.name] = async (pages) => {
    await using started = await start(proxy);
    const { link, chat } = await tryApi(started);
    if (isInBrowser) {
      const { page, faults } = await pages("somebody", { ignoreHTTPSErrors: true });
      await tryConsole(page, started.url, link, chat);
      assertEquals(faults, []);
    }
    assert(!started.gateway.log().includes('"level":"error"'), started.gateway.log());
  };
}

STEPS[`the sessions of gateways at the paths ${PATHS.join(" ")} of a host do not mix`] = async (
  pages,
) => {
  // browsers keep cookies by host, whatever the port is
  const { page } = await pages();
  await using stack = new AsyncDisposableStack();
  const all: { url: string; gateway: TestGateway }[] = [];
  for (const path of PATHS) {
    const gateway = stack.use(
      await startGateway({ settings: { publicUrl: `http://127.0.0.1${path}` } }),
    );
    all.push({ url: gateway.url + path, gateway });
  }
  const isSignedIn = async ({ url }: { url: string }) => {
    await page.goto(`${url}/console/account`);
    return page.url() === `${url}/console/account`;
  };
  for (const [at, { url, gateway: { gateway } }] of all.entries()) {
    const token = await gateway.sessions.makeLink(await gateway.accounts.get(OWNER));
    await page.goto(`${url}/console/link/${token}`);
    for (const [other, one] of all.entries()) {
      assertEquals(await isSignedIn(one), other <= at, one.url);
    }
  }
  for (const [at, one] of all.entries()) {
    assert(await isSignedIn(one));
    await page.getByRole("button", { name: "Sign out", exact: true }).click();
    await page.getByText("You have been signed out.").waitFor();
    for (const [other, one] of all.entries()) {
      assertEquals(await isSignedIn(one), other > at, one.url);
    }
  }
};

inOneBrowser("Sluice below a path of a host, behind the proxies of docs/operator.md", STEPS);
