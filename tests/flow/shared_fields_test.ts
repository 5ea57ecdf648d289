/** The table of fields that dialects share, once through a whole gateway for each field and pairing. */

import fc from "fast-check";
import { DIALECT_NAMES, type DialectName } from "../../src/wire/dialects/mod.ts";
import { assertEquals, assertMatch } from "../assert.ts";
import { startGateway } from "../fake/gateway.ts";
import { eventStream, fakeUpstream } from "../fake/upstream.ts";
import { eventsOfWhole, plainReply, streamText } from "../wire/dialects/reply_forms.ts";
import {
  checkOutcome,
  plainBody,
  SHARED_FIELDS,
  type SharedField,
} from "../wire/dialects/shared_fields.ts";

const PATHS: Readonly<Record<DialectName, string>> = {
  chat: "/v1/chat/completions",
  messages: "/v1/messages",
  responses: "/v1/responses",
};

/** A value that needs nothing from outside: images at addresses are fetched. */
function valueOf({ value }: SharedField): unknown {
  const all = fc.sample(value, 20);
  return all.find((one) => !JSON.stringify(one).includes("https://")) ?? all[0];
}

const namesIn = (header: string | null) => header?.split(", ") ?? [];

Deno.test("shared fields through a gateway", async (t) => {
  await using upstream = fakeUpstream(({ path, body }) => {
    const dialect = path.split("/")[2] as DialectName;
    const whole = plainReply(dialect);
    return body.stream
      ? eventStream(streamText(dialect, eventsOfWhole(dialect, whole)))
      : Response.json(whole);
  });
  const route = (dialect: DialectName, more = {}) => ({
    targets: [{ upstream: dialect, model: "theirs" }],
    prices: { input: 0, cached: 0, output: 1 },
    context: 200_000,
    maxOutput: 32_000,
    images: "inline" as const,
    allow: { tiers: { flex: 1, priority: 1 } },
    ...more,
  });
  const efforts = ["low", "medium", "high", "xhigh", "max"] as const;
  await using gateway = await startGateway({
    settings: {
      upstreams: Object.fromEntries(DIALECT_NAMES.map((dialect) => [dialect, {
        url: `${upstream.url}/${dialect}`,
        quirks: "none" as const,
        dialect,
      }])),
      routes: Object.fromEntries(DIALECT_NAMES.flatMap((dialect) => [
        [`${dialect}-none`, route(dialect)],
        [`${dialect}-effort`, route(dialect, { reasoning: "effort", efforts })],
        [`${dialect}-thinking`, route(dialect, { reasoning: "thinking" })],
      ])),
    },
  });
  for (const field of SHARED_FIELDS.filter(({ shaping }) => shaping === undefined)) {
    for (const from of DIALECT_NAMES) {
      const own = field.in[from];
      if (own === undefined) continue;
      for (const to of DIALECT_NAMES) {
        await t.step(`${field.name}: ${from} → ${to}`, async () => {
          upstream.received.length = 0;
          const value = valueOf(field);
          const body = plainBody(from);
          own.write(body, value);
          body.model = `${to}-${field.route ?? "none"}`;
          const reply = await gateway.post(PATHS[from], body, {
            headers: { "anthropic-beta": "x", "anthropic-version": "2023-06-01" },
          });
          const text = await reply.text();
          const fate = field.but?.[`${from} ${to}`];
          if (fate !== undefined && "rejected" in fate) {
            assertEquals(reply.status, 400);
            assertMatch(text, fate.rejected);
            return;
          }
          assertEquals(reply.status, 200, text);
          const { headers } = reply;
          checkOutcome(field, [from, to], value, {
            sent: upstream.received[0]!.body,
            dropped: namesIn(headers.get("x-sluice-ignored")),
            adjusted: namesIn(headers.get("x-sluice-adjusted")),
          });
        });
      }
    }
  }
});
