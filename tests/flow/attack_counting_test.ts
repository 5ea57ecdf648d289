/** Requests that are small as they come and large as they are sent: the hold covers what is sent. */

import { TokenCounter } from "../../src/tokens/mod.ts";
import { assert, assertEquals } from "../assert.ts";
import { assertLedgerClean } from "../fake/customer.ts";
import { startGateway, usageRecords } from "../fake/gateway.ts";
import { completion, fakeUpstream } from "../fake/upstream.ts";

const TOOLS = Array.from({ length: 400 }, (_, at) => ({ type: "custom", name: `f${at}` }));
const CALL = { type: "function_call", call_id: "a", name: "qXzKvJ7Wd2HpYb9RfTm4", arguments: "" };
const OUTPUT = { type: "function_call_output", call_id: "a", output: "x" };

for (
  const [path, body] of [
    ["/v1/responses", { input: "Hi", tools: TOOLS }],
    ["/v1/responses/compact", {
      input: [{ role: "user", content: "Hi" }, CALL, ...Array.from({ length: 400 }, () => OUTPUT)],
    }],
  ] as const
) {
  Deno.test(`${path}: a hold covers what the gateway adds`, async () => {
    await using upstream = fakeUpstream(() => completion("Done.", { usage: null }));
    await using gateway = await startGateway({ settings: { upstream: { url: upstream.url } } });
    const reply = await gateway.post(path, { model: "svc-k2", ...body });
    assertEquals([reply.status, await reply.json().then(({ error }) => error ?? null)], [
      200,
      null,
    ]);
    const counter = new TokenCounter();
    const { messages, tools = [] } = upstream.received[0]!.body;
    for (const { content } of messages) counter.add(`${content}\n`);
    for (const tool of tools) counter.add(`${JSON.stringify(tool)}\n`);
    const [record] = await usageRecords(gateway);
    assertEquals(record!.usage_source, "counted");
    const ratio = Number(record!.input_tokens) / counter.tokens;
    assert(ratio > 0.6 && ratio < 1.7, `${record!.input_tokens} counted, ${counter.tokens} sent`);
    await assertLedgerClean(gateway);
  });
}
