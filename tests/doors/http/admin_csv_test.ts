/** `GET /admin/v1/usage` as CSV: rows of the report, requests, and ledger entries. */

import { parseCsv } from "../../../src/ground/std/mod.ts";
import { assert, assertEquals, assertStringIncludes } from "../../assert.ts";
import { customer } from "../../fake/customer.ts";
import { startGateway } from "../../fake/gateway.ts";

Deno.test("a report, its requests and its entries are CSV for those who ask the API for it", async () => {
  await using gateway = await startGateway();
  const { keys, owner } = gateway.gateway;
  const { email, keys: [key = ""] } = await customer(gateway, 500);
  for (let times = 0; times < 3; times++) {
    const reply = await gateway.chat("Hi", { model: "svc-k2" }, { key });
    assertEquals(reply.status, 200, await reply.text());
  }
  const { secret } = await keys.issue(owner, { scopes: ["read"] });
  const ask = async (query: string, by: string = secret) => {
    const reply = await fetch(`${gateway.url}/admin/v1/${query}`, {
      headers: { authorization: `Bearer ${by}` },
    });
    const type = reply.headers.get("content-type");
    return { status: reply.status, type, text: await reply.text() };
  };
  const ofAccount = `account=${encodeURIComponent(email)}`;
  const tableOf = async (kind: string) => {
    const { status, type, text } = await ask(`usage?by=model&${ofAccount}&csv=${kind}`);
    assertEquals([status, type], [200, "text/csv; charset=utf-8"], text);
    assert(!text.startsWith("\ufeff"));
    const [head = [], ...rows] = parseCsv(text);
    return rows.map((row) => Object.fromEntries(row.map((cell, at) => [head[at], cell])));
  };

  const [row, ...others] = await tableOf("rows");
  assertEquals([row?.model, row?.requests, others], ["svc-k2", "3", []]);
  const requests = await tableOf("requests");
  assertEquals(requests.map(({ account, model }) => [account, model]), [
    [email, "svc-k2"],
    [email, "svc-k2"],
    [email, "svc-k2"],
  ]);
  const entries = await tableOf("entries");
  const charged = entries.filter(({ kind }) => kind === "charge");
  assertEquals(charged.map(({ credits }) => credits), requests.map(({ credits }) => `-${credits}`));

  const refused = await ask("usage?csv=pdf");
  assertEquals(refused.status, 400);
  assertStringIncludes(refused.text, "csv: must be one of rows, requests, entries.");
  assertStringIncludes((await ask("usage?csv=rows&by=nothing")).text, "must be one of day");
  assertEquals((await ask("usage?csv=entries&account=nobody@example.com")).status, 404);
  assertStringIncludes((await ask("accounts?csv=rows")).text, 'Unknown parameter \\"csv\\"');
  for (const kind of ["rows", "requests", "entries"]) {
    assert([401, 403].includes((await ask(`usage?csv=${kind}`, key)).status), kind);
  }
});
