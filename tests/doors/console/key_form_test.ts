/** What forms about keys and budgets say to their operations. */

import { addBudgetForms } from "../../../src/doors/console/budget_form.ts";
import { addKeyForms, modelsOf, newKeyIn } from "../../../src/doors/console/key_form.ts";
import type { PostForm } from "../../../src/doors/console/forms.ts";
import { FormFields } from "../../../src/doors/console/request.tsx";
import { setBudget } from "../../../src/money/ledger/mod.ts";
import type { Json } from "../../../src/operating/operations/mod.ts";
import { AccountError } from "../../../src/people/accounts/mod.ts";
import { assertEquals, assertRejects, assertThrows } from "../../assert.ts";
import { ledgerBench } from "../../fake/ledger.ts";

const NOW = Date.UTC(2026, 5, 15);
const CATALOG = { routes: [{ id: "a" }, { id: "b" }] } as unknown as Parameters<typeof modelsOf>[1];

type Fields = string | Readonly<Record<string, string>>;
const form = (fields: Fields) => new FormFields(new URLSearchParams(fields).toString());

/** A row of a form, as far as it is read here. */
interface Row {
  readonly input?: (
    form: FormFields,
    about: object,
    c?: unknown,
  ) => Json | Promise<Json | undefined>;
  readonly done?: (reply: Json, of: { readonly input: Json }) => string;
}

/** The rows that are added to a page, by their paths. */
function rowsOf(add: (post: PostForm<object, object>) => void): ReadonlyMap<string, Row> {
  const rows = new Map<string, Row>();
  add(((path: string, _operation: unknown, row: Row) => rows.set(path, row)) as never);
  return rows;
}

Deno.test("the models of a form are those that it shows, all of them or some (table)", () => {
  const cases: readonly (readonly [
    fields: string,
    before: readonly string[] | null | undefined,
    models: readonly string[] | null | string,
  ])[] = [
    ["allow=all", undefined, null],
    ["allow=all", ["a"], null],
    ["allow=listed&models=b&models=a", undefined, ["b", "a"]],
    ["allow=listed&models=gone", ["gone"], ["gone"]],
    ["allow=listed", [], []],
    ["allow=listed&models=a", [], ["a"]],
    ["allow=listed", null, "Select at least one model"],
    ["allow=listed", undefined, "Select at least one model"],
    ["allow=listed", ["a"], "Select at least one model"],
    ["allow=listed&models=gone", ["a"], "cannot be selected any more"],
    ["allow=all&models=a", undefined, "Select either all models or only some"],
    ["models=a", undefined, "Select all models or only some"],
    ["", undefined, "Select all models or only some"],
  ];
  for (const [fields, before, models] of cases) {
    const read = () => modelsOf(form(fields), CATALOG, before);
    if (typeof models === "string") assertThrows(read, AccountError, models);
    else assertEquals(read(), models, fields);
  }
  const { message } = assertThrows(() => modelsOf(form(""), CATALOG), AccountError);
  assertEquals(message, "Select all models or only some");
});

Deno.test("a new key is what its form says, and lives as long (table)", () => {
  const plain = { allow: "all", expires: "never", budget: "", at_once: "" };
  const made = (fields: Readonly<Record<string, string>>) =>
    newKeyIn(form({ ...plain, ...fields }), CATALOG, NOW);
  const key = { id: undefined, name: "", models: null, expires_at: null, at_once: null };
  assertEquals(made({}), { ...key, budgets: [] });
  const budget = { budget: "5", period: "day", zone: "Asia/Tokyo", marks: " 80,50; 80% " };
  assertEquals(
    made({ id: "key_1", name: " ci ", allow: "all", expires: "7", at_once: "3", ...budget }),
    {
      id: "key_1",
      name: "ci",
      models: null,
      expires_at: "2026-06-22T00:00:00.000Z",
      at_once: 3,
      budgets: [{ period: "day", credits: 5, time_zone: "Asia/Tokyo", marks: [50, 80] }],
    },
  );
  const budgets = (fields: Readonly<Record<string, string>>) =>
    (made({ budget: "5", period: "day", ...fields }).budgets as Json[])[0]!;
  assertEquals([budgets({}).marks, budgets({ marks: "" }).marks], [undefined, []]);
  assertEquals(budgets({ zone: "" }).time_zone, undefined);
  const ten = "1 2 3 4 5 6 7 8 9 10";
  assertEquals((budgets({ marks: ten }).marks as number[]).length, 10);
  const wrong: readonly (readonly [Readonly<Record<string, string>>, string])[] = [
    [{ expires: "" }, "Select when the key expires"],
    [{ expires: "soon" }, "Days"],
    [{ at_once: "0" }, "Requests at once"],
    [{ budget: "5", period: "year" }, "Select when the budget renews"],
    [{ budget: "5", period: "day", marks: `${ten} 11` }, "Too many marks: the limit is 10"],
    [{ budget: "5", period: "day", marks: "0.5" }, "Each mark"],
  ];
  for (const [fields, message] of wrong) assertThrows(() => made(fields), AccountError, message);
});

Deno.test("of a key that there is, a form changes what it has fields for (table)", () => {
  const rows = rowsOf((post) =>
    addKeyForms(post as never, { catalog: () => CATALOG, now: () => NOW } as never, "", {} as never)
  );
  const key = { id: "key_1", models: ["gone"] };
  const update = (fields: Fields) => rows.get("/update")!.input!(form(fields), { key }) as Json;
  const same = { name: undefined, models: undefined, expires_at: undefined, at_once: undefined };
  const cases: readonly (readonly [string, Json])[] = [
    ["", {}],
    ["name=", { name: "" }],
    ["name=ci&expires=keep", { name: "ci" }],
    ["expires=never", { expires_at: null }],
    ["expires=1", { expires_at: "2026-06-16T00:00:00.000Z" }],
    ["allow=listed&models=gone", { models: ["gone"] }],
    ["allow=all", { models: null }],
    ["at_once=", { at_once: null }],
    ["at_once=9", { at_once: 9 }],
  ];
  for (const [fields, changed] of cases) {
    assertEquals(update(fields), { ...same, ...changed }, fields);
  }
  assertThrows(() => update("models=gone"), AccountError, "Select all models or only some");
  const rotate = (fields: Fields) => rows.get("/rotate")!.input!(form(fields), { key });
  assertEquals(rotate("hours="), { keep_seconds: 0, end_earlier: false });
  assertEquals(rotate("hours=24&end_earlier=on"), { keep_seconds: 86_400, end_earlier: true });
  assertThrows(() => rotate("hours=1e9"), AccountError, "Hours");
});

Deno.test("a budget is set, raised and removed as its form says, where there is one (table)", async () => {
  await using bench = await ledgerBench("file");
  const { database } = bench;
  const { keyId } = await bench.account();
  const owner = { owner: "key", ownerId: keyId } as const;
  await setBudget(database, { ...owner, period: "day", credits: 9, zone: "Asia/Tokyo" }, {
    nowMs: NOW,
  });
  const rows = rowsOf((post) =>
    addBudgetForms(post, { database, now: () => NOW }, { path: "", owner: () => owner })
  );
  const read = async (path: string, fields: Fields) => {
    const { input, done } = rows.get(path)!;
    const read = await input!(form(fields), {});
    return [read, read && done!({}, { input: read })];
  };
  const set = { owner: "key", owner_id: keyId, period: "day", credits: 5 };
  assertEquals(await read("/budget", "budget=5&period=day"), [
    { ...set, time_zone: undefined, marks: undefined },
    "budget",
  ]);
  const budget = `key:${keyId}:day`;
  assertEquals(await read("/budget/raise", "credits=3&period=day&until=2026-06-16T09:00"), [
    { budget, credits: 3, until: "2026-06-16T00:00:00.000Z" },
    "budget-raised",
  ]);
  assertEquals(await read("/budget/raise", "credits=0&period=day&until=never"), [
    { budget, credits: 0 },
    "budget-raise-ended",
  ]);
  assertEquals(await read("/budget/remove", "period=day"), [{ budget }, "budget-removed"]);
  assertEquals(await read("/budget/remove", "period=life"), [undefined, undefined]);
  const wrong = [
    ["/budget", "budget=&period=day", "Enter the credits of the budget"],
    ["/budget/raise", "credits=&period=day", "Enter the credits of the raise"],
    ["/budget/raise", "credits=3&period=life&until=2026-06-16T09:00", "has been removed"],
    ["/budget/raise", "credits=3&period=day&until=soon", "Enter when the raise ends"],
  ] as const;
  for (const [path, fields, message] of wrong) {
    await assertRejects(async () => await read(path, fields), AccountError, message);
  }
});
