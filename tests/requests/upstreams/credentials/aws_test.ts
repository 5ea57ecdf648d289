/** Keys that AWS gives for a role: used until they end, and for good where it does not say when that is. */

import { AwsCredentials } from "../../../../src/requests/upstreams/credentials/aws.ts";
import type { ChunkedBody } from "../../../../src/wire/large_bodies/mod.ts";
import { Secret } from "../../../../src/settings/config/mod.ts";
import { CredentialsFault } from "../../../../src/requests/upstreams/credentials/credentials.ts";
import {
  assertEquals,
  assertNotEquals,
  assertRejects,
  assertStringIncludes,
} from "../../../assert.ts";
import { tempDir } from "../../../fake/temp.ts";

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

Deno.test("the first source with whole keys is used; what is half a source is none, or an error (table)", async () => {
  await using directory = await tempDir();
  const { path } = directory;
  await Deno.writeTextFile(`${path}/token`, "projected");
  await Deno.writeTextFile(`${path}/pod`, " Bearer pod\n");
  await Deno.mkdir(`${path}/home/.aws`, { recursive: true });
  await Deno.writeTextFile(
    `${path}/home/.aws/credentials`,
    "aws_access_key_id = ABOVE\naws_secret_access_key = above\n" +
      "[default]\naws_access_key_id = HALF\n# a comment\n" +
      "[other]\naws_secret_access_key = half\n" +
      "[profile work]\naws_access_key_id=PROFILE\naws_secret_access_key=sec\naws_session_token = ses\n" +
      "[last]\naws_access_key_id=LAST\naws_secret_access_key=last\naws_session_token = last\n",
  );
  let keys: object = {};
  const asked: (string | null)[] = [];
  await using server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen() {} },
    async (request) => {
      asked.push(request.headers.get("authorization"));
      return (await request.text()).includes("WebIdentity")
        ? new Response(
          "<R><AccessKeyId>WEB</AccessKeyId><SecretAccessKey>sec</SecretAccessKey></R>",
        )
        : Response.json(keys);
    },
  );
  const url = `http://127.0.0.1:${server.addr.port}`;
  const ID = { AWS_ACCESS_KEY_ID: "ENV" };
  const SECRET = { AWS_SECRET_ACCESS_KEY: "sec" };
  const HOME = { HOME: `${path}/home` };
  const POD = { AWS_CONTAINER_CREDENTIALS_FULL_URI: `${url}/pod` };
  const ROLE = { AWS_ROLE_ARN: "arn:aws:iam::1:role/r" };
  const FILE = { AWS_WEB_IDENTITY_TOKEN_FILE: `${path}/token` };
  const [id, secret] = [new Secret("OWN"), new Secret("own-secret")];
  const NONE = "no keys for AWS: none are set";
  const cases: readonly (readonly [
    settings: { readonly accessKeyId?: Secret; readonly secretAccessKey?: Secret },
    variables: Readonly<Record<string, string>>,
    expected: string,
  ])[] = [
    [{ accessKeyId: id, secretAccessKey: secret }, { ...ID, ...SECRET }, "OWN"],
    [{ accessKeyId: id }, { ...ID, ...SECRET }, "need `accessKeyId` and `secretAccessKey`"],
    [{ secretAccessKey: secret }, { ...ID, ...SECRET }, "need `accessKeyId` and `secretAcc"],
    [{}, { ...ID, ...SECRET, ...FILE, ...ROLE }, "ENV"],
    [{}, { ...ID, ...SECRET, AWS_SESSION_TOKEN: "ses" }, "ENV ses"],
    [{}, ID, NONE],
    [{}, SECRET, NONE],
    [{}, { ...FILE, ...ROLE, ...HOME }, "WEB"],
    [{}, FILE, NONE],
    [{}, ROLE, NONE],
    [{}, { ...FILE, ...ROLE, AWS_WEB_IDENTITY_TOKEN_FILE: `${path}/none` }, "cannot be read"],
    [{}, {}, NONE],
    [{}, HOME, NONE],
    [{}, { HOME: `${path}/none`, AWS_PROFILE: "work" }, NONE],
    [{}, { ...HOME, AWS_PROFILE: "work" }, "PROFILE ses"],
    [{}, { ...HOME, AWS_PROFILE: "default" }, "the profile 'default' of "],
    [{}, { ...HOME, AWS_PROFILE: "other" }, "the profile 'other' of "],
    [{}, { ...HOME, AWS_PROFILE: "none" }, "the profile 'none' of "],
    [{}, { ...HOME, ...POD }, "POD ses"],
    [
      {},
      { ...POD, AWS_CONTAINER_CREDENTIALS_FULL_URI: "http://10.0.0.1/" },
      "neither https nor a local address",
    ],
    [
      {},
      { ...POD, AWS_CONTAINER_CREDENTIALS_FULL_URI: "https://[::ffff:127.0.0.1]:1/" },
      "could not be reached",
    ],
  ];
  for (const [settings, variables, expected] of cases) {
    keys = { AccessKeyId: "POD", SecretAccessKey: "sec", Token: "ses" };
    const all = { AWS_EC2_METADATA_DISABLED: "true", ...variables };
    const environment = Object.fromEntries(
      Object.entries(all).map(([name, value]) => [name, new Secret(value)]),
    );
    const credentials = new AwsCredentials(
      { kind: "aws", tokenUrl: url, environment, ...settings },
      { region: "eu-west-1", service: "bedrock", now: () => NOW },
    );
    const used = await credentials.headersFor({ ...REQUEST, body: undefined }).then(
      ({ authorization, "x-amz-security-token": session }) => {
        const [, id] = /Credential=(\w+)\//.exec(authorization!)!;
        return session === undefined ? id! : `${id} ${session}`;
      },
      (error) => {
        if (!(error instanceof CredentialsFault)) throw error;
        return error.message;
      },
    );
    if (/^[A-Z ]+(?: ses)?$/.test(expected)) assertEquals(used, expected);
    else assertStringIncludes(used, expected);
  }

  const ofPod = (more: object) =>
    new AwsCredentials({
      kind: "aws",
      environment: Object.fromEntries(
        Object.entries({ ...POD, ...more }).map(([name, one]) => [name, new Secret(one)]),
      ),
    }, { region: "eu-west-1", service: "bedrock", now: () => NOW }).headersFor(REQUEST);
  asked.length = 0;
  await ofPod({});
  await ofPod({ AWS_CONTAINER_AUTHORIZATION_TOKEN: "Bearer" });
  await ofPod({ AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE: `${path}/pod` });
  assertEquals(asked, [null, "Bearer", "Bearer pod"]);
  for (const half of [{ AccessKeyId: "POD" }, { SecretAccessKey: "sec" }]) {
    keys = half;
    const { message } = await assertRejects(() => ofPod({}), CredentialsFault);
    assertStringIncludes(message, "gave a reply without keys");
  }
});
