/** The console's usage page: ranges in the address, downloads, and nobody sees more than they may. */

import { parse } from "csv-parse/sync";
import { assertEquals, assertStringIncludes } from "../assert.ts";
import { startGateway, statusOf } from "../fake/gateway.ts";
import { signedIn } from "../fake/visitor.ts";

Deno.test("members download their own reports, requests and entries, operator roles those of all", async () => {
  await using gateway = await startGateway();
  const { accounts, keys, sales } = gateway.gateway;
  const ada = await accounts.create({ email: "ada@example.com" });
  await accounts.create({ email: "fin@example.com", role: "finance" });
  await sales.grant(ada, { credits: 100 });
  const { secret } = await keys.issue(ada);
  const tags = { "x-sluice-tags": "project=alpha" };
  for (const key of [secret, gateway.key, gateway.key]) {
    assertEquals(await statusOf(gateway.chat("Hi", {}, { key, headers: tags })), 200);
  }
  const asAda = await signedIn(gateway, "ada@example.com");
  const asFinance = await signedIn(gateway, "fin@example.com");
  const rows = async (browser: typeof asAda, path: string) => {
    const reply = await browser.get(path);
    assertEquals([reply.status, reply.headers.get("content-type")], [
      200,
      "text/csv; charset=utf-8",
    ]);
    return parse(await reply.text(), { columns: true }) as Record<string, string>[];
  };
  const others = ["", "?all=1", "?account=owner@localhost", "?all=1&account=owner@localhost"];
  for (const query of others) {
    const sees = async (file: string) => (await rows(asAda, `/console/usage${file}${query}`));
    assertEquals((await sees("/requests.csv")).map(({ account }) => account), ["ada@example.com"]);
    assertEquals([...new Set((await sees("/entries.csv")).map(({ account }) => account))], [
      "ada@example.com",
    ]);
    assertEquals((await sees(".csv")).map(({ requests }) => requests), ["1"]);
  }
  const found = await Promise.all(
    others.map(async (query) =>
      (await rows(asFinance, `/console/usage/requests.csv${query}`)).length
    ),
  );
  assertEquals(found, [0, 3, 2, 2]);
  const [byProject] = await rows(asFinance, "/console/usage.csv?all=1&by=tag:project");
  assertEquals([byProject!["tag:project"], byProject!.requests], ["alpha", "3"]);

  const page = await (await asFinance.get("/console/usage?all=1&by=account&since=7d&compare=1"))
    .text();
  assertStringIncludes(page, "ada@example.com");
  assertStringIncludes(page, "Compared with");
  const wrong = await asAda.get("/console/usage?by=moon");
  assertEquals(wrong.status, 400);
  assertStringIncludes(await wrong.text(), "must be one of day, hour");
  assertEquals(await statusOf(asAda.get("/console/usage.csv?since=soon")), 400);
  assertEquals(await statusOf(asAda.get("/console/usage/entries.csv?tag=a=b")), 400);
});
