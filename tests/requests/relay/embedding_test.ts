/** Embeddings in memory: what is sent, which replies are read, what they cost, and which requests are taken. */

import { embed } from "../../../src/requests/relay/embed.ts";
import { Embedding, type EmbeddingOptions } from "../../../src/requests/relay/embedding.ts";
import type { End } from "../../../src/requests/relay/end.ts";
import type { Lifecycle } from "../../../src/requests/relay/lifecycle.ts";
import type { EmbedRequest, RelayParts } from "../../../src/requests/relay/request.ts";
import type { TargetPlan, UpstreamReply } from "../../../src/requests/upstreams/mod.ts";
import { type Route, SIMULATOR } from "../../../src/settings/catalog/mod.ts";
import { parseEmbeddings } from "../../../src/wire/embeddings/mod.ts";
import { Refusal } from "../../../src/ground/refusal.ts";
import { assertEquals, assertRejects } from "../../assert.ts";

interface Exchange {
  write(plan: TargetPlan): { readonly body: string };
  open(reply: UpstreamReply): Promise<unknown>;
}

function replyOf(json: object): UpstreamReply {
  const left = [new TextEncoder().encode(JSON.stringify(json))];
  return {
    headers: {},
    body: { read: () => Promise.resolve(left.shift()) },
  } as unknown as UpstreamReply;
}

/** A request that is sent to an upstream which replies this, and what comes of it. */
async function sent(
  json: object,
  { body = {}, route = {}, upstream = "up", counted = 13 }: {
    body?: object;
    route?: Partial<Route>;
    upstream?: string;
    counted?: number;
  } = {},
) {
  const heard: string[] = [];
  const ends: End[] = [];
  let written: unknown;
  const plan = {
    target: { upstream, model: "theirs" },
    upstream: { health: { usageDeparted: () => heard.push("departed") } },
  } as unknown as TargetPlan;
  const reply = { ...replyOf(json), used: (tokens: number) => heard.push(`used ${tokens}`) };
  const parts = {
    settings: { replies: { bytes: 100_000, values: 100 } },
    estimates: {
      learn: (_of: object, { countedTokens, reportedTokens }: Readonly<Record<string, number>>) =>
        heard.push(`learned ${countedTokens} ${reportedTokens}`),
    },
    upstreams: {
      route: () => ({}),
      async send({ write, open }: Exchange) {
        written = JSON.parse(write(plan).body);
        return { plan, opened: await open(reply), reply, attempts: 1, outcomes: undefined };
      },
    },
  } as unknown as RelayParts;
  const life = {
    accountId: "acc",
    outputBegan() {},
    sent() {},
    settle: (end: End) => (ends.push(end), Promise.resolve({ charged: 1, balance: 1 })),
    end() {},
  } as unknown as Lifecycle;
  const embedding = new Embedding(parts, life, {
    requestId: "req_1",
    route: { id: "e", context: 1_000, ...route },
    request: parseEmbeddings({ model: "e", input: ["a", "b"], ...body }),
    inputTokens: counted,
    plans: [plan],
  } as unknown as EmbeddingOptions);
  const reached = await embedding.send([]);
  const response = JSON.parse(String((await embedding.respond(reached)).body));
  return { written, heard, response, ends };
}

const vectors = (length: number, usage?: object) => ({
  data: [0, 1].map((index) => ({ index, embedding: Array(length).fill(0.5) })),
  ...(usage && { usage }),
});
const usageOf = (tokens: number) => ({ prompt_tokens: tokens, total_tokens: tokens, vendor: 7 });

Deno.test("a report is learned from and passed on if it is believed: up to twice what the model can have, and some for each input (table)", async () => {
  const rows: readonly (readonly [
    usage: object | undefined,
    context: number,
    heard: readonly string[],
    tokens: number,
  ])[] = [
    [usageOf(14), 1_000, ["used 14", "learned 13 14"], 14],
    [usageOf(416), 100, ["used 416", "learned 13 416"], 416],
    [usageOf(417), 100, ["departed"], 13],
    [usageOf(1_013), 1e6, ["used 1013", "learned 13 1013"], 1_013],
    [usageOf(1_014), 1e6, ["departed"], 13],
    [undefined, 1_000, [], 13],
  ];
  for (const [usage, context, heard, tokens] of rows) {
    const { response, ends, ...seen } = await sent(vectors(2, usage), { route: { context } });
    const isBelieved = heard.length === 2;
    const text = JSON.stringify([usage, context]);
    assertEquals(seen.heard, [...heard], text);
    assertEquals(
      [response.usage.prompt_tokens, response.usage.vendor],
      [tokens, isBelieved ? 7 : undefined],
      text,
    );
    const [{ usageSource, usage: charged } = {} as End] = ends;
    assertEquals(
      [usageSource, charged?.inputTokens, charged?.outputTokens],
      [isBelieved ? "upstream" : "counted", tokens, 0],
      text,
    );
  }
  // no text is longer than a request may be in all
  const long = await sent(vectors(2, usageOf(600_016)), { route: { context: 1e6 }, counted: 4e5 });
  const longer = await sent(vectors(2, usageOf(600_017)), {
    route: { context: 1e6 },
    counted: 4e5,
  });
  assertEquals([long, longer].map(({ heard }) => heard.includes("departed")), [false, true]);
});

Deno.test("a reply may have as many numbers as vectors are expected to have, and no more (table)", async () => {
  const rows: readonly (readonly [
    route: Partial<Route>,
    dimensions: number | undefined,
    most: number,
  ])[] = [
    [{}, undefined, 4_096],
    [{ dimensions: 5_000 }, undefined, 5_000],
    [{ dimensions: 100 }, undefined, 4_096],
    [{}, 5_000, 5_000],
    [{ dimensions: 1e6 }, undefined, 65_536],
  ];
  for (const [route, dimensions, most] of rows) {
    const body = dimensions === undefined ? {} : { dimensions };
    // a hundred values more may be anything
    const refusal = await assertRejects(
      () => sent(vectors(most + 51), { route, body }),
      Refusal,
      `it has more than ${100 + 2 * most} numbers`,
    );
    assertEquals(refusal.reason, "upstream_unavailable");
    const { response } = await sent(vectors(dimensions ?? 4_096), { route, body });
    assertEquals(response.data.length, 2);
  }
});

Deno.test("the simulator is asked for vectors of the length that the settings promise, where the client asks for none (table)", async () => {
  const promised = { dimensions: 3, checksDimensions: true };
  for (
    const [upstream, route, body, dimensions] of [
      [SIMULATOR, promised, {}, 3],
      [SIMULATOR, { ...promised, checksDimensions: false }, {}, undefined],
      [SIMULATOR, promised, { dimensions: 2 }, 2],
      ["up", promised, {}, undefined],
    ] as const
  ) {
    const length = body.dimensions ?? 3;
    const { written } = await sent(vectors(length), { upstream, route, body });
    const { model, dimensions: asked } = written as Record<string, unknown>;
    assertEquals([model, asked], ["theirs", dimensions]);
  }
  await assertRejects(() => sent(vectors(4), { route: promised }), Refusal, "instead of 3");
  const { response } = await sent(vectors(4), {
    route: { ...promised, checksDimensions: false },
  });
  assertEquals(response.data[0].embedding.length, 4);
});

Deno.test("a request is taken if it asks for no more dimensions than the settings promise, and some target has embeddings (table)", async () => {
  const rows: readonly (readonly [
    route: Partial<Route>,
    dimensions: number | undefined,
    dialects: readonly string[],
    says: string,
  ])[] = [
    [{ dimensions: 8, checksDimensions: true }, 9, ["chat"], "dimensions must be at most 8"],
    [{ dimensions: 8, checksDimensions: true }, 8, ["chat"], "planned chat"],
    [{ dimensions: 8, checksDimensions: true }, undefined, ["chat"], "planned chat"],
    [{ dimensions: 8, checksDimensions: false }, 9, ["chat"], "planned chat"],
    [{ checksDimensions: true }, 9, ["chat"], "planned chat"],
    [{}, undefined, ["messages"], "The upstreams of the model 'e' have no embeddings."],
    [{}, undefined, ["messages", "chat"], "planned chat"],
  ];
  for (const [more, dimensions, dialects, says] of rows) {
    const targets = dialects.map((upstream) => ({ upstream, model: "m" }));
    const route = { id: "e", context: 1_000, targets, prices: {}, ...more };
    const parts = {
      catalog: () => ({ resolve: () => route }),
      now: () => 0,
      settings: { tags: { fromClients: false } },
      upstreams: { of: ({ upstream }: { readonly upstream: string }) => ({ dialect: upstream }) },
      ownKeys: {
        order: (plans: readonly TargetPlan[]) => {
          throw new Error(`planned ${plans.map(({ upstream }) => upstream.dialect)}`);
        },
      },
    } as unknown as RelayParts;
    const incoming = {
      caller: { models: null },
      header: () => null,
      body: {
        json: { model: "e", input: "Hi", ...(dimensions && { dimensions }) },
        detached: { count: 0 },
      },
    } as unknown as EmbedRequest;
    await assertRejects(() => embed(parts, incoming), Error, says);
  }
});
