/** Owners, and those at the gateway's machine, are told what is wrong with a provider. */

import { assert, assertEquals, assertStringIncludes } from "../../assert.ts";
import { startGateway, statusOf } from "../../fake/gateway.ts";
import { sluice } from "../../fake/shell.ts";
import { quickProvider } from "../../fake/sign_in.ts";
import { tempDir } from "../../fake/temp.ts";
import { signedIn } from "../../fake/visitor.ts";

const OWNER = "owner@localhost";
const PATH = "/console/operator/settings/sign-in";
/** Nobody listens there. */
const NOWHERE = "http://127.0.0.1:1";

const providersOf = (issuer: string) => [
  { name: "company", issuer, client: "sluice" },
  { name: "away", issuer: NOWHERE, client: "sluice", secret: "not-to-be-shown-0123456789" },
];

Deno.test("an owner checks a provider of the settings, and a public one before it is there", async () => {
  await using provider = await quickProvider();
  await using gateway = await startGateway({
    settings: { signIn: { oidc: providersOf(provider.issuer) } },
  } as never);
  const { accounts } = gateway.gateway;
  const owner = await signedIn(gateway, OWNER);
  assertStringIncludes(
    await (await owner.get("/console/operator/settings")).text(),
    `href="${PATH}"`,
  );
  const check = async (fields: Record<string, string>) => {
    const reply = await owner.post(PATH, fields, { from: PATH });
    const html = await reply.text();
    const text = html.slice(html.indexOf("<main")).replace(/<[^>]*>/g, " ").replace(/\s+/g, " ");
    return { status: reply.status, html, text };
  };
  const well = await check({ provider: "company" });
  assertEquals(well.status, 200);
  assertStringIncludes(well.text, `People can sign in with ${provider.issuer}`);
  assertStringIncludes(well.text, "keys ok 1 of 127.0.0.1");
  assertStringIncludes(well.text, `${gateway.url}/console/sign-in/oidc/company/callback`);
  const away = await check({ provider: "away" });
  assertEquals(away.status, 200);
  assertStringIncludes(away.text, `Nobody can sign in with ${NOWHERE}`);
  assertStringIncludes(away.text, "cannot be reached: the connection was refused");
  assert(!away.html.includes("not-to-be-shown"));

  // what is typed is reached only if it is public, whatever the settings have
  for (const issuer of [provider.issuer, "https://169.254.169.254", "https://10.0.0.1:8443/x"]) {
    const { text } = await check({ issuer, groups_claim: "groups" });
    assertStringIncludes(text, "names an address that is not asked", issuer);
  }
  for (const issuer of ["", "x", "http://id.example.com", "javascript:alert(1)"]) {
    const { status, text } = await check({ issuer });
    assertEquals(status, 400, issuer);
    assertStringIncludes(text, "The issuer must be an address with https://");
  }
  await accounts.create({ email: "operator@example.com", role: "operator" });
  const operator = await signedIn(gateway, "operator@example.com");
  assertEquals(await statusOf(operator.get(PATH)), 404);
  const sent = operator.post(PATH, { provider: "company" }, { from: "/console/account" });
  assertEquals(await statusOf(sent), 404);
});

Deno.test("without signIn there is no such page, and none that leads to it", async () => {
  await using gateway = await startGateway();
  const owner = await signedIn(gateway, OWNER);
  assert(!(await (await owner.get("/console/operator/settings")).text()).includes("sign-in"));
  const sessions = await gateway.gateway.database.all("select address, agent from sessions");
  assertEquals(sessions.map((row) => ({ ...row })), [{ address: null, agent: null }]);
  assertEquals(await statusOf(owner.get(PATH)), 404);
});

Deno.test("doctor checks the providers of the settings: one line for one that is well, and what is wrong with another", async () => {
  await using dir = await tempDir();
  await using provider = await quickProvider();
  const doctor = async (publicUrl: string | undefined) => {
    await Deno.writeTextFile(
      `${dir.path}/sluice.jsonc`,
      JSON.stringify({ publicUrl, signIn: { oidc: providersOf(provider.issuer) } }),
    );
    const { out } = await sluice(["doctor", "--json"], { directory: dir.path });
    assert(!out.includes("not-to-be-shown"));
    const { findings } = JSON.parse(out) as { findings: Record<string, string>[] };
    return findings.filter(({ check }) => check!.startsWith("sign-in"))
      .map(({ check, state, detail }) => `${check} ${state}: ${detail}`);
  };
  const refused =
    "sign-in away failed: address: 127.0.0.1:1 cannot be reached: the connection was refused";
  const path = "/console/sign-in/oidc/company/callback";
  assertEquals(await doctor("https://llm.example.com"), [
    `sign-in company ok: ${provider.issuer}; register this address at the provider: https://llm.example.com${path}`,
    refused,
  ]);
  const [redirect, ...others] = await doctor(undefined);
  assertEquals(redirect, `sign-in company warning: redirect: https://YOUR-GATEWAY${path}`);
  assertEquals(others[0], refused);
});
