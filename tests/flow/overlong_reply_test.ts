import { audit } from "../../src/money/ledger/mod.ts";
import { assert, assertEquals } from "../assert.ts";
import { assertLedgerClean, customer } from "../fake/customer.ts";
import { startGateway, usageRecords } from "../fake/gateway.ts";
import { until } from "../fake/temp.ts";
import { chunk, completion, eventStream, fakeUpstream, sse } from "../fake/upstream.ts";

/** A credit for each output token, nothing for input. */
const BY_THE_TOKEN = {
  context: 100_000,
  maxOutput: 50_000,
  minimum: 1,
  prices: { input: 0, cached: 0, output: 1_000_000 },
};
const MAX_TOKENS = 80;
/** The limit and a quarter, at least 64 tokens more. */
const MAX_CHARGED = MAX_TOKENS + 64;
/** What is delivered is cut where no miscount explains it. */
const MAX_WORDS = 2 * MAX_CHARGED;

for (const reported of [undefined, 3_000]) {
  const source = reported === undefined ? "silent on usage" : "that reports usage";
  Deno.test({
    name: `a whole reply far beyond the limit is cut to it: upstream ${source}`,
    async fn() {
      await using upstream = fakeUpstream(async () => {
        await until(() => upstream.received.length === 12, { what: "the admission of all" });
        return completion("word ".repeat(3_000), {
          usage: reported && { prompt_tokens: 1, completion_tokens: reported, total_tokens: 1 },
        });
      });
      await using gateway = await startGateway({
        settings: { upstream: { url: upstream.url }, routes: { token: BY_THE_TOKEN } },
      });
      const { keys: [key] } = await customer(gateway, 1_000);
      const replies = await Promise.all(Array.from({ length: 12 }, async () => {
        const body = { model: "token", max_tokens: MAX_TOKENS };
        const [choice] = (await (await gateway.chat("Hi", body, { key: key! })).json()).choices;
        return { words: choice.message.content.split("word").length - 1, ...choice };
      }));
      for (const { words, finish_reason } of replies) {
        assert(words >= MAX_TOKENS && words <= MAX_WORDS, `${words} words`);
        assertEquals(finish_reason, "length");
      }
      for (const { ending, usage_source, output_tokens } of await usageRecords(gateway)) {
        assertEquals([ending, usage_source], ["complete", "counted"]);
        assert(Number(output_tokens) <= MAX_CHARGED, `${output_tokens} tokens`);
      }
      const { uncollected } = await audit(gateway.gateway.database);
      assert(uncollected.credits <= 12 * 64, `${uncollected.credits} credits for nothing`);
      await assertLedgerClean(gateway);
    },
  });
}

Deno.test({
  name: "what streams at once get beyond their limit is paid for",
  async fn() {
    await using upstream = fakeUpstream(async () => {
      await until(() => upstream.received.length === 10, { what: "the admission of all" });
      const words = Array.from({ length: 300 }, () => chunk({ content: "word " }));
      return eventStream(sse(...words, chunk({}, "stop"), "[DONE]"));
    });
    await using gateway = await startGateway({
      settings: { upstream: { url: upstream.url }, routes: { token: BY_THE_TOKEN } },
    });
    const { keys: [key] } = await customer(gateway, 10);
    await Promise.all(Array.from({ length: 10 }, async () => {
      const body = { model: "token", max_tokens: 1, stream: true };
      await (await gateway.chat("Hi", body, { key: key! })).text();
    }));
    const highest = Math.max(
      ...(await usageRecords(gateway)).map((record) => Number(record.price_credits)),
    );
    const { uncollected } = await audit(gateway.gateway.database);
    // what one event goes beyond its hold is not cut off
    const max = highest + 10;
    assert(uncollected.credits <= max, `${uncollected.credits} credits for nothing`);
    await assertLedgerClean(gateway);
  },
});
