import type { Page } from "playwright-core";
import { assertEquals, assertMatch, assertStringIncludes } from "../../assert.ts";
import type { Steps } from "../../fake/browser.ts";
import { assertLedgerClean } from "../../fake/customer.ts";
import { startGateway, statusOf, type TestGateway } from "../../fake/gateway.ts";
import { sendSmall, teamOf, TOKEN_ROUTES, TOKENS } from "../../fake/team.ts";
import { until } from "../../fake/temp.ts";
import { heldUpstream } from "../../fake/upstream.ts";

async function signIn(page: Page, { gateway, url }: TestGateway, email: string): Promise<void> {
  const token = await gateway.sessions.makeLink(await gateway.accounts.get(email));
  await page.goto(`${url}/console/link/${token}`);
}

/** A gateway whose team has a lead besides its members. */
async function scene(gateway: TestGateway) {
  const found = await teamOf(gateway);
  const { accounts, members } = gateway.gateway;
  const lead = await accounts.create({ email: `lead.${found.team.id}@example.com` });
  await members.add(found.team, lead, "lead");
  return { ...found, lead, url: `${gateway.url}/console/teams/${found.team.id}` };
}

export const LEAD_STEPS: Steps = {
  "a lead sets a member's budget and stops them with requests in flight, without scripts": async (
    pages,
  ) => {
    await using upstream = heldUpstream();
    const { routes, ...held } = upstream.settings;
    await using gateway = await startGateway({
      settings: {
        ...held,
        routes: {
          token: { ...TOKEN_ROUTES.token, targets: [{ upstream: "simulator", model: "token" }] },
          ...routes,
        },
      },
    });
    const { members: [ada, bob], lead, team, url } = await scene(gateway);
    const { page, faults } = await pages("without scripts", { javaScriptEnabled: false });
    const [adas, bobs] = [ada!.key.secret, bob!.key.secret];
    for (const key of [adas, adas, bobs]) {
      assertEquals(await sendSmall(gateway.url, { key, at: 1 }), 200);
    }
    await signIn(page, gateway, lead.email);
    await page.goto(url);
    const row = (email: string) =>
      page.locator("tr", { has: page.getByRole("cell", { name: email, exact: true }) }).first();
    const [adasRow, bobsRow] = [row(ada!.account.email), row(bob!.account.email)];
    await adasRow.getByText("Set a budget").click();
    await adasRow.getByLabel(/^Credits/).fill("1000");
    await adasRow.locator("select[name=period]").selectOption("month");
    await adasRow.getByLabel(/^Time zone/).fill("Europe/Berlin");
    await adasRow.getByRole("button", { name: "Set budget" }).click();
    await page.getByText("Budget saved.").waitFor();
    const text = async () => (await adasRow.textContent())!;
    assertMatch(await text(), /token \d+.*Monthly budget\d+ spent, 9\d\d left of 1,000 credits/s);
    assertMatch(await text(), /Renews 1 \w{3} \d{4}, 00:00 \(Europe\/Berlin\)/);
    assertMatch((await bobsRow.textContent())!, /token \d+/);

    await adasRow.getByText("Change budget").click();
    await adasRow.getByLabel(/^Extra credits/).fill("250");
    await adasRow.getByLabel(/^Until/).fill("2099-12-24T18:00");
    await adasRow.getByRole("button", { name: "Raise budget" }).click();
    await page.getByText("Budget raised.").waitFor();
    assertStringIncludes(
      await text(),
      "Includes 250 extra until 24 Dec 2099, 18:00 (Europe/Berlin)",
    );

    const ask = async (key: string) => {
      const reply = await gateway.chat("Hi", { model: "held-model", stream: true }, { key });
      assertEquals(reply.status, 200);
      return await reply.text();
    };
    const inFlight = [ask(adas), ask(bobs)];
    await until(async () => {
      const held = await gateway.gateway.database.one("select count(*) as n from holds");
      return Number(held!.n) === 2;
    }, { what: "two holds" });
    await page.reload();
    assertMatch(await text(), /\d+ held by in-flight requests/);
    await adasRow.getByRole("button", { name: "Stop" }).click();
    await page.getByText("Member stopped.").waitFor();
    const small = (key: string) =>
      statusOf(gateway.chat("Hi", { model: "token", max_tokens: TOKENS }, { key }));
    await until(async () => await small(adas) === 403, { what: "the stop" });
    assertEquals(await small(bobs), 200, "nobody else");
    upstream.release();
    for (const whole of await Promise.all(inFlight)) {
      assertStringIncludes(whole, "[DONE]", "what was in flight runs to its end");
    }
    assertStringIncludes((await bobsRow.textContent())!, "member");
    assertEquals((await gateway.gateway.members.find(team, bob!.account))!.stoppedAtMs, null);
    assertEquals(faults, []);
    await until(async () => {
      const held = await gateway.gateway.database.one("select count(*) as n from holds");
      return Number(held!.n) === 0;
    }, { what: "the end of the holds" });
    await assertLedgerClean(gateway);
  },
};
