import { assertGrowsLinearly } from "../../growth.ts";
import {
  readTurnFrame,
  streamIdOf,
  turnBody,
} from "../../../src/wire/dialects/responses/socket/frame.ts";
import { TurnEvents } from "../../../src/wire/dialects/responses/socket/events.ts";
import { Refusal } from "../../../src/ground/refusal.ts";
import { assertEquals, assertThrows } from "../../assert.ts";
import { Random } from "../../fake/random.ts";
import { PROOF } from "../../tier.ts";

const decoder = new TextDecoder();
const encoder = new TextEncoder();
const bodyOf = (text: string, earlier: string[] = []) =>
  turnBody(readTurnFrame(text), earlier.map((one) => encoder.encode(one)))
    .map((piece) => decoder.decode(piece)).join("");

Deno.test("a frame becomes the body of a request: without what is the frame's own, streamed, otherwise as it came", () => {
  const frame =
    `  { "type" : "response.create" , "model":"m", "input" : [ {"role":"user","content":"}],\\"" } ] ,
    "temperature": 12345678901234567890, "stream":false,"previous_response_id":null, "tools":[]} `;
  assertEquals(
    bodyOf(frame),
    `{"stream":true,"model":"m","temperature":12345678901234567890,"tools":[],"input":[ {"role":"user","content":"}],\\"" } ]}`,
  );
  assertEquals(readTurnFrame(frame).previousId, undefined);
  assertEquals(bodyOf(`{"type":"response.create"}`), `{"stream":true}`);
  assertEquals(readTurnFrame(`{"type":"response.create","generate":false}`).generates, false);
  assertEquals(readTurnFrame(`{"type":"response.create","generate":null}`).generates, true);
});

Deno.test("a continuation has the earlier items before its own", () => {
  const frame = (input: string) =>
    `{"type":"response.create","previous_response_id":"resp_1","input":${input},"model":"m"}`;
  assertEquals(
    JSON.parse(bodyOf(frame(`[{"id":"c"}]`), [`{"id":"a"}`, "", `{"id":"b"}`])).input,
    [{ id: "a" }, { id: "b" }, { id: "c" }],
  );
  assertEquals(JSON.parse(bodyOf(frame("[]"), [`{"id":"a"}`])).input, [{ id: "a" }]);
  assertEquals(JSON.parse(bodyOf(frame(`"Go on \\" ]"`), [`{"id":"a"}`])).input, [
    { id: "a" },
    { type: "message", role: "user", content: 'Go on " ]' },
  ]);
  assertThrows(() => bodyOf(frame("7"), [`{"id":"a"}`]), Refusal);
  assertEquals(
    JSON.parse(bodyOf(`{"type":"response.create","previous_response_id":"r"}`, [`{"id":"a"}`]))
      .input,
    [{ id: "a" }],
  );
});

Deno.test("what is no frame is rejected, whatever it is", () => {
  for (
    const text of [
      "",
      " ",
      "{",
      "[]",
      "null",
      "{}",
      `"x"`,
      `{"type":"response.create"`,
      `{"type":"response.create"} x`,
      `{"type":"response.create",}`,
      `{"type":"response.create","a"}`,
      `{"type":"response.create","a":}`,
      `{"type":"response.create","a":,"b":1}`,
      `{"type":"response.create","a":"x}`,
      `{"type":"response.create","a":"x\\"}`,
      `{"type":"response.create","\\x":1}`,
      `{"type":"response.cancel"}`,
      `{"type":7}`,
      `{"type":{}}`,
      `{"type":"response.create","previous_response_id":7}`,
      `{"type":"response.create","previous_response_id":x}`,
      `{"type":"response.create","stream_id":7}`,
      `{"type":"response.create","stream_id":""}`,
      `{"type":"response.create","stream_id":"a b"}`,
      `{"type":"response.create","stream_id":"${"x".repeat(257)}"}`,
      `{"type":"response.create","stream_id":"${"x".repeat(20_000)}"}`,
      `{"type":"response.create"]`,
    ]
  ) {
    assertThrows(() => readTurnFrame(text), Refusal);
  }
});

Deno.test("a frame that cannot be read tells its line all the same, if it has one", () => {
  assertEquals(streamIdOf(`{"type":7,"stream_id":"a.b"}`), "a.b");
  for (const json of ["", "null", "7", '"', '"a b"', `"${"x".repeat(257)}"`]) {
    assertEquals(streamIdOf(`{"type":"response.create","stream_id":${json}}`), undefined, json);
  }
  for (const text of ["", "[]", "{}"]) assertEquals(streamIdOf(text), undefined);
});

Deno.test("any JSON object keeps its meaning, however it is written", () => {
  const seed = Number(Deno.env.get("SLUICE_TEST_SEED") ?? Date.now());
  const source = new Random(seed);
  const random = () => source.next();
  const value = (depth: number): unknown => {
    const kind = Math.floor(random() * (depth > 3 ? 4 : 6));
    if (kind === 0) return Math.floor(random() * 1e6) / 100;
    if (kind === 1) return random() < 0.5;
    if (kind === 2) return null;
    const text = Array.from(
      { length: Math.floor(random() * 6) },
      () => '"\\{}[],: aé😀\n\u0000'.split("")[Math.floor(random() * 14)],
    ).join("");
    if (kind === 3) return text;
    const count = Math.floor(random() * 4);
    if (kind === 4) return Array.from({ length: count }, () => value(depth + 1));
    return Object.fromEntries(
      Array.from({ length: count }, (_, at) => [`${text}${at}`, value(depth + 1)]),
    );
  };
  for (let round = 0; round < 500; round++) {
    const members = {
      type: "response.create",
      input: [value(1), value(1)],
      a: value(0),
      b: value(0),
    };
    const text = JSON.stringify(members, null, round % 3);
    const { type: _, ...expected } = members;
    assertEquals(JSON.parse(bodyOf(text)), { stream: true, ...expected });
    const continued = `{"previous_response_id":"r",${text.trim().slice(1)}`;
    assertEquals(JSON.parse(bodyOf(continued, [`"earlier"`])).input, [
      "earlier",
      ...expected.input,
    ]);
  }
});

for (const piece of ["[", "{", '"\\\\', "1,", " ", '\\"', '"",']) {
  const hostile = (size: number) => {
    const text = `{"type":"response.create","input":[${piece.repeat(size / piece.length)}`;
    return () => void assertThrows(() => readTurnFrame(text), Refusal);
  };

  Deno.test(`a hostile frame of 16 MB is refused: ${piece}`, () => hostile(16 * 1_048_576)());

  Deno.test(`a hostile frame is looked through once: ${piece}`, PROOF, () => {
    assertGrowsLinearly(16 * 1_048_576, hostile);
  });
}

Deno.test("the events of a stream become frames, however its bytes are cut", () => {
  const event = (type: string, more: object) =>
    `event: ${type}\ndata: ${JSON.stringify({ type, ...more })}\n\n`;
  const response = { id: "resp_2", status: "in_progress", previous_response_id: null, output: [] };
  const output = [{ id: "msg_1", content: "Hé😀 event: response.completed\n\n" }];
  const stream = event("response.created", { response }) + ": ping\n\n" +
    event("response.output_text.delta", { delta: "Hé😀 data: x" }) +
    event("response.completed", { response: { ...response, status: "completed", output } }) +
    "data: [DONE]\n\n";
  const bytes = encoder.encode(stream);
  for (let size = 1; size < 40; size++) {
    const events = new TurnEvents("resp_1");
    const frames: string[] = [];
    for (let at = 0; at < bytes.length; at += size) {
      frames.push(...events.push(bytes.subarray(at, at + size)));
    }
    const parsed = frames.map((frame) => JSON.parse(frame));
    assertEquals(parsed.map(({ type }) => type), [
      "response.created",
      "response.output_text.delta",
      "response.completed",
    ]);
    assertEquals(parsed[0].response.previous_response_id, "resp_1");
    assertEquals(parsed[1].delta, "Hé😀 data: x");
    const { id, isComplete, items } = events.ended!;
    assertEquals([id, isComplete, JSON.parse(`[${decoder.decode(items)}]`)], [
      "resp_2",
      true,
      output,
    ]);
  }
  const likely = [{ token: "Hi", logprob: -0.5, bytes: [72, 105], top_logprobs: [] }];
  const text = { type: "output_text", text: "Hi", annotations: [], logprobs: likely };
  const told = new TurnEvents(undefined);
  told.push(
    encoder.encode(
      event("response.completed", {
        response: { id: "r", status: "completed", output: [{ type: "message", content: [text] }] },
      }),
    ),
  );
  assertEquals(
    JSON.parse(decoder.decode(told.ended!.items)),
    { type: "message", content: [{ ...text, logprobs: [] }] },
    "no model reads probabilities",
  );
  const failed = new TurnEvents(undefined);
  failed.push(
    encoder.encode(event("response.failed", { response: { id: "r", status: "failed" } })),
  );
  assertEquals(failed.ended?.isComplete, false);
});
