/** No secret of payments stands in the clear in anything that the gateway writes or shows. */

import { assert, assertEquals } from "../../assert.ts";
import { startCommand } from "../../fake/command.ts";
import { sluice } from "../../fake/shell.ts";
import { startGateway } from "../../fake/gateway.ts";
import { tempDir } from "../../fake/temp.ts";
import { signedIn } from "../../fake/visitor.ts";
import { fakeStripe, send, TEST_KEY, WEBHOOK_SECRET } from "./fake_stripe.ts";
import { shopSettings } from "./shop.ts";

const MARKS = [TEST_KEY, WEBHOOK_SECRET, "MarkedSecretKey", "MarkedWebhookSecret"];

function assertClean(what: string, text: string, more: readonly string[] = []): void {
  for (const mark of [...MARKS, ...more]) assert(!text.includes(mark), `${mark} in ${what}`);
}

/** All bytes of the files of a directory, as text. */
async function filesOf(directory: string): Promise<[string, string][]> {
  const files: [string, string][] = [];
  for await (const entry of Deno.readDir(directory)) {
    const path = `${directory}/${entry.name}`;
    if (entry.isDirectory) files.push(...await filesOf(path));
    else if (entry.isFile) {
      files.push([path, new TextDecoder("latin1").decode(await Deno.readFile(path))]);
    }
  }
  return files;
}

Deno.test("secrets are in no output of commands, no log, no database and no backup", async () => {
  await using dir = await tempDir();
  await using stripe = fakeStripe();
  const { payments: _payments, ...plain } = shopSettings(stripe);
  await Deno.writeTextFile(
    `${dir.path}/sluice.jsonc`,
    JSON.stringify({
      ...plain,
      port: 0,
      logLevel: "debug",
      payments: {
        stripe: {
          secretKey: "${STRIPE_KEY}",
          webhookSecret: "${STRIPE_WEBHOOK}",
          apiBase: stripe.url,
        },
      },
    }),
  );
  const env = { STRIPE_KEY: TEST_KEY, STRIPE_WEBHOOK: WEBHOOK_SECRET, SLUICE_LOG: "json" };
  await Deno.mkdir(`${dir.path}/data`);
  const outputs: [string, string][] = [];
  const run = async (...args: string[]) => {
    const { out, err, code } = await sluice(args, { directory: dir.path, env });
    outputs.push([args.join(" "), out + err]);
    return { out, code };
  };
  await run("account", "create", "--email", "ada@example.com");
  const { out } = await run("codes", "create", "--credits", "5", "--json");
  const { codes: [{ code }] } = JSON.parse(out);
  {
    await using gateway = startCommand(["serve", "--port", "0"], { directory: dir.path, env });
    const [, url] = await gateway.waitFor(/listening on (http:[^\s"]+)/);
    await run("credits", "checkout", "--account", "ada@example.com", "--package", "starter");
    const [session] = [...stripe.sessions.values()];
    const event = stripe.pay(session!.id);
    assertEquals(await send(url!, event), 200);
    assertEquals(await send(url!, event, { secret: "whsec_wrong" }), 400);
    stripe.faults.push("html", "html");
    await run("payments", "reconcile", "--json");
    await run("payments", "list", "--json");
    await run("payments", "show", String(session!.client_reference_id));
    await run("payments", "refund", String(session!.client_reference_id), "--amount", "1.00");
    await run("codes", "list");
    for (
      const args of [["config", "show"], ["config", "check"], ["doctor"], ["backup", "copy.db"]]
    ) {
      await run(...args);
    }
    outputs.push(["metrics", await (await fetch(`${url}/metrics`)).text()]);
    gateway.signal("SIGTERM");
    await gateway.status;
    outputs.push(["log", gateway.out() + gateway.err()]);
  }
  // a key that Stripe rejects is not repeated either
  await using strict = fakeStripe({ key: `${TEST_KEY}Other` });
  await Deno.writeTextFile(
    `${dir.path}/sluice.jsonc`,
    JSON.stringify({ ...shopSettings(strict), port: 0 }),
  );
  await run("credits", "checkout", "--account", "ada@example.com", "--package", "starter");
  await run("payments", "reconcile");
  await Deno.remove(`${dir.path}/sluice.jsonc`);
  for (const [what, text] of outputs) assertClean(what, text);
  const files = await filesOf(dir.path);
  assert(files.some(([path]) => path.endsWith("copy.db")), files.map(([path]) => path).join());
  for (const [path, text] of files) assertClean(path, text, [code, code.replaceAll("-", "")]);
  assert(outputs.length > 15);
});

Deno.test("secrets are on no page, for operators either", async () => {
  await using stripe = fakeStripe();
  await using gateway = await startGateway({ settings: shopSettings(stripe) });
  const browser = await signedIn(gateway, "owner@localhost");
  for (
    const path of [
      "/console/credits",
      "/console/operator/settings",
      "/console/operator/payments",
      "/console/operator/audit",
      "/openapi.json",
    ]
  ) {
    const reply = await browser.get(path);
    assertEquals(reply.status, 200, path);
    assertClean(path, await reply.text());
  }
  assertClean("the log", gateway.log());
});
