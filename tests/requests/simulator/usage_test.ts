/** A streamed reply of the simulator reports the usage of the whole one, and clients of every dialect get it. */

import { DIALECT_NAMES, type DialectName, isObject } from "../../../src/wire/dialects/mod.ts";
import { assertEquals } from "../../assert.ts";
import { startGateway } from "../../fake/gateway.ts";
import { simulateServer } from "../../fake/simulate.ts";

const HI = [{ role: "user", content: "Hi" }];
const CLIENTS: Readonly<Record<DialectName, { readonly path: string; readonly body: object }>> = {
  chat: {
    path: "/v1/chat/completions",
    body: { messages: HI, stream_options: { include_usage: true } },
  },
  messages: { path: "/v1/messages", body: { messages: HI, max_tokens: 900 } },
  responses: { path: "/v1/responses", body: { input: HI } },
};

/** Input, output and reasoning of the last report in a reply or in the data of a stream. */
function usageIn(values: readonly unknown[]): (number | undefined)[] {
  const found: (number | undefined)[] = [];
  const walk = (value: unknown): void => {
    if (!isObject(value)) return;
    const { usage } = value;
    // deno-lint-ignore no-explicit-any -- of three dialects
    const own = usage as any;
    if (isObject(usage)) {
      const details = own.completion_tokens_details ?? own.output_tokens_details;
      found[0] = own.prompt_tokens ?? own.input_tokens ?? found[0];
      found[1] = own.completion_tokens ?? own.output_tokens;
      found[2] = details?.reasoning_tokens ?? details?.thinking_tokens;
    }
    walk(value.message);
    walk(value.response);
  };
  values.forEach(walk);
  return found;
}

Deno.test("the simulator's streams report what its whole replies do, in every pairing", async (t) => {
  await using simulator = simulateServer();
  await using gateway = await startGateway({
    settings: {
      upstreams: Object.fromEntries(DIALECT_NAMES.map((dialect) => [dialect, {
        url: simulator.url,
        dialect,
        discover: false,
      }])),
      routes: Object.fromEntries(DIALECT_NAMES.map((dialect) => [`m-${dialect}`, {
        targets: [{ upstream: dialect, model: "svc-k3" }],
        prices: { input: 0, cached: 0, output: 1 },
      }])),
    },
  });
  for (const from of DIALECT_NAMES) {
    for (const to of DIALECT_NAMES) {
      await t.step(`${from} → ${to}`, async () => {
        const { path, body } = CLIENTS[from];
        const { stream_options: options, ...rest } = body as { stream_options?: object };
        const model = `m-${to}`;
        const whole = await (await gateway.post(path, { model, ...rest })).json();
        const streamed = await gateway.post(path, {
          model,
          ...rest,
          stream: true,
          ...(options === undefined ? {} : { stream_options: options }),
        });
        const events = (await streamed.text()).split("\n")
          .filter((line) => line.startsWith("data: {"))
          .map((line) => JSON.parse(line.slice(6)));
        const [input, output, reasoning] = usageIn([whole]);
        assertEquals(usageIn(events), [input, output, reasoning]);
        assertEquals(reasoning! > 0 && output! > reasoning!, true, JSON.stringify(whole.usage));
      });
    }
  }
});
