/** Passkeys in the console, as a page's script uses them. */

import { assert, assertEquals, assertStringIncludes } from "../../assert.ts";
import { Authenticator, type Lies } from "../../fake/authenticator.ts";
import { routesOf } from "../../fake/console_routes.ts";
import { type GatewayOptions, startGateway, type TestGateway } from "../../fake/gateway.ts";
import { JarBrowser } from "../../fake/jar_browser.ts";

const MINUTE_MS = 60_000;
const WITH_PASSKEYS = { settings: { signIn: {} } } as GatewayOptions;
const ADA = "ada@example.com";
/** What a page has that offers passkeys. */
const OFFERS = /data-passkey|passkeys\.js|webauthn/;

/** Somebody who is signed in by a link. */
async function comesByLink({ gateway, url }: TestGateway, email = ADA, browser?: JarBrowser) {
  const account = await gateway.accounts.find(email) ?? await gateway.accounts.create({ email });
  browser ??= new JarBrowser(url);
  await browser.open(`/console/link/${await gateway.sessions.makeLink(account)}`);
  return browser;
}

/** Adds a passkey, as the script of the page Account does. */
async function add(
  browser: JarBrowser,
  device: Authenticator,
  { origin, name = "laptop", csrf }: { origin: string; name?: string; csrf?: string },
) {
  csrf ??= await browser.csrf();
  const asked = await browser.post("/console/account/passkeys/options", { csrf, name, result: "" });
  assertEquals(asked.status, 200, asked.text);
  const options = JSON.parse(asked.text);
  const result = JSON.stringify(device.create(options, origin));
  const done = await browser.post("/console/account/passkeys", { csrf, name, result });
  return { options, ...done };
}

/** Signs in by a passkey, as the script of the sign-in page does. */
async function signIn(browser: JarBrowser, device: Authenticator, origin: string, lies?: Lies) {
  const asked = await browser.post("/console/sign-in/passkey/options", { csrf: "", result: "" });
  assertEquals(asked.status, 200, asked.text);
  const result = JSON.stringify(device.get(JSON.parse(asked.text), origin, lies));
  return await browser.post("/console/sign-in/passkey", { csrf: "", result });
}

Deno.test("somebody adds a passkey, signs in with it where they wanted to go, renames and removes it", async () => {
  await using gateway = await startGateway(WITH_PASSKEYS);
  const { url } = gateway;
  const device = new Authenticator();
  const browser = await comesByLink(gateway);
  const added = await add(browser, device, { origin: url });
  assertEquals([added.status, added.location], [303, "/console/account?done=passkey-added"]);
  const { options } = added;
  const { hostname } = new URL(url);
  assertEquals([options.rp.id, options.attestation], [hostname, "none"]);
  assertEquals(options.authenticatorSelection, {
    residentKey: "required",
    requireResidentKey: true,
    userVerification: "required",
  });
  const again = await browser.post("/console/account/passkeys/options", {
    csrf: await browser.csrf(),
  });
  const id = device.id.toString("base64url");
  assertEquals(JSON.parse(again.text).excludeCredentials, [{ type: "public-key", id }]);

  const later = new JarBrowser(url);
  assertEquals((await later.open("/console/usage")).location, "/console/sign-in");
  const page = (await later.open("/console/sign-in")).text;
  assertStringIncludes(page, "Sign in with a passkey");
  assertStringIncludes(page, 'autocomplete="username webauthn"');
  assertStringIncludes(page, "Passkeys require JavaScript.");
  const back = await signIn(later, device, url);
  assertEquals([back.status, back.location], [303, "/console/usage"], back.text);
  const account = (await later.open("/console/account")).text;
  assertStringIncludes(account, ADA);
  assertStringIncludes(account, ">passkey<");
  const refused = await signIn(new JarBrowser(url), device, url, { flags: 0x01 });
  assertEquals(refused.status, 401);
  assertStringIncludes(refused.text, "has not verified its user");
  assertStringIncludes(gateway.log(), "passkey refused");

  const csrf = await browser.csrf();
  const renamed = { csrf, passkey: id, name: "the phone" };
  assertEquals(
    (await browser.post("/console/account/passkeys/rename", renamed)).location,
    "/console/account?done=passkey-renamed",
  );
  const wrong = await browser.post("/console/account/passkeys/rename", { ...renamed, name: "" });
  assertEquals(wrong.status, 400);
  assertStringIncludes(wrong.text, "Name the passkey.");
  assertStringIncludes((await browser.open("/console/account")).text, "Remove the phone");
  assertEquals((await later.open("/console/account")).status, 200);
  for (const what of ["remove", "rename"]) {
    // what is not there is not done, and the log has no row of it
    await browser.post(`/console/account/passkeys/${what}`, { ...renamed, passkey: "unknown" });
  }
  await browser.post("/console/account/passkeys/remove", { csrf, passkey: id });
  assertEquals((await later.open("/console/account")).location, "/console/sign-in");
  assertEquals((await browser.open("/console/account")).status, 200, "that began by a link");
  const gone = await signIn(new JarBrowser(url), device, url);
  assertEquals(gone.status, 401);
  assertStringIncludes(gone.text, "signs in nobody here");
  const operations = await gateway.gateway.database.all(
    "select operation from operation_log where operation like 'account.%passkey' order by at_ms, id",
  );
  assertEquals(operations.map(({ operation }) => operation).toSorted(), [
    "account.add_passkey",
    "account.remove_passkey",
    "account.rename_passkey",
  ]);
});

Deno.test("adding a passkey takes a sign-in of the last ten minutes, or a link of the last hour", async () => {
  const clock = { nowMs: Date.now() };
  await using gateway = await startGateway({ ...WITH_PASSKEYS, now: () => clock.nowMs });
  const { url, gateway: { accounts, sessions } } = gateway;
  const ada = await accounts.create({ email: ADA });
  const browser = new JarBrowser(url);
  browser.cookies.set("sluice", await sessions.begin(ada));
  const csrf = await browser.csrf();
  const ask = () => browser.post("/console/account/passkeys/options", { csrf });
  clock.nowMs += 9 * MINUTE_MS;
  const { text } = await ask();
  clock.nowMs += MINUTE_MS;
  // asked in time, and used too late
  const result = JSON.stringify(new Authenticator().create(JSON.parse(text), url));
  const late = await browser.post("/console/account/passkeys", { csrf, name: "x", result });
  assertEquals(late.status, 400);
  assertStringIncludes(late.text, "Sign in again to add a passkey.");
  const asked = await ask();
  assertEquals([asked.status, JSON.parse(asked.text)], [403, {
    error: "Sign in again to add a passkey.",
  }]);
  const page = (await browser.open("/console/account")).text;
  assert(!page.includes('data-passkey="create"'));
  assertStringIncludes(page, "/console/account/sign-in-again");
  const again = await browser.post("/console/account/sign-in-again", { csrf });
  assertEquals([again.status, again.location], [303, "/console/account"]);
  assertEquals((await browser.open("/console/account")).location, "/console/sign-in");
  // and comes back to the page
  const token = await sessions.makeLink(ada);
  assertEquals((await browser.open(`/console/link/${token}`)).location, "/console/account");
  clock.nowMs += 59 * MINUTE_MS;
  assertEquals((await add(browser, new Authenticator(), { origin: url })).status, 303);
  clock.nowMs += MINUTE_MS;
  assertStringIncludes((await browser.open("/console/account")).text, "sign-in-again");
});

Deno.test("a passkey is added to the account that asked, by a form of this console", async () => {
  await using gateway = await startGateway(WITH_PASSKEYS);
  const { url, gateway: { accounts, database, sessions } } = gateway;
  const browser = await comesByLink(gateway);
  const bob = await accounts.create({ email: "bob@example.com" });
  const asked = await browser.post("/console/account/passkeys/options", {
    csrf: await browser.csrf(),
  });
  const result = JSON.stringify(new Authenticator().create(JSON.parse(asked.text), url));
  const fields = { name: "x", result };
  const csrf = await browser.csrf();
  const wrong = [
    await browser.post("/console/account/passkeys", { ...fields, csrf: "x" }),
    await browser.post("/console/account/passkeys", { ...fields, csrf }, {
      "sec-fetch-site": "same-site",
    }),
    await browser.post("/console/account/passkeys/options", { csrf: "x" }),
    await browser.post("/console/sign-in/passkey", {}, { "sec-fetch-site": "cross-site" }),
  ];
  assertEquals(wrong.map(({ status }) => status), [403, 403, 403, 403]);
  const stranger = await new JarBrowser(url).post("/console/account/passkeys", fields);
  assertEquals(stranger.location, "/console/sign-in?done=unsent");
  browser.cookies.set("sluice", await sessions.begin(bob));
  const others = await browser.post("/console/account/passkeys", {
    ...fields,
    csrf: await browser.csrf(),
  });
  assertEquals(others.status, 400);
  assertStringIncludes(others.text, "was not begun by this browser");
  assertEquals(Number((await database.one("select count(*) as n from passkeys"))!.n), 0);
  const forms = routesOf(gateway).filter(({ path }) =>
    path.startsWith("/console/account/passkeys")
  );
  assertEquals(forms.map(({ action }) => action), Array(4).fill("self.use"));
});

Deno.test("passkeys are off without signIn, and by signIn.passkeys; without passwords they work", async () => {
  await using gateway = await startGateway();
  const { url } = gateway;
  const device = new Authenticator();
  const pages = async (browser: JarBrowser) => [
    (await new JarBrowser(url).open("/console/sign-in")).text,
    (await browser.open("/console/account")).text,
  ];
  const isOff = async (signIn: unknown) => {
    await gateway.reload({ signIn } as never);
    const browser = await comesByLink(gateway);
    for (const page of await pages(browser)) assert(!OFFERS.test(page), page);
    const csrf = await browser.csrf();
    for (const path of ["", "/options", "/rename", "/remove"]) {
      const { status } = await browser.post(`/console/account/passkeys${path}`, { csrf });
      assertEquals(status, 404, path);
    }
    for (const path of ["", "/options"]) {
      const { status } = await new JarBrowser(url).post(`/console/sign-in/passkey${path}`);
      assertEquals(status, 404, path);
    }
  };
  await isOff(undefined);
  await gateway.reload({ signIn: {} } as never);
  const browser = await comesByLink(gateway);
  for (const page of await pages(browser)) assert(OFFERS.test(page));
  await add(browser, device, { origin: url });
  assertEquals((await signIn(new JarBrowser(url), device, url)).status, 303);
  await isOff({ passkeys: false });
  await gateway.reload({ signIn: { password: false } } as never);
  assertEquals((await signIn(new JarBrowser(url), device, url)).status, 303);
  await gateway.gateway.accounts.disable(ADA);
  const disabled = await signIn(new JarBrowser(url), device, url);
  assertEquals(disabled.status, 401);
  assertStringIncludes(disabled.text, `Account ${ADA} is disabled.`);
});

Deno.test("below a path, a passkey is used at the public URL's origin, and its cookie stays below the path", async () => {
  const publicUrl = "https://llm.example.com/gateway";
  await using gateway = await startGateway({ settings: { ...WITH_PASSKEYS.settings, publicUrl } });
  const origin = "https://llm.example.com";
  const { url, gateway: { accounts, sessions } } = gateway;
  const browser = new JarBrowser(url, {});
  const token = await sessions.begin(await accounts.create({ email: ADA }));
  browser.cookies.set("sluice+gateway", token);
  const device = new Authenticator();
  const { options, status } = await add(browser, device, { origin });
  assertEquals([options.rp.id, status], ["llm.example.com", 303]);
  const later = new JarBrowser(url);
  const asked = await later.post("/gateway/console/sign-in/passkey/options");
  assertStringIncludes(asked.cookies.join(), "Path=/gateway/");
  assertEquals(JSON.parse(asked.text).rpId, "llm.example.com");
  assertEquals((await signIn(later, device, url)).status, 401, "where the gateway listens");
  assertEquals((await signIn(later, device, origin)).location, "/gateway/console/");
});

Deno.test("an address asks for three hundred challenges in ten minutes, and fails a hundred times, and then waits", async () => {
  const clock = { nowMs: Date.now() };
  await using gateway = await startGateway({ ...WITH_PASSKEYS, now: () => clock.nowMs });
  const browser = new JarBrowser(gateway.url);
  const statusOf = async (path: string) => {
    const { status, retryAfter } = await browser.post(path);
    assertEquals(retryAfter !== null, status === 429);
    return status;
  };
  const ask = () => statusOf("/console/sign-in/passkey/options");
  for (let times = 0; times < 300; times += 50) {
    const asked = await Promise.all(Array.from({ length: 50 }, ask));
    assertEquals(asked, Array(50).fill(200));
  }
  assertEquals(await ask(), 429);
  const fail = () => statusOf("/console/sign-in/passkey");
  for (let times = 0; times < 100; times += 50) {
    assertEquals(await Promise.all(Array.from({ length: 50 }, fail)), Array(50).fill(401));
  }
  assertEquals(await fail(), 429);
  clock.nowMs += 11 * MINUTE_MS;
  assertEquals(await ask(), 200);
});
