/** Some SDKs write null for what their users left out. It is the same as a field that is not there: everywhere, and in every dialect. */

import {
  bridgeBetween,
  DIALECT_NAMES,
  type DialectName,
  DIALECTS,
  type JsonObject,
} from "../../../src/wire/dialects/mod.ts";
import { Refusal } from "../../../src/ground/refusal.ts";
import { assert, assertEquals } from "../../assert.ts";
import { readRequestTypes } from "../extras/sdk_types.ts";
import { MARK, readFields } from "../formats/fields.ts";
import { SEALER } from "./ends.ts";
import { plainBody } from "./shared_fields.ts";

/** What an upstream gets of a request; the words of a refusal. */
function outcome(from: DialectName, to: DialectName, body: JsonObject): unknown {
  try {
    const header = (name: string) => (name === "anthropic-beta" ? "x" : null);
    const { front } = DIALECTS[from];
    const parsed = front.parse(structuredClone(body), header, SEALER);
    const { request } = front.applyReasoning(parsed, { reasoning: "none", efforts: [] });
    const options = { model: "theirs", upstream: "up", permittedOutput: 900, shaping: {} };
    const { body: sent, dropped } = bridgeBetween(from, to).request(request, options);
    return { sent, dropped };
  } catch (error) {
    assert(error instanceof Refusal, `${error}`);
    return error.message;
  }
}

/** A body without its mark: null in its place, or nothing; undefined where the mark is an item of a list. */
function withoutMark(value: unknown, isNull: boolean): unknown {
  if (Array.isArray(value)) {
    return value.includes(MARK) ? undefined : value.map((one) => withoutMark(one, isNull));
  }
  if (typeof value !== "object" || value === null) return value;
  const fields = Object.entries(value).flatMap(([key, one]) => {
    if (one === MARK) return isNull ? [[key, null]] : [];
    const inner = withoutMark(one, isNull);
    return inner === undefined ? [] : [[key, inner]];
  });
  return Object.fromEntries(fields);
}

const types = await readRequestTypes();
const declared = await readFields();

for (const from of DIALECT_NAMES) {
  Deno.test(`${from}: null is absence, for each field of a request`, () => {
    const plain = plainBody(from);
    const optional = types[from].fields.filter((field) => !Object.hasOwn(plain, field));
    assert(optional.length > 10);
    for (const to of DIALECT_NAMES) {
      const absent = outcome(from, to, plain);
      for (const field of optional) {
        assertEquals(outcome(from, to, { ...plain, [field]: null }), absent, `${field} → ${to}`);
      }
    }
  });

  Deno.test(`${from}: null is absence, for each field below a request's own`, () => {
    let compared = 0;
    const differs: string[] = [];
    for (const { path, body } of declared[`${from}Request`]) {
      if (/schema\b.*\.(\*|properties)$|parameters\.\*$|^input$/.test(path)) continue; // a schema's own, or required
      const [nulled, absent] = [true, false].map((isNull) => {
        const own = withoutMark(body, isNull) as JsonObject;
        const { messages, input, ...rest } = plainBody(from);
        return from === "responses" ? { ...rest, input: own.input ?? input, ...own, model: "m" } : {
          ...rest,
          ...own,
          messages: [...messages, ...own.messages as JsonObject[]],
          model: "m",
        };
      });
      for (const to of DIALECT_NAMES) {
        const expected = outcome(from, to, absent!);
        if (typeof expected === "string") continue; // it is required
        compared++;
        const got = outcome(from, to, nulled!);
        const isSame = from === to
          ? typeof got === "object" // carried as it is
          : JSON.stringify(got) === JSON.stringify(expected);
        if (!isSame) differs.push(`${path} → ${to}: ${JSON.stringify(got)}`);
      }
    }
    assertEquals([...new Set(differs)], []);
    assert(compared > 30, `${compared} compared`);
  });
}
