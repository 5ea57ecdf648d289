import { Refusal } from "../../../src/ground/refusal.ts";
import { readWhole } from "../../../src/requests/relay/read_whole.ts";
import { assertEquals, assertRejects } from "../../assert.ts";

function read(pieces: readonly string[], bytes = 2_000): Promise<unknown> {
  const left = pieces.map((piece) => new TextEncoder().encode(piece));
  return readWhole({ body: { read: () => Promise.resolve(left.shift()) } }, { bytes, values: 500 });
}

Deno.test("a whole reply is JSON, without an end mark; of a list of one object, that (table)", async () => {
  const rows: readonly (readonly [text: string, read: unknown])[] = [
    ['{"a":1}', { a: 1 }],
    ['{"a":1}\ndata: [DONE]', { a: 1 }],
    ['{"a":1}\n\ndata:[DONE]\n\n', { a: 1 }],
    ['"data: [DONE]"', "data: [DONE]"],
    ['[{"error":{}}]', { error: {} }],
    ['[{"a":1},{"b":2}]', [{ a: 1 }, { b: 2 }]],
    ["[5]", [5]],
    ["[]", []],
    ["null", null],
    ['{"0":{"a":1},"length":1}', { 0: { a: 1 }, length: 1 }],
  ];
  for (const [text, expected] of rows) {
    assertEquals(await read([text.slice(0, 3), text.slice(3)]), expected, text);
  }
});

Deno.test("a whole reply has as many bytes as it may, and is UTF-8 and JSON", async () => {
  assertEquals(await read(['{"a":', "12}"], 8), { a: 12 });
  const failed = async (text: string, bytes?: number) => {
    const { reason, message, ofThisRequest } = await assertRejects(
      () => read([text], bytes),
      Refusal,
    );
    return [reason, message.replace("The upstream's response cannot be used: ", ""), ofThisRequest];
  };
  const reason = "upstream_unavailable";
  assertEquals(await failed('{"a":123}', 8), [reason, "it has more than 8 bytes.", true]);
  assertEquals(await failed("{"), [reason, "it is not JSON.", false]);
  assertEquals(await failed(`[${"0,".repeat(499)}0]`), [
    reason,
    "it has too many JSON values.",
    true,
  ]);
  assertEquals((await read([`[${"0,".repeat(498)}0]`]) as unknown[]).length, 499);
});
