/** Bodies of messages for a cloud: the version and beta features in the body, and nothing of them in headers. */

import {
  withBetasInBody,
  withVersion,
} from "../../../../src/requests/upstreams/clouds/body_version.ts";
import type { UpstreamRequest } from "../../../../src/requests/upstreams/transport.ts";
import type { ChunkedBody } from "../../../../src/wire/large_bodies/mod.ts";
import { assertEquals } from "../../../assert.ts";

const encoder = new TextEncoder();

function chunked(...pieces: readonly string[]): ChunkedBody {
  const chunks = pieces.map((one) => encoder.encode(one));
  return {
    size: chunks.reduce((sum, { length }) => sum + length, 0),
    [Symbol.asyncIterator]: () => ReadableStream.from(chunks)[Symbol.asyncIterator](),
  };
}

async function textOf(body: UpstreamRequest["body"]): Promise<string | undefined> {
  if (typeof body !== "object") return body;
  const chunks = await Array.fromAsync(body);
  const text = chunks.map((one) => new TextDecoder().decode(one)).join("");
  assertEquals(body.size, encoder.encode(text).length, "its size is right");
  return text;
}

Deno.test("the version is in the body, and what the cloud does not take is left out", () => {
  const body = { model: "m", stream: true, max_tokens: 5 };
  assertEquals(withVersion(body, "v", []), { anthropic_version: "v", stream: true, max_tokens: 5 });
  assertEquals(withVersion(body, "v", ["stream"]), { anthropic_version: "v", max_tokens: 5 });
});

Deno.test("beta features that a request asks for are in its body, whole or in chunks (table)", async () => {
  for (
    const [betas, body, expected] of [
      [undefined, '{"a":1}', '{"a":1}'],
      ["x", '{"a":1}', '{"anthropic_beta":["x"],"a":1}'],
      [" x , y,", '{"a":1}', '{"anthropic_beta":["x","y"],"a":1}'],
      ["x", undefined, undefined],
      [undefined, chunked('{"a"', ":1}"), '{"a":1}'],
      ["é", chunked('{"a"', ":1", "}"), '{"anthropic_beta":["é"],"a":1}'],
    ] as const
  ) {
    let sent: UpstreamRequest | undefined;
    const send = withBetasInBody((request) => {
      sent = request;
      return Promise.reject(new Error("sent"));
    });
    await send({
      path: "/p",
      headers: {
        "anthropic-version": "1",
        other: "2",
        ...(betas !== undefined && { "anthropic-beta": betas }),
      },
      body,
      signal: new AbortController().signal,
    }).catch(() => {});
    assertEquals([await textOf(sent!.body), sent!.headers], [expected, { other: "2" }]);
  }
});
