import fc from "fast-check";
import { SseDecoder, type SseEvent, StreamFault } from "../../../src/wire/dialects/mod.ts";
import { assertEquals, assertThrows } from "../../assert.ts";
import { assertGrowsLinearly } from "../../growth.ts";
import { PROOF } from "../../tier.ts";

const encoder = new TextEncoder();

function decode(...pieces: Uint8Array[]): SseEvent[] {
  const decoder = new SseDecoder();
  return pieces.flatMap((piece) => decoder.push(piece));
}

function datas(text: string): string[] {
  return decode(encoder.encode(text)).map(({ data }) => data);
}

const FRAMINGS: readonly { text: string; events: string[]; why: string }[] = [
  { text: "data: a\n\ndata: b\n\n", events: ["a", "b"], why: "line feeds" },
  { text: "data: a\r\n\r\ndata: b\r\n\r\n", events: ["a", "b"], why: "carriage return, line feed" },
  { text: "data: a\r\rdata: b\r\r", events: ["a", "b"], why: "carriage returns alone" },
  { text: "data: a\n\r\ndata: b\r\n\n", events: ["a", "b"], why: "mixed line ends" },
  { text: "data:a\n\n", events: ["a"], why: "no space after the colon" },
  { text: "data:  a\n\n", events: [" a"], why: "only one space is taken" },
  { text: "data: a\ndata: b\n\n", events: ["a\nb"], why: "two data lines are one event" },
  { text: ": hello\n\ndata: a\n\n: bye\n\n", events: ["a"], why: "comments" },
  { text: "data:\n\ndata: a\n\n", events: ["a"], why: "an empty data line says nothing" },
  { text: "data\n\ndata: a\n\n", events: ["a"], why: "a field without a colon" },
  { text: "id: 1\nretry: 5\nfoo: x\ndata: a\n\n", events: ["a"], why: "other fields" },
  { text: "\uFEFFdata: a\n\n", events: ["a"], why: "a byte order mark" },
  { text: "data: a\n\ndata: b", events: ["a"], why: "an event that is not ended is none" },
  { text: "\n\n\ndata: a\n\n\n\n", events: ["a"], why: "empty lines in between" },
  { text: 'data: {"a":"\u0000"}\n\n', events: ['{"a":"\u0000"}'], why: "a NUL" },
];

for (const { text, events, why } of FRAMINGS) {
  Deno.test(`SseDecoder reads ${why}`, () => assertEquals(datas(text), events));
}

Deno.test("SseDecoder keeps the event's name until its end", () => {
  const [first, second] = decode(encoder.encode("event: ping\ndata: {}\n\ndata: x\n\n"));
  assertEquals([first!.event, second!.event], ["ping", "message"]);
});

Deno.test("SseDecoder gives the same events for every single cut", () => {
  const text =
    "event: a\r\ndata: ¡Grüße, 世界! 👩‍👩‍👧\r\n\r\n: c\n\ndata: 1\rdata: 2\r\rdata: [DONE]\n\n";
  const bytes = encoder.encode(text);
  const whole = decode(bytes);
  assertEquals(whole.length, 3);
  for (let cut = 0; cut <= bytes.length; cut++) {
    assertEquals(decode(bytes.subarray(0, cut), bytes.subarray(cut)), whole, `cut at ${cut}`);
  }
  assertEquals(
    decode(...Array.from(bytes, (_, at) => bytes.subarray(at, at + 1))),
    whole,
    "byte by byte",
  );
});

Deno.test("SseDecoder gives the same events however the bytes are cut (property)", () => {
  const line = fc.oneof(
    fc.string({ unit: "grapheme" }).map((text) => `data: ${text.replaceAll(/[\r\n]/g, "")}`),
    fc.constantFrom("", "", ": comment", "event: x", "data:", "id: 3", "data"),
  );
  const stream = fc.array(fc.tuple(line, fc.constantFrom("\n", "\r\n", "\r")))
    .map((lines) => lines.map(([text, end]) => text + end).join(""));
  fc.assert(
    fc.property(stream, fc.array(fc.nat()), (text, cuts) => {
      const bytes = encoder.encode(text);
      const at = [...new Set(cuts.map((cut) => cut % (bytes.length + 1)))].sort((a, b) => a - b);
      const pieces = [0, ...at].map((start, index) =>
        bytes.subarray(start, [...at, bytes.length][index])
      );
      assertEquals(decode(...pieces), decode(bytes));
    }),
    { numRuns: 500 },
  );
});

Deno.test("SseDecoder refuses an event that grows without end", () => {
  const decoder = new SseDecoder();
  const piece = encoder.encode(`data: ${"x".repeat(1_048_576)}`);
  assertThrows(() => {
    for (let index = 0; index < 20; index++) decoder.push(piece);
  }, StreamFault);
  const lines = new SseDecoder();
  const line = encoder.encode(`data: ${"x".repeat(65_536)}\n`);
  assertThrows(() => {
    for (let index = 0; index < 300; index++) lines.push(line);
  }, StreamFault);
});

/** A line in pieces of 64 characters. */
function longLine(pieces: number): SseEvent[] {
  const decoder = new SseDecoder();
  const piece = encoder.encode("x".repeat(64));
  decoder.push(encoder.encode("data: "));
  for (let index = 0; index < pieces; index++) decoder.push(piece);
  return decoder.push(encoder.encode("\n\n"));
}

Deno.test("SseDecoder joins a line that comes in 200,000 pieces", () => {
  const [event] = longLine(200_000);
  assertEquals(event!.data.length, 12_800_000);
});

Deno.test("SseDecoder takes linear time for a line that comes in many pieces", PROOF, () => {
  assertGrowsLinearly(200_000, (pieces) => () => void longLine(pieces));
});
