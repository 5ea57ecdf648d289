/** What is made of a reply once it is there: what it costs, what is learned from it, what its client gets; without sockets and databases. */

import type { End } from "../../../src/requests/relay/end.ts";
import { Generation, type GenerationRequest } from "../../../src/requests/relay/generation.ts";
import type { Lifecycle } from "../../../src/requests/relay/lifecycle.ts";
import type { OpenedReply } from "../../../src/requests/relay/opened_reply.ts";
import type { Plan } from "../../../src/requests/relay/plan.ts";
import type { RelayParts } from "../../../src/requests/relay/request.ts";
import type { TextReader } from "../../../src/requests/relay/text_reader.ts";
import type { Opened } from "../../../src/requests/relay/several_choices.ts";
import type { Exchange } from "../../../src/requests/upstreams/attempts.ts";
import type { OwnKey, UpstreamReply } from "../../../src/requests/upstreams/mod.ts";
import {
  brokenOff,
  countedUsage,
  type Reply,
  type ReplyState,
  type Usage,
} from "../../../src/wire/dialects/mod.ts";
import { assertEquals, assertRejects } from "../../assert.ts";
import { parseChat } from "../../wire/dialects/ends.ts";

const INPUT = 1_000;
/** Output that may be charged, and by the gateway's count delivered. */
const HOLD = { maxCharged: 100, maxDelivered: 160, outputTokens: 100, lookAhead() {} };

interface Scene {
  readonly request?: Record<string, unknown>;
  readonly options?: Partial<GenerationRequest>;
  readonly isText?: boolean;
  readonly ownKey?: OwnKey;
  /** Whether the model has been found to hide its reasoning. */
  readonly hides?: boolean;
  readonly upstreams?: object;
}

/** A request whose reply is there, and what comes of it. */
function scene(
  { request = {}, options = {}, isText = true, ownKey, hides = false, upstreams }: Scene = {},
) {
  const ends: End[] = [];
  const heard: string[] = [];
  const hidingModels = new Set(hides ? ["m"] : []);
  const plan = {
    target: { upstream: "up", model: "m" },
    upstream: {
      health: {
        hidingModels,
        usageDeparted: () => heard.push("departed"),
        streamBroke: () => heard.push("broke"),
      },
    },
    ownKey,
  } as unknown as Plan;
  const life = {
    accountId: "acc",
    hold: HOLD,
    signal: new AbortController().signal,
    cutOff: new AbortController().signal,
    permittedOutput: 80,
    outputBegan: () => heard.push("began"),
    responseBegan() {},
    hasLeft: () => false,
    abort() {},
    settle: (end: End) => (ends.push(end), Promise.resolve({ charged: 1, balance: 1 })),
    end: () => heard.push("end"),
  } as unknown as Lifecycle;
  const parts = {
    upstreams,
    estimates: {
      learn: (_of: object, { reportedTokens }: { readonly reportedTokens: number }) =>
        heard.push(`learned ${reportedTokens}`),
    },
    images: { inline: () => Promise.reject(new Error("there are no images")) },
    log: { error() {} },
    followed: { begin: () => () => {} },
    settings: { onClientDisconnect: "abort", limits: { followMs: 1, followedReplies: 1 } },
  } as unknown as RelayParts;
  const generation = new Generation(parts, life, {
    dialect: "chat",
    requestId: "req_1",
    trace: { begin: () => ({ end() {} }) },
    route: { id: "r", context: 5_000 },
    request: parseChat({
      model: "m",
      messages: [{ role: "user", content: "Hi" }],
      ...request,
    }),
    input: { tokens: INPUT, isText, openTokens: 0 },
    addedTokens: 0,
    openInput: () => 0,
    maxCalls: 0,
    mayReason: false,
    plans: [plan],
    keepItems: (items: readonly unknown[]) =>
      Promise.resolve(void heard.push(`kept ${items.length}`)),
    ...options,
  } as unknown as GenerationRequest);
  const reply = {
    headers: {},
    used: (tokens: number) => heard.push(`used ${tokens}`),
  } as unknown as UpstreamReply;
  return {
    generation,
    ends,
    heard,
    hidingModels,
    respond: (opened: OpenedReply) =>
      generation.respond({ opened, plan, reply, dropped: [], adjusted: [] }),
  };
}

/** A whole reply of this many tokens by the gateway's count. */
function wholeOf(counted: number, usage?: Usage, more: Partial<Reply> = {}): OpenedReply {
  const reply = (tokens: number, reported: Usage | undefined, isCut = false): Reply => ({
    body: { tokens },
    choices: 1,
    usage: reported,
    countOutput: () => tokens,
    withUsage: ({ outputTokens }) => ({ tokens, told: outputTokens, ...(isCut && { isCut }) }),
    truncated: (most) => reply(most, undefined, true),
    ...more,
  });
  return {
    kind: "whole",
    reply: reply(counted, usage),
    choices: 1,
    requests: 1,
    discard() {},
    drain() {},
  };
}

const usageOf = (outputTokens: number, reasoningTokens = 0, inputTokens = INPUT): Usage => (
  { ...countedUsage(inputTokens, outputTokens), reasoningTokens }
);

Deno.test("a whole reply is cut where neither its report nor a tokenizer explains its length, and says what was charged (table)", async () => {
  const rows: readonly (readonly [
    counted: number,
    usage: Usage | undefined,
    body: object,
    charged: number,
  ])[] = [
    [50, usageOf(40), { tokens: 50 }, 40],
    [161, usageOf(100), { tokens: 161 }, 100],
    [160, usageOf(101), { tokens: 160, told: 100 }, 100],
    [161, usageOf(101), { tokens: 160, told: 100, isCut: true }, 100],
    [90, usageOf(101), { tokens: 90, told: 90 }, 90],
    [160, undefined, { tokens: 160, told: 100 }, 100],
    [161, undefined, { tokens: 160, told: 100, isCut: true }, 100],
    [50, undefined, { tokens: 50, told: 50 }, 50],
  ];
  for (const [counted, usage, body, charged] of rows) {
    const { respond, ends, heard } = scene();
    const reply = await respond(wholeOf(counted, usage));
    const text = `${counted} ${usage?.outputTokens}`;
    assertEquals(JSON.parse(String(reply.body)), body, text);
    assertEquals(ends.map((end) => [end.ending, end.usage?.outputTokens]), [["complete", charged]]);
    assertEquals([heard[0], heard.at(-1)], ["began", "end"], text);
  }
});

Deno.test("what a reply reports of input is learned if all of it is text and believed; its target hears of what is not (table)", async () => {
  const rows: readonly (readonly [
    usage: Usage | undefined,
    isText: boolean,
    heard: readonly string[],
  ])[] = [
    [usageOf(40), true, ["used 1040", "learned 1000"]],
    [usageOf(40, 0, 4_000), true, ["used 4040", "learned 4000"]],
    [usageOf(40), false, ["used 1040"]],
    [undefined, true, []],
    [usageOf(101), true, ["departed"]],
    [usageOf(40, 0, 4_001), true, ["departed"]],
  ];
  for (const [usage, isText, expected] of rows) {
    const { respond, heard } = scene({ isText });
    await respond(wholeOf(50, usage));
    assertEquals(heard.slice(1, -1), [...expected], JSON.stringify(usage));
  }
});

Deno.test("no report beyond twice the context is believed, for each choice", async () => {
  for (
    const [inputTokens, n, departs] of [
      [10_000, 1, false],
      [10_001, 1, true],
      [10_001, 2, false],
    ] as const
  ) {
    const input = { tokens: 4_000, isText: true } as GenerationRequest["input"];
    const { respond, heard } = scene({ request: { n }, options: { input } });
    await respond(wholeOf(50, usageOf(40, 0, inputTokens)));
    assertEquals(heard.includes("departed"), departs, `${inputTokens} ${n}`);
  }
});

Deno.test("a model that reports reasoning which nothing shows is known to hide it, and pays for it when it is cut short (table)", async () => {
  const rows: readonly (readonly [
    shown: number,
    usage: Usage,
    mayReason: boolean,
    isHiding: boolean,
  ])[] = [
    [50, usageOf(80, 60), false, true],
    [50, usageOf(80, 61), false, false],
    [51, usageOf(80, 60), false, false],
    [50, usageOf(80, 60), true, false],
    [10, usageOf(80, 0), false, false],
    [80, usageOf(80, 0), false, false],
  ];
  for (const [shown, usage, mayReason, isHiding] of rows) {
    const { respond, hidingModels } = scene({ options: { mayReason } });
    await respond(wholeOf(shown, usage));
    assertEquals(hidingModels.has("m"), isHiding, `${shown} ${JSON.stringify(usage)} ${mayReason}`);
  }
});

Deno.test("the items of a whole reply are kept after it is settled, if it has such", async () => {
  const { respond, heard, ends } = scene({
    options: { keepItems: () => (heard.push(`kept after ${ends.length}`), Promise.resolve()) },
  });
  await respond(wholeOf(50, undefined, { outputItems: [{}] }));
  assertEquals(heard, ["began", "kept after 1", "end"]);
});

/** A stream of some pieces of a token each, which breaks off behind them. */
function streamOf(pieces: readonly string[]): OpenedReply {
  const left = [...pieces];
  let tokens = 0;
  const reader: TextReader = {
    requests: 1,
    outputLimit: 1_000,
    atLimit: false,
    finished: false,
    get reply() {
      return { hasOutput: tokens > 0, countedOutput: tokens } as Partial<ReplyState> as ReplyState;
    },
    next() {
      if (left.length === 0) return Promise.reject(brokenOff());
      tokens++;
      return Promise.resolve(left.shift()!);
    },
    close() {},
  };
  return { kind: "stream", reader, choices: 1, discard() {}, drain() {} };
}

Deno.test("a target hears of a stream that broke if all of it was its own, with the gateway's key", async () => {
  for (
    const [n, ownKey, heard] of [
      [1, undefined, ["began", "broke", "end"]],
      [2, undefined, ["began", "end"]],
      [1, { owner: "team" } as OwnKey, ["began", "end"]],
    ] as const
  ) {
    const one = scene({ request: { n }, ...(ownKey && { ownKey }) });
    const { body, settled } = await one.respond(streamOf(["a"]));
    assertEquals(settled, undefined);
    assertEquals((await new Response(body).text()).startsWith("adata: "), true);
    assertEquals(one.heard, [...heard], `${n} ${ownKey?.owner}`);
  }
});

Deno.test("reasoning that may be hidden is charged when a client leaves: what the route says, or what was found", async () => {
  for (
    const [mayReason, hides, charged] of [
      [false, false, 1],
      [true, false, 100],
      [false, true, 100],
    ] as const
  ) {
    const one = scene({ options: { mayReason }, hides });
    const { body } = await one.respond(streamOf(["a", "b", "c"]));
    const reader = (body as ReadableStream<Uint8Array>).getReader();
    await reader.read();
    await reader.cancel();
    assertEquals(one.ends.map(({ usage }) => usage?.outputTokens), [charged]);
  }
});

Deno.test("a request without images has none fetched; one with images has", async () => {
  await scene().generation.inlineImages();
  const url = "https://example.com/a.png";
  const messages = [{ role: "user", content: [{ type: "image_url", image_url: { url } }] }];
  const { generation } = scene({ request: { messages } });
  await assertRejects(() => generation.inlineImages(), Error, "there are no images");
});

Deno.test("a request says what it accepts, and asks for its choices as its target takes them, for further ones one by one", async () => {
  for (
    const [stream, accept, unstreamedTokens] of [
      [false, "application/json", 80],
      [true, "text/event-stream", 0],
    ] as const
  ) {
    const written: string[] = [];
    const plan = {
      target: { upstream: "up", model: "m" },
      upstream: {
        dialect: "chat",
        pathFor: () => undefined,
        health: { singleChoiceModels: new Set() },
      },
      variant: () => "variant",
      single: () => "single",
      write: (request: unknown) => (written.push(String(request)), { body: {} }),
    } as unknown as Plan;
    const exchanges: [string, unknown, number, number][] = [];
    const send = (exchange: Exchange<Plan, Opened>) => {
      const { path, headers } = exchange.write(plan, undefined);
      exchanges.push([path, headers.accept, exchange.unstreamedTokens, exchange.tokens]);
      if (exchanges.length > 1) return Promise.reject(new Error("no more"));
      const opened = stream ? streamOf(["a"]) : wholeOf(1);
      return Promise.resolve({ opened: { opened }, plan, attempts: 1, outcomes: undefined });
    };
    const { generation } = scene({
      request: { n: 2, stream },
      options: { detached: { reattach: (text: string) => text } } as never,
      upstreams: { route: () => ({}), send },
    });
    await assertRejects(() => generation.send(), Error, "no more");
    const sent = ["/chat/completions", accept, unstreamedTokens, INPUT + 2 * 80] as const;
    assertEquals(exchanges, [[...sent], [...sent]]);
    assertEquals(written, ["variant", "single"]);
  }
});
