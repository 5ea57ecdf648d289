import { assert, assertEquals } from "../assert.ts";
import type { Check } from "./checks.ts";
import { chat, type Json, messages, send } from "./target.ts";

/** What clients of either dialect rely on. */
export const commonChecks: readonly Check[] = [
  {
    holds: "the models list is one for both families of SDKs",
    async run(target) {
      const { status, json } = await send(target, "/v1/models");
      assertEquals([status, json.object], [200, "list"]);
      assert("has_more" in json && "first_id" in json && "last_id" in json, "the envelope");
      const one = json.data.find(({ id }: Json) => id === target.models.chat);
      assert(one !== undefined, `no ${target.models.chat}`);
      assertEquals([one.object, one.type], ["model", "model"]);
      assert(Number.isInteger(one.created) && typeof one.created_at === "string", "dates");
    },
  },
  {
    holds: "every answer names its request, success or not",
    async run(target) {
      const answers = [
        await chat(target, {}),
        await messages(target, {}),
        await chat(target, { model: "no-such-model" }),
      ];
      for (const { headers } of answers) {
        assert((headers.get("x-request-id") ?? headers.get("request-id") ?? "") !== "", "no id");
      }
    },
  },
  {
    holds: "errors that cannot succeed by repeating say so to the SDKs",
    async run(target) {
      for (const { headers } of [await chat(target, { temperature: 9 })]) {
        assertEquals(headers.get("x-should-retry"), "false");
      }
    },
  },
  {
    holds: "an unknown path is 404 with a JSON error",
    async run(target) {
      const { status, json } = await send(target, "/v1/no-such-path", { body: {} });
      assertEquals(status, 404);
      assert(typeof json?.error?.message === "string", "JSON error");
    },
  },
  {
    holds: "browsers may call: preflight and answers allow the origin",
    async run(target) {
      const origin = "https://app.example";
      const { status, headers } = await send(target, "/v1/chat/completions", {
        method: "OPTIONS",
        headers: {
          origin,
          "access-control-request-method": "POST",
          "access-control-request-headers": "authorization,content-type",
        },
      });
      assert(status < 300, `status ${status}`);
      assert(["*", origin].includes(headers.get("access-control-allow-origin") ?? ""), "origin");
    },
  },
];
