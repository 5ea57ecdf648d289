import { notices } from "../../../src/operating/alerts/mod.ts";
import { assertEquals, assertStringIncludes } from "../../assert.ts";
import { alertReceiver, isSigned } from "../../fake/alert_receiver.ts";
import { customer } from "../../fake/customer.ts";
import { keptOpen } from "../../fake/kept_open.ts";
import { sluice } from "../../fake/shell.ts";
import { startGateway } from "../../fake/gateway.ts";
import { signedIn } from "../../fake/visitor.ts";
import { tempDir } from "../../fake/temp.ts";

Deno.test("alerts: test, list, retry and doctor", async () => {
  await using receiver = alertReceiver();
  await using dir = await tempDir();
  const file = `${dir.path}/sluice.jsonc`;
  const write = (allowPrivateHosts: string[]) =>
    Deno.writeTextFile(
      file,
      JSON.stringify({
        alerts: { receivers: { ops: { url: receiver.url, secret: "secret" } }, allowPrivateHosts },
      }),
    );
  await using kept = keptOpen();
  const run = (...args: string[]) =>
    sluice(args, { directory: dir.path, openParts: kept.openParts });
  await write([receiver.host]);
  const sent = await run("alerts", "test");
  assertEquals(sent.code, 0, sent.err);
  assertStringIncludes(sent.out, "delivered (status 200)");
  assertEquals(isSigned(receiver.received[0]!, "secret", Date.now()), true);
  assertStringIncludes(receiver.marks[0]!, "test:alert_");
  receiver.behave([], "error");
  const failed = await run("alerts", "test", "ops", "--json");
  assertEquals([failed.code, JSON.parse(failed.out).results[0].error], [1, "status 500"]);
  assertStringIncludes(failed.err, "sluice: 1 delivery failed\n");
  assertEquals((await run("alerts", "test", "nobody")).code, 2);
  assertEquals((await run("config", "show")).out.includes("hidden"), false);

  assertStringIncludes((await run("doctor")).out, "takes connections");
  await write([]);
  const doctor = await run("doctor");
  assertEquals(doctor.code, 1);
  assertStringIncludes(doctor.out, "alerts.allowPrivateHosts");

  await run("account", "create", "--email", "ada@example.com");
  assertEquals(JSON.parse((await run("alerts", "list", "--json")).out).data, []);
  assertEquals((await run("alerts", "list", "--state", "lost")).code, 2);
  assertEquals((await run("alerts", "retry")).out, "0 deliveries are due now.\n");
});

Deno.test("notices are read by operators and by their account, each for itself", async () => {
  await using gateway = await startGateway();
  const [ada, bob] = [await customer(gateway, 100), await customer(gateway, 100)];
  const { alerts, database } = gateway.gateway;
  const raise = (mark: string, accountId: string) =>
    alerts.outbox.raise([{
      mark,
      kind: "low_credits",
      accountId,
      title: `About ${mark} <b>`,
      text: "Text",
      data: {},
    }], {});
  await raise("a", ada.accountId);
  await raise("b", bob.accountId);
  const browser = await signedIn(gateway, ada.email);
  const operator = await signedIn(gateway, "owner@localhost");
  const text = async (one: typeof browser, path: string) => await (await one.get(path)).text();
  const own = await text(browser, "/console/notices");
  assertStringIncludes(own, "About a &lt;b&gt;");
  assertEquals(own.includes("About b"), false);
  const all = await text(operator, "/console/operator/alerts");
  assertEquals(["About a", "About b"].map((one) => all.includes(one)), [true, true]);

  const read = await browser.post(
    "/console/notices",
    { up_to: String(Date.now() + 1e6) },
    { from: "/console/notices" },
  );
  await read.body?.cancel();
  const state = async () =>
    (await notices(database, { limit: 10 })).toSorted((a, b) => a.mark < b.mark ? -1 : 1)
      .map(({ readAtMs, accountReadAtMs }) => [readAtMs !== null, accountReadAtMs !== null]);
  assertEquals(await state(), [[false, true], [false, false]]);
  const byOperator = await operator.post(
    "/console/operator/alerts",
    { up_to: String(Date.now() + 1e6) },
    { from: "/console/operator/alerts" },
  );
  await byOperator.body?.cancel();
  assertEquals(await state(), [[true, true], [true, false]]);
});
