import { replyChanges } from "../../../src/operating/alerts/reply_changes.ts";
import { assertEquals, assertStringIncludes } from "../../assert.ts";
import { customer } from "../../fake/customer.ts";
import { startGateway } from "../../fake/gateway.ts";
import { completion, fakeUpstream } from "../../fake/upstream.ts";

Deno.test("a model that another begins to reply for raises one alert, and so does a cache that is missed", async () => {
  let answered = "m-2026-01";
  let cached = 8_100;
  let nowMs = Date.parse("2026-05-01T10:20:00Z");
  await using upstream = fakeUpstream(() =>
    completion("well", {
      model: answered,
      usage: {
        prompt_tokens: 10_800,
        completion_tokens: 2,
        prompt_tokens_details: { cached_tokens: cached },
      },
    })
  );
  await using gateway = await startGateway({
    now: () => nowMs,
    settings: {
      upstream: { url: upstream.url },
      routes: {
        m: { context: 1_000_000, minimum: 0, prices: { input: 1, cached: 1, output: 1 } },
      },
    },
  });
  const { keys: [key] } = await customer(gateway, 1_000);
  const { gateway: { database } } = gateway;
  const prompt = "word ".repeat(2_700);
  const send = async (times: number) => {
    for (let at = 0; at < times; at++) {
      await (await gateway.chat(prompt, { model: "m", max_tokens: 10 }, { key: key! })).text();
    }
  };
  const kinds = async () => {
    const { alerts, done } = await replyChanges(database, nowMs);
    await done();
    return alerts.map(({ kind, data }) => [kind, data.answered ?? data.route]);
  };
  await send(20);
  assertEquals(await kinds(), [], "what it had been all along");
  answered = "m-2026-05";
  cached = 3_780;
  nowMs += 3_600_000;
  await send(1);
  assertEquals(await kinds(), [["model_changed", "m-2026-05"]]);
  assertEquals(await kinds(), [], "once");
  await send(19);
  assertEquals(await kinds(), [["cache_share_fell", "m"]]);
  const { alerts: [alert] } = await replyChanges(database, nowMs);
  assertStringIncludes(alert!.title, "fell from 75 % to 35 %");
  // half of the hour before is gone: the same share again is none
  nowMs += 3_600_000;
  await send(20);
  assertEquals(await kinds(), []);
});
