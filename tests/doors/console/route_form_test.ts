/** What the form of a route makes of its settings, and what it begins with. */

import {
  routeSettingsOf,
  targetsOf,
  valuesOf,
} from "../../../src/doors/console/operator/route_form.ts";
import { FormFields } from "../../../src/doors/console/request.tsx";
import type { Json } from "../../../src/operating/operations/mod.ts";
import type { Route } from "../../../src/settings/catalog/mod.ts";
import { AccountError } from "../../../src/people/accounts/mod.ts";
import { assertEquals, assertThrows } from "../../assert.ts";

const ROUTE = {
  prices: { input: 10, cached: 2, output: 40 },
  targets: [{ upstream: "one", model: "m" }],
} as unknown as Route;
const LIMITS = { requestsPerMinute: 5 };
const WRITTEN: Json = {
  minimum: 2,
  displayName: "M",
  images: "inline",
  enabled: false,
  other: "stays",
  prices: { input: 1, cached: 2, output: 3, ownKey: 5, changes: [7] },
  targets: [
    { upstream: "one", model: "m", weight: 2.5, limits: LIMITS },
    { upstream: "two", model: "m" },
  ],
};

const read = (fields: Readonly<Record<string, string>>, written: Json | undefined) =>
  routeSettingsOf(new FormFields(new URLSearchParams(fields).toString()), {
    route: ROUTE,
    written,
  });

/** Rows of targets as a form has them: place, upstream, model, weight. */
const rows = (...all: readonly (readonly [string, string, string, string])[]) =>
  Object.fromEntries(
    all.flatMap(([place, upstream, model, weight], at) => [
      [`place-${at}`, place],
      [`upstream-${at}`, upstream],
      [`model-${at}`, model],
      [`weight-${at}`, weight],
    ]),
  );
const AS_WRITTEN = rows(["1", "one", "m", "2.5"], ["2", "two", "m", ""]);
const prices = (input: string, cached: string, output: string) => ({
  "price-input": input,
  "price-cached": cached,
  "price-output": output,
});

/** A form, what the file has, and what it is to have, besides that. */
const CASES: readonly (readonly [
  fields: Readonly<Record<string, string>>,
  written: Json | undefined,
  changed: Json,
])[] = [
  // what the form does not have stays
  [{}, WRITTEN, {}],
  [{}, undefined, { prices: undefined }],
  [{ minimum: "3", context: "0" }, WRITTEN, { minimum: 3, context: 0 }],
  [{ minimum: "", displayName: "", images: "" }, WRITTEN, {
    minimum: undefined,
    displayName: undefined,
    images: undefined,
  }],
  [{ displayName: "N", reasoning: "always" }, WRITTEN, { displayName: "N", reasoning: "always" }],
  [{ enabled: "" }, WRITTEN, { enabled: undefined }],
  [{ enabled: "" }, { enabled: true }, {}],
  [{ enabled: "false" }, { enabled: true }, { enabled: false }],
  [{ enabled: "false" }, WRITTEN, {}],
  // prices: all of the file's, or none; without any in the file those in use
  [prices("4", "5", "6"), WRITTEN, {
    prices: { input: 4, cached: 5, output: 6, ownKey: 5, changes: [7] },
  }],
  [prices("4", "0", "6"), {}, { prices: { input: 4, cached: 0, output: 6 } }],
  [prices("4", "", ""), {}, { prices: { input: 4, cached: 2, output: 40 } }],
  [prices("", "", ""), WRITTEN, { prices: undefined }],
  [{ "price-input": "9" }, { prices: { input: 1, ownKey: 0 } }, {
    prices: { input: 9, ownKey: 0 },
  }],
  // targets: as they are, in other places, with the bounds of those that stay
  [AS_WRITTEN, WRITTEN, {}],
  [rows(["1", "one", "m", ""]), {}, {}],
  [rows(["2", "one", "m", "2.5"], ["1", "two", "m", ""]), WRITTEN, {
    targets: [
      { upstream: "two", model: "m" },
      { upstream: "one", model: "m", weight: 2.5, limits: LIMITS },
    ],
  }],
  [rows(["", "one", "n", ""], ["", "two", "m", "0"], ["9", "", "", ""]), WRITTEN, {
    targets: [{ upstream: "one", model: "n" }, { upstream: "two", model: "m", weight: 0 }],
  }],
  [rows(["1", "one", "m", "0.000001"]), WRITTEN, {
    targets: [{ upstream: "one", model: "m", weight: 0.000001, limits: LIMITS }],
  }],
  // those behind the fiftieth are not read
  [
    rows(...Array.from({ length: 51 }, (_, at) => [String(at), "one", `m${at}`, ""] as const)),
    {},
    { targets: Array.from({ length: 50 }, (_, at) => ({ upstream: "one", model: `m${at}` })) },
  ],
];

Deno.test("what a form has a field for is changed or left to the default, all else stays (table)", () => {
  for (const [fields, written, changed] of CASES) {
    const expected = Object.fromEntries(
      Object.entries({ ...written, ...changed }).filter(([, value]) => value !== undefined),
    );
    assertEquals(read(fields, written), expected, JSON.stringify(fields));
  }
});

Deno.test("fields that make no route say what is wrong", () => {
  const cases: readonly (readonly [Readonly<Record<string, string>>, Json, string])[] = [
    [prices("4", "", "6"), WRITTEN, "Set all prices of a route, or none"],
    [rows(["1", "one", "", ""]), WRITTEN, "A route needs at least one target"],
    [rows(["1", "", "m", ""]), WRITTEN, "Select the upstream of m"],
    [rows(["1", "one", "n", "heavy"]), WRITTEN, "Weight"],
    [rows(["1", "one", "n", "1000001"]), WRITTEN, "Weight"],
    [{ minimum: "few" }, WRITTEN, "Minimum charge"],
  ];
  for (const [fields, written, message] of cases) {
    assertThrows(() => read(fields, written), AccountError, message);
  }
});

Deno.test("a form begins with what the file has, and with the targets in use where it has none", () => {
  const values = Object.fromEntries(valuesOf(WRITTEN, ROUTE));
  assertEquals(values, {
    ...{
      enabled: "false",
      displayName: "M",
      minimum: "2",
      context: "",
      maxInput: "",
      maxOutput: "",
    },
    ...{ images: "inline", reasoning: "", ...prices("1", "2", "3"), ...AS_WRITTEN },
  });
  const empty = Object.fromEntries(valuesOf({ prices: undefined }, ROUTE));
  assertEquals(empty, {
    ...{ enabled: "", displayName: "", minimum: "", context: "", maxInput: "", maxOutput: "" },
    ...{ images: "", reasoning: "", ...prices("", "", ""), ...rows(["1", "one", "m", ""]) },
  });
  assertEquals(valuesOf({ enabled: true }, ROUTE).get("enabled"), "");
  assertEquals(targetsOf({ targets: "none" }, ROUTE), targetsOf(undefined, ROUTE));
});
