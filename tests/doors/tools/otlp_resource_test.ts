/** Telemetry of tools names the account that sent it, whatever the tool says. */

import fc from "fast-check";
import { nameInJson, nameInProtobuf, OtlpError } from "../../../src/doors/tools/otlp_resource.ts";
import { assert, assertEquals, assertThrows } from "../../assert.ts";

const OURS = { "user.id": "acc_1", "user.email": "ada@example.com", "sluice.key_id": "key_1" };
const NAMES = [
  "service.name",
  "user.id",
  "user.email",
  "enduser.id",
  "sluice.key_id",
  "sluice.other",
  "user.mood",
  "",
];

/** An attribute as [name, text]. */
type Attribute = readonly [string, string];
interface Resource {
  readonly attributes: readonly Attribute[];
  readonly rest: Uint8Array;
}

const text = new TextEncoder();

function varint(value: number): number[] {
  return value < 128 ? [value] : [value % 128 + 128, ...varint(Math.floor(value / 128))];
}

function field(number: number, content: Uint8Array | readonly number[]): Uint8Array {
  return Uint8Array.from([...varint(number * 8 + 2), ...varint(content.length), ...content]);
}

function all(...pieces: readonly Uint8Array[]): Uint8Array {
  return Uint8Array.from(pieces.flatMap((piece) => [...piece]));
}

function keyValue([name, value]: Attribute): Uint8Array {
  return field(1, all(field(1, text.encode(name)), field(2, field(1, text.encode(value)))));
}

/** A request of OTLP as bytes: each resource may come in several pieces, which decoders merge. */
function encoded(resources: readonly Resource[]): Uint8Array {
  return all(...resources.map(({ attributes, rest }) => {
    const middle = Math.floor(attributes.length / 2);
    return field(
      1,
      all(
        field(1, all(...attributes.slice(0, middle).map(keyValue))),
        field(2, rest),
        field(1, all(...attributes.slice(middle).map(keyValue))),
      ),
    );
  }));
}

/** Its fields of one number, by a decoder that knows only fields with a length. */
function contents(bytes: Uint8Array, wanted: number): Uint8Array[] {
  const found: Uint8Array[] = [];
  let at = 0;
  const next = () => {
    let [value, shift] = [0, 1];
    for (;; shift *= 128) {
      const byte = bytes[at++]!;
      value += (byte & 127) * shift;
      if (byte < 128) return value;
    }
  };
  while (at < bytes.length) {
    const tag = next();
    const length = next();
    if (tag === wanted * 8 + 2) found.push(bytes.slice(at, at + length));
    at += length;
  }
  return found;
}

function decoded(bytes: Uint8Array): Resource[] {
  return contents(bytes, 1).map((one) => ({
    attributes: contents(one, 1).flatMap((resource) => contents(resource, 1)).map((pair) => [
      new TextDecoder().decode(contents(pair, 1)[0]),
      new TextDecoder().decode(contents(contents(pair, 2)[0]!, 1)[0]),
    ]),
    rest: contents(one, 2)[0]!,
  }));
}

const isForeign = ([name]: Attribute) =>
  !name.startsWith("sluice.") && !["user.id", "user.email", "enduser.id"].includes(name);

const resources = fc.array(
  fc.record({
    attributes: fc.array(fc.tuple(fc.constantFrom(...NAMES), fc.string())),
    rest: fc.uint8Array({ maxLength: 300 }),
  }),
  { maxLength: 4 },
);

Deno.test("in protocol buffers, each resource has our attributes and those of the tool that are not of the account", () => {
  fc.assert(fc.property(resources, (given) => {
    assertEquals(
      decoded(nameInProtobuf(encoded(given), OURS)),
      given.map(({ attributes, rest }) => ({
        attributes: [...attributes.filter(isForeign), ...Object.entries(OURS)],
        rest,
      })),
    );
  }));
});

Deno.test("in JSON too", () => {
  const json = ([key, stringValue]: Attribute) => ({ key, value: { stringValue } });
  fc.assert(fc.property(resources, fc.boolean(), (given, isBare) => {
    const body = {
      resourceLogs: given.map(({ attributes, rest }) => ({
        resource: { attributes: attributes.map(json), droppedAttributesCount: 1 },
        scopeLogs: [{ rest: [...rest] }],
      })),
      ...(isBare
        ? {}
        : { resource_logs: [{ resource: { attributes: [json(["user.id", "x"])] } }] }),
    };
    assertEquals(JSON.parse(nameInJson(JSON.stringify(body), "resourceLogs", OURS)), {
      resourceLogs: given.map(({ attributes, rest }) => ({
        resource: {
          attributes: [...attributes.filter(isForeign), ...Object.entries(OURS)].map(json),
          droppedAttributesCount: 1,
        },
        scopeLogs: [{ rest: [...rest] }],
      })),
    });
  }));
  const named = JSON.parse(nameInJson('{"resourceSpans":[{}]}', "resourceSpans", OURS));
  assertEquals(named.resourceSpans[0].resource.attributes.length, 3);
});

Deno.test("what is not of OTLP is an error, never a hang or another error", () => {
  fc.assert(fc.property(fc.uint8Array({ maxLength: 60 }), (bytes) => {
    try {
      nameInProtobuf(bytes, OURS);
    } catch (error) {
      assert(error instanceof OtlpError);
    }
  }));
  for (const bytes of [[10], [10, 5, 1], [11, 1], [2, 0], new Array(12).fill(255)]) {
    assertThrows(() => nameInProtobuf(Uint8Array.from(bytes), OURS), OtlpError);
  }
  for (const body of ["", "[]", "null", '{"resourceLogs":1}', '{"resourceLogs":[1]}']) {
    assertThrows(() => nameInJson(body, "resourceLogs", OURS), OtlpError);
  }
});

Deno.test("what many resources or values would make large or slow is an error", () => {
  const repeated = (bytes: readonly number[], times: number) =>
    Uint8Array.from(Array.from({ length: times }, () => bytes).flat());
  const inResource = (bytes: Uint8Array) => field(1, field(1, bytes));
  nameInProtobuf(repeated([10, 0], 1_000), OURS);
  for (
    const bytes of [
      repeated([10, 0], 1_001),
      repeated([18, 0], 20_001),
      inResource(repeated([10, 0], 20_001)),
      inResource(field(1, repeated([18, 0], 20_001))),
    ]
  ) {
    assertThrows(() => nameInProtobuf(bytes, OURS), OtlpError);
  }
  const list = (one: string, count: number) =>
    `{"resourceLogs":[${Array.from({ length: count }, () => one)}]}`;
  nameInJson(list("{}", 1_000), "resourceLogs", OURS);
  for (
    const body of [
      list("{}", 1_001),
      list(`{"scopeLogs":[${"0,".repeat(200_000)}0]}`, 1),
      list(`{"scopeLogs":${"[".repeat(20_000)}${"]".repeat(20_000)}}`, 1),
    ]
  ) {
    assertThrows(() => nameInJson(body, "resourceLogs", OURS), OtlpError);
  }
});
