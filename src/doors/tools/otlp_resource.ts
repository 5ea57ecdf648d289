import { joinBytes } from "../../ground/platform/mod.ts";
import { type JsonBounds, type JsonExcess, jsonExcess } from "../../wire/json/mod.ts";

/** Attributes of a resource, by name. */
export type ResourceAttributes = Readonly<Record<string, string>>;

/** Thrown for telemetry that is not of OTLP. */
export class OtlpError extends Error {
  override readonly name = "OtlpError";
}

/** In all three requests of OTLP, `resource_spans`, `resource_metrics` and `resource_logs` have this number, and so has what is inside of them. */
const RESOURCES = 1;
const RESOURCE = 1;
const ATTRIBUTES = 1;
const KEY = 1;
const VALUE = 2;
const STRING_VALUE = 1;
/** Wire types of protocol buffers. */
const VARINT = 0;
const FIXED64 = 1;
const LENGTH = 2;
const FIXED32 = 5;
const MAX_VARINT_BYTES = 10;
const MAX_NUMBER = 2 ** 29 - 1;

/** Max resources of a request, as our attributes are added to each of them, and fields that are looked at. A tool sends one resource. */
const MAX_RESOURCES = 1_000;
const MAX_FIELDS = 20_000;
/** Bounds of JSON, checked before it is parsed. */
const JSON_BOUNDS: JsonBounds = { depth: 100, values: 200_000, members: 10_000 };
const EXCESSES: Readonly<Record<JsonExcess, string>> = {
  depth: "nested too deeply",
  values: "too many JSON values",
  members: "an object with too many keys",
};

/** Begins the names of attributes that only the gateway sets. */
const OWN_PREFIX = "sluice.";
/** What the conventions of OpenTelemetry call a user, and older ones did. */
const USERS = ["user.id", "user.email", "user.name", "user.full_name", "user.hash", "enduser.id"];

function isOurs(name: string): boolean {
  return name.startsWith(OWN_PREFIX) || USERS.includes(name);
}

/**
 * Sets attributes of all resources in a request of OTLP as protocol buffers; what it says of the user there goes. The rest stays, byte
 * by byte.
 *
 * @throws {OtlpError} If it is none.
 */
export function nameInProtobuf(
  bytes: Uint8Array,
  attributes: ResourceAttributes,
): Uint8Array {
  const own = Object.entries(attributes).map(([name, value]) =>
    lengthField(
      ATTRIBUTES,
      join(
        lengthField(KEY, utf8(name)),
        lengthField(VALUE, lengthField(STRING_VALUE, utf8(value))),
      ),
    )
  );
  const named: Uint8Array[] = [];
  const fieldsOf = boundedFields();
  let resources = 0;
  for (const field of fieldsOf(bytes)) {
    if (!isMessage(field, RESOURCES)) {
      named.push(field.whole);
      continue;
    }
    checkResources(++resources);
    const rest: Uint8Array[] = [];
    const resource: Uint8Array[] = [];
    for (const inner of fieldsOf(field.content)) {
      if (isMessage(inner, RESOURCE)) resource.push(...foreignFields(inner.content, fieldsOf));
      else rest.push(inner.whole);
    }
    named.push(
      lengthField(RESOURCES, join(lengthField(RESOURCE, join(...resource, ...own)), ...rest)),
    );
  }
  return join(...named);
}

/** The fields of a resource without attributes that only the gateway sets. */
function foreignFields(resource: Uint8Array, fieldsOf: FieldsOf): Uint8Array[] {
  const kept: Uint8Array[] = [];
  for (const field of fieldsOf(resource)) {
    const isOwn = isMessage(field, ATTRIBUTES) &&
      fieldsOf(field.content).some((one) => isMessage(one, KEY) && isOurs(textOf(one.content)));
    if (!isOwn) kept.push(field.whole);
  }
  return kept;
}

/**
 * The same for OTLP as JSON.
 *
 * @param kind Its only field: `resourceSpans`, `resourceMetrics` or `resourceLogs`.
 */
export function nameInJson(
  text: string,
  kind: string,
  attributes: ResourceAttributes,
): string {
  const own = Object.entries(attributes).map(([key, stringValue]) => ({
    key,
    value: { stringValue },
  }));
  const list = listIn(objectIn(parsed(text)), kind);
  checkResources(list.length);
  const named = list.map((one) => {
    const { resource = {}, ...rest } = objectIn(one);
    const { attributes: _, ...more } = objectIn(resource);
    const foreign = listIn(objectIn(resource), "attributes").filter((attribute) => {
      const { key } = objectIn(attribute);
      return typeof key === "string" && !isOurs(key);
    });
    return { ...rest, resource: { ...more, attributes: [...foreign, ...own] } };
  });
  return JSON.stringify({ [kind]: named });
}

function checkResources(count: number): void {
  if (count > MAX_RESOURCES) throw new OtlpError("too many resources");
}

function parsed(text: string): unknown {
  const excess = jsonExcess(text, JSON_BOUNDS);
  if (excess !== undefined) throw new OtlpError(EXCESSES[excess]);
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new OtlpError("not JSON", { cause });
  }
}

function objectIn(value: unknown): Record<string, unknown> {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new OtlpError("an object is missing");
  }
  return value as Record<string, unknown>;
}

function listIn(object: Record<string, unknown>, name: string): unknown[] {
  const value = object[name] ?? [];
  if (!Array.isArray(value)) throw new OtlpError(`${name} is no list`);
  return value;
}

/** A field of a message of protocol buffers. */
interface Field {
  readonly number: number;
  readonly type: number;
  /** With its tag. */
  readonly whole: Uint8Array;
  /** Without its tag and its length. */
  readonly content: Uint8Array;
}

function isMessage({ number, type }: Field, wanted: number): boolean {
  return number === wanted && type === LENGTH;
}

/** Reads the fields of a message. */
type FieldsOf = (bytes: Uint8Array) => Generator<Field>;

/** Reads the fields of one request: up to the limit, over all of its messages. */
function boundedFields(): FieldsOf {
  let count = 0;
  return function* (bytes) {
    for (const field of fieldsIn(bytes)) {
      if (++count > MAX_FIELDS) throw new OtlpError("too many fields");
      yield field;
    }
  };
}

function* fieldsIn(bytes: Uint8Array): Generator<Field> {
  for (let at = 0; at < bytes.byteLength;) {
    const tag = varintAt(bytes, at);
    const type = tag.value & 7;
    let [start, end] = [tag.end, tag.end];
    if (type === VARINT) end = varintAt(bytes, start).end;
    else if (type === FIXED64) end += 8;
    else if (type === FIXED32) end += 4;
    else if (type === LENGTH) {
      const length = varintAt(bytes, start);
      start = length.end;
      end = start + length.value;
    } else throw new OtlpError(`unknown wire type ${type}`);
    const number = Math.floor(tag.value / 8);
    if (number === 0 || number > MAX_NUMBER) throw new OtlpError("a field without a number");
    if (end > bytes.byteLength) throw new OtlpError("cut off");
    yield { number, type, whole: bytes.subarray(at, end), content: bytes.subarray(start, end) };
    at = end;
  }
}

/** Exact up to 2^53; tags and lengths beyond that are none. */
function varintAt(bytes: Uint8Array, from: number): { value: number; end: number } {
  let value = 0;
  for (let at = from; at < from + MAX_VARINT_BYTES; at++) {
    const byte = bytes[at];
    if (byte === undefined) break;
    value += (byte & 127) * 2 ** (7 * (at - from));
    if (byte < 128) return { value, end: at + 1 };
  }
  throw new OtlpError("a number without an end");
}

function lengthField(number: number, content: Uint8Array): Uint8Array {
  const head = [number * 8 + LENGTH];
  let length = content.byteLength;
  for (; length > 127; length = Math.floor(length / 128)) head.push(length % 128 + 128);
  head.push(length);
  return join(new Uint8Array(head), content);
}

function join(...pieces: readonly Uint8Array[]): Uint8Array {
  return joinBytes(pieces);
}

function utf8(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

function textOf(bytes: Uint8Array): string {
  return new TextDecoder().decode(bytes);
}
