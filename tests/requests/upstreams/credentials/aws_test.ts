/** Keys that AWS gives for a role: used until they end, and for good where it does not say when that is. */

import { AwsCredentials } from "../../../../src/requests/upstreams/credentials/aws.ts";
import type { ChunkedBody } from "../../../../src/wire/large_bodies/mod.ts";
import { Secret } from "../../../../src/settings/config/mod.ts";
import { assertEquals, assertNotEquals, assertStringIncludes } from "../../../assert.ts";

const NOW = Date.UTC(2026, 4, 1);
const REQUEST = {
  method: "POST" as const,
  url: "https://example.com/model/m/invoke",
  headers: {},
  body: "{}",
};

Deno.test("keys of a role are got again before they end, and once where no end is said or it is none (table)", async () => {
  let ends: string | undefined;
  let asked = 0;
  await using server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, () => {
    asked++;
    const end = ends === undefined ? "" : `<Expiration>${ends}</Expiration>`;
    return new Response(
      `<R><Credentials><AccessKeyId>AKID${asked}</AccessKeyId><SecretAccessKey>sec</SecretAccessKey>` +
        `<SessionToken>ses</SessionToken>${end}</Credentials></R>`,
    );
  });
  const cases: readonly (readonly [ends: string | undefined, laterMs: number, asks: number])[] = [
    [undefined, 100 * 86_400_000, 1],
    ["never", 100 * 86_400_000, 1],
    [new Date(NOW + 3_600_000).toISOString(), 3_000_000, 1],
    [new Date(NOW + 3_600_000).toISOString(), 3_600_001, 2],
  ];
  for (const [end, laterMs, asks] of cases) {
    ends = end;
    asked = 0;
    let nowMs = NOW;
    const credentials = new AwsCredentials({
      kind: "aws",
      accessKeyId: new Secret("AKIDOWN"),
      secretAccessKey: new Secret("own-secret"),
      roleArn: "arn:aws:iam::1:role/r",
      tokenUrl: `http://127.0.0.1:${server.addr.port}`,
    }, { region: "eu-west-1", service: "bedrock", now: () => nowMs });
    const used = async () => (await credentials.headersFor(REQUEST)).authorization;
    assertStringIncludes((await used())!, "Credential=AKID1/");
    nowMs += laterMs;
    assertStringIncludes((await used())!, `Credential=AKID${asks}/`);
    assertEquals(asked, asks, `ends: ${end}, ${laterMs} ms later`);
  }
});

Deno.test("a body is signed alike, whole or in chunks", async () => {
  const credentials = new AwsCredentials({
    kind: "aws",
    accessKeyId: new Secret("AKIDOWN"),
    secretAccessKey: new Secret("own-secret"),
  }, { region: "eu-west-1", service: "bedrock", now: () => NOW });
  const chunks = ["caf", "é 🎉", ""].map((one) => new TextEncoder().encode(one));
  const chunked = {
    size: chunks.reduce((sum, one) => sum + one.length, 0),
    [Symbol.asyncIterator]: () => ReadableStream.from(chunks)[Symbol.asyncIterator](),
  };
  const signed = async (body: string | ChunkedBody) =>
    await credentials.headersFor({ ...REQUEST, body });
  assertEquals(await signed(chunked), await signed("café 🎉"));
  assertNotEquals(await signed(chunked), await signed("cafe 🎉"));
});
