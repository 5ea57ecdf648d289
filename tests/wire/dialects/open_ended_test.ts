import { isOpenEnded } from "../../../src/wire/dialects/mod.ts";
import type { ImageView, JsonObject } from "../../../src/wire/dialects/mod.ts";
import { assertEquals } from "../../assert.ts";

const PDF = `data:application/pdf;base64,${btoa("%PDF-1.7 one page")}`;
const PNG = "data:image/png;base64,iVBORw0KGgo=";
const chat = (part: JsonObject) => ({ messages: [{ role: "user", content: [part] }] });
const input = (part: JsonObject) => ({ input: [{ role: "user", content: [part] }] });

/** Only the upstream gets to know how long these are. */
const OPEN: Record<string, JsonObject> = {
  "a PDF in chat": chat({ type: "file", file: { filename: "a.pdf", file_data: PDF } }),
  "a PDF in messages": chat({
    type: "document",
    source: { type: "base64", media_type: "application/pdf", data: PDF.slice(28) },
  }),
  "a document at an address": chat({
    type: "document",
    source: { type: "url", url: "https://example.com/a.pdf" },
  }),
  "a file at an address": input({ type: "input_file", file_url: "https://example.com/a.pdf" }),
  "a file of the provider's": input({ type: "input_file", file_id: "file-1" }),
  "an image of the provider's": input({ type: "input_image", file_id: "file-1" }),
  "an image that nobody looked at": chat({ type: "image_url", image_url: { url: "gs://a/b.png" } }),
  "a part of an unknown kind": chat({ type: "video_url", video_url: { url: "x" } }),
  "a part in a result of a tool": {
    messages: [{
      role: "user",
      content: [{
        type: "tool_result",
        content: [{ type: "document", source: { type: "url", url: "https://example.com/a.pdf" } }],
      }],
    }],
  },
  "attachments in a field that no dialect has": {
    messages: [],
    attachments: [{ name: "a", url: "https://example.com/a.pdf" }],
  },
  "an address in a field that no dialect has": {
    messages: [],
    context_documents: ["s3://bucket/a.pdf"],
  },
  "sound at an address": chat({
    type: "input_audio",
    input_audio: { data: "https://example.com/a.mp3", format: "mp3" },
  }),
  "sound at an address, as a text": chat({
    type: "input_audio",
    input_audio: "https://a.example/b",
  }),
  "a file as a text": chat({ type: "file", file: "https://example.com/a.pdf" }),
  "a file's data under another spelling": chat({ type: "file", file: { fileData: PDF } }),
  "a file beside an image": input({
    type: "input_image",
    image_url: PNG,
    file_url: "https://example.com/a.pdf",
  }),
  "a file in a citation": chat({ type: "url_citation", url: "https://a.example", file_data: PDF }),
  "an item of an unknown kind": { input: [{ type: "video_call", id: "a" }] },
  "a system prompt's document": {
    system: [{ type: "document", source: { type: "url", url: "https://example.com/a.pdf" } }],
    messages: [],
  },
};

/** These are counted here. */
const COUNTED: Record<string, JsonObject> = {
  "a text": { messages: [{ role: "user", content: "https://example.com/a.pdf" }] },
  "a text that names an address": chat({ type: "text", text: "see https://example.com/a.pdf" }),
  "a document of text": chat({
    type: "document",
    source: { type: "text", media_type: "text/plain", data: "words" },
  }),
  "an address in a tool, a setting or a text of an unknown field": {
    messages: [],
    tools: [{
      type: "function",
      function: { name: "f", parameters: { url: "https://example.com" } },
    }],
    metadata: { url: "https://example.com/a.pdf" },
    note: "https://example.com/a.pdf",
  },
  "sound": chat({ type: "input_audio", input_audio: { format: "wav", data: "UklGRg==" } }),
  "arguments of a call": {
    messages: [{
      role: "assistant",
      content: [{ type: "tool_use", id: "a", name: "get", input: { type: "x", file_id: "y" } }],
    }],
  },
  "a search result": chat({
    type: "search_result",
    source: "https://example.com/a",
    title: "A",
    content: [{ type: "text", text: "words" }],
  }),
  "a citation": chat({
    type: "output_text",
    text: "words",
    annotations: [{ type: "url_citation", url: "https://example.com", start_index: 0 }],
  }),
  "a citation in an object of its own": {
    messages: [{
      role: "assistant",
      content: "words",
      annotations: [{
        type: "url_citation",
        url_citation: { url: "https://example.com", title: "A" },
      }],
    }],
  },
  "a list of something else than parts": chat({
    type: "output_text",
    text: "words",
    annotations: [{ type: "of_tomorrow", note: "words" }],
  }),
  "who called a tool": {
    messages: [{
      role: "assistant",
      content: [{ type: "tool_use", id: "a", name: "get", input: {}, caller: { type: "direct" } }],
    }],
  },
  "what was searched for": {
    input: [{
      type: "web_search_call",
      id: "ws_1",
      status: "completed",
      action: {
        type: "search",
        query: "x",
        sources: [{ type: "url", url: "https://example.com" }],
      },
    }],
  },
  "calls of a shell": {
    input: [
      { type: "local_shell_call", call_id: "a", action: { type: "exec", command: ["ls"] } },
      { type: "apply_patch_call", call_id: "b", operation: { type: "update_file", path: "a" } },
    ],
  },
  "sealed reasoning": chat({ type: "thinking", thinking: "words", signature: "abc=" }),
  "tools and settings": {
    messages: [],
    tools: [{ type: "custom_kind", file_id: "x" }],
    metadata: { url: "https://example.com" },
  },
};

for (const [name, body] of Object.entries(OPEN)) {
  Deno.test(`open-ended: ${name}`, () => assertEquals(isOpenEnded(body, []), true));
}

for (const [name, body] of Object.entries(COUNTED)) {
  Deno.test(`not open-ended: ${name}`, () => assertEquals(isOpenEnded(body, []), false));
}

Deno.test("an image that is counted by its size is not open-ended, in any dialect", () => {
  const views: [JsonObject, string][] = [
    [chat({ type: "image_url", image_url: { url: PNG } }), "messages[0].content[0].image_url.url"],
    [
      chat({ type: "image", source: { type: "base64", media_type: "image/png", data: "iVBO" } }),
      "messages[0].content[0].source.data",
    ],
    [
      chat({ type: "image", source: { type: "url", url: "https://example.com/a.png" } }),
      "messages[0].content[0].source.url",
    ],
    [input({ type: "input_image", image_url: PNG }), "input[0].content[0].image_url"],
  ];
  for (const [body, param] of views) {
    const image: ImageView = { param, source: "inline", url: PNG };
    assertEquals(isOpenEnded(body, [image]), false, param);
    assertEquals(isOpenEnded(body, []), true, param);
  }
});
