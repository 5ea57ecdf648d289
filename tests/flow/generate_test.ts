/** Errors and lists of models in Google's form, through a whole gateway. */

import { assert, assertEquals } from "../assert.ts";
import { startGateway, usageRecords } from "../fake/gateway.ts";
import { failed, generateServer } from "../fake/generate.ts";
import { completion, eventStream, fakeUpstream, sse } from "../fake/upstream.ts";

const LONG =
  "The input token count (1500000) exceeds the maximum number of tokens allowed (1048575).";
const UNKNOWN = "models/gone is not found for API version v1beta, or is not supported for " +
  "generateContent. Call ListModels to see the list of available models and their supported methods.";

/** What the upstream replies for a model. */
const REPLIES: Readonly<Record<string, () => Response>> = {
  busy: () => failed(429, "RESOURCE_EXHAUSTED", "You exceeded your current quota.", "7.2s"),
  away: () => failed(503, "UNAVAILABLE", "The model is overloaded.", "3s"),
  gone: () => failed(404, "NOT_FOUND", UNKNOWN),
  long: () => failed(400, "INVALID_ARGUMENT", LONG),
  key: () => failed(400, "INVALID_ARGUMENT", "API key not valid. Please pass a valid API key."),
  wrong: () => failed(400, "INVALID_ARGUMENT", "* GenerateContentRequest.contents: wrong"),
  "in-a-stream": () => {
    const details = [{ "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay: "9s" }];
    const error = { code: 429, message: "Quota", status: "RESOURCE_EXHAUSTED", details };
    return eventStream(sse(JSON.stringify({ error })));
  },
};

Deno.test("errors of Google: what they mean, and how long they say to wait", async () => {
  await using upstream = fakeUpstream(({ path }) => REPLIES[path.split(/[/:]/)[3]!]!());
  await using second = fakeUpstream(() => completion("Hi"));
  const names = Object.keys(REPLIES);
  await using gateway = await startGateway({
    settings: {
      upstreams: {
        // each has a circuit of its own
        ...Object.fromEntries(
          names.map((name) => [name, { url: upstream.url, dialect: "generate" as const }]),
        ),
        second: { url: second.url },
      },
      routes: {
        ...Object.fromEntries(
          names.map((name) => [name, { targets: [{ upstream: name, model: name }], ...BOUNDS }]),
        ),
        two: {
          targets: [{ upstream: "key", model: "key" }, { upstream: "second", model: "m" }],
          ...BOUNDS,
        },
      },
    },
    firstWaitMs: 1,
  });
  const ask = async (model: string, stream = false) => {
    const response = await gateway.post("/v1/chat/completions", {
      model,
      stream,
      messages: [{ role: "user", content: "Hi" }],
    });
    const text = await response.text();
    return { status: response.status, after: response.headers.get("retry-after"), text };
  };
  const busy = await ask("busy");
  assertEquals([busy.status, busy.after], [429, "8"], busy.text);
  const away = await ask("away");
  assertEquals([away.status, away.after], [503, "3"], away.text);
  const streamed = await ask("in-a-stream", true);
  assertEquals([streamed.status, streamed.after], [429, "9"], streamed.text);
  const gone = await ask("gone");
  assertEquals([gone.status, JSON.parse(gone.text).error.code], [404, "model_not_found"]);
  const long = await ask("long");
  assertEquals(long.status, 400);
  assert(/prompt is too long: 1500000 tokens > 1048575 maximum/.test(long.text), long.text);
  const wrong = await ask("wrong");
  assertEquals([wrong.status, wrong.text.includes("contents: wrong")], [400, true]);
  // a key that only the operator can change
  assertEquals((await ask("key")).status, 503);
  const two = await ask("two");
  assertEquals([two.status, two.text.includes("Hi")], [200, true], two.text);
  const charged = (await usageRecords(gateway)).filter(({ status }) => Number(status) >= 400);
  assertEquals(charged.filter(({ price_credits: price }) => Number(price) > 0), []);
});

const BOUNDS = { context: 100_000, maxOutput: 1_000 };

Deno.test("models that Gemini lists are served by their own names, with their limits", async () => {
  await using upstream = generateServer();
  await using gateway = await startGateway({
    settings: { upstreams: { gemini: { url: upstream.url, dialect: "generate", discover: true } } },
  });
  const listed = await (await fetch(`${gateway.url}/v1/models`)).json();
  const ids = listed.data.map(({ id }: { id: string }) => id);
  assertEquals(["svc-k2", "svc-k3"].filter((one) => !ids.includes(one)), []);
  const reply = await gateway.post("/v1/chat/completions", {
    model: "svc-k3",
    messages: [{ role: "user", content: "Hello" }],
  });
  assertEquals(reply.status, 200, await reply.text());
  assertEquals(upstream.requests, 1);
});
