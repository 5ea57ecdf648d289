/** A value that two dialects have a place for arrives in the other's place, or the table says what becomes of it, and so it does. */

import fc from "fast-check";
import {
  bridgeBetween,
  DIALECT_NAMES,
  type DialectName,
  DIALECTS,
  type Shaping,
} from "../../../src/wire/dialects/mod.ts";
import { Refusal } from "../../../src/ground/refusal.ts";
import { assertEquals, assertMatch, assertThrows } from "../../assert.ts";
import { sized } from "../../tier.ts";
import { readRequestTypes } from "../extras/sdk_types.ts";
import { SEALER } from "./ends.ts";
import {
  type Body,
  checkOutcome,
  type Outcome,
  OWN_FIELDS,
  plainBody,
  SHARED_FIELDS,
  type SharedField,
} from "./shared_fields.ts";

const runs = { numRuns: sized(20, 300) };

/** A request of a client as an upstream gets it. */
function outcome(
  from: DialectName,
  to: DialectName,
  body: Body,
  { shaping, route }: SharedField,
): Outcome {
  const { front } = DIALECTS[from];
  const header = (name: string) => (name === "anthropic-beta" ? "x" : null);
  const parsed = front.parse(structuredClone(body), header, SEALER);
  const efforts = ["low", "medium", "high", "xhigh", "max"] as const;
  const { request, dropped, adjusted } = front.applyReasoning(parsed, {
    reasoning: route ?? "none",
    efforts: route === "effort" ? efforts : [],
  });
  const written = bridgeBetween(from, to).request(request, {
    model: "theirs",
    upstream: "up",
    permittedOutput: parsed.maxOutput ?? 900,
    shaping: { ownSampling: true, ...shaping as Shaping },
  });
  return {
    sent: written.body,
    adjusted: [...adjusted, ...written.adjusted ?? []],
    dropped: [...dropped, ...written.dropped],
  };
}

for (const field of SHARED_FIELDS) {
  for (const from of DIALECT_NAMES) {
    const own = field.in[from];
    if (own === undefined) continue;
    for (const to of DIALECT_NAMES) {
      const fate = field.but?.[`${from} ${to}`];
      Deno.test(`${field.name}: ${from} → ${to}${fate ? `, but ${fate.why}` : ""}`, () => {
        fc.assert(
          fc.property(field.value, (value) => {
            const body = plainBody(from);
            own.write(body, value);
            if (fate !== undefined && "rejected" in fate) {
              const error = assertThrows(() => outcome(from, to, body, field), Refusal);
              assertMatch(error.message, fate.rejected);
              return;
            }
            checkOutcome(field, [from, to], value, outcome(from, to, body, field));
          }),
          runs,
        );
      });
    }
  }
}

const types = await readRequestTypes();

Deno.test("every field of the SDKs' requests is in the table, or one dialect's own", () => {
  const shared = new Set(SHARED_FIELDS.flatMap(({ fields }) => fields.split(" ")));
  for (const dialect of DIALECT_NAMES) {
    const own = new Set(OWN_FIELDS[dialect].split(" "));
    const missing = types[dialect].fields.filter((one) => !shared.has(one) && !own.has(one));
    assertEquals(missing, [], dialect);
    assertEquals([...own].filter((one) => !types[dialect].fields.includes(one)), [], dialect);
  }
});

Deno.test("docs/dialects.md names every field that is not the same in each dialect", async () => {
  const page = await Deno.readTextFile(new URL("../../../docs/dialects.md", import.meta.url));
  const rows = [...page.matchAll(/^\| ([^|]*?) +\|/gm)].map(([, name]) => name);
  const differs = SHARED_FIELDS.filter(({ but, shaping }) => but !== undefined || shaping);
  assertEquals(differs.map(({ name }) => name).filter((name) => !rows.includes(name)), []);
});
