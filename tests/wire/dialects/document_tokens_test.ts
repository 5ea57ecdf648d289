import { type JsonObject } from "../../../src/wire/dialects/mod.ts";
import { countInput, parseChat, parseMessages } from "./ends.ts";
import { assert, assertEquals } from "../../assert.ts";

const PAGE = "<< /Type /Page /Parent 2 0 R >>";
const DOCUMENTS = [
  {
    why: "a PDF of three pages",
    bytes:
      `%PDF-1.4\n<< /Type /Pages /Count 3 >>\n${PAGE}\n<</Type/Page/Resources <<>> >>\n${PAGE}`,
    tokens: 4_500,
  },
  {
    why: "a linearised PDF",
    bytes: `%PDF-1.5\n<< /Linearized 1 /L 9 /N 12 >>\n${PAGE}`,
    tokens: 18_000,
  },
  {
    why: "a PDF whose pages stand in compressed objects",
    bytes: "%PDF-1.7\n/ObjStm",
    tokens: 1_500,
  },
  { why: "a text", bytes: "x".repeat(4_000), tokens: 1_000 },
  {
    why: "more names than any document has",
    bytes: `%PDF-${PAGE.repeat(20_000)}`,
    tokens: 15_000_000,
  },
] as const;

for (const { why, bytes, tokens } of DOCUMENTS) {
  Deno.test(`a document's tokens, in either dialect: ${why}`, () => {
    const data = btoa(bytes);
    const chat = (file_data: string) =>
      countInput(parseChat({
        model: "m",
        messages: [{
          role: "user",
          content: [{ type: "file", file: { filename: "a.pdf", file_data } }],
        }],
      }));
    const source = { type: "base64", media_type: "application/pdf", data };
    const messages = (content: JsonObject[]) =>
      countInput(parseMessages({
        model: "m",
        max_tokens: 9,
        messages: [{ role: "user", content }],
      }));
    const document = { type: "document", source };
    for (
      const counted of [
        chat(`data:application/pdf;base64,${data}`),
        chat(data),
        messages([document]),
        messages([{ type: "tool_result", tool_use_id: "a", content: [document] }]),
      ]
    ) assert(counted >= tokens && counted < tokens + 20, `${counted}`);
  });
}

Deno.test("a document at an address counts as one page", () => {
  const source = { type: "url", url: "https://host.example/a.pdf" };
  const asked = parseMessages({
    model: "m",
    max_tokens: 9,
    messages: [{ role: "user", content: [{ type: "document", source }] }],
  });
  assertEquals(Math.floor((countInput(asked) - 1_500) / 20), 0);
});
