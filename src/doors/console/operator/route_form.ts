import { AccountError } from "../../../people/accounts/mod.ts";
import type { Route } from "../../../settings/catalog/mod.ts";
import { decimalIn } from "../../../ground/amounts/mod.ts";
import type { Json } from "../../../operating/operations/mod.ts";
import { amountOf, type FormFields } from "../request.tsx";

/** Whole numbers that a route may have, and what they are called. */
export const NUMBERS = [
  ["minimum", "Minimum charge", "credits"],
  ["context", "Context window", "tokens"],
  ["maxInput", "Max input", "tokens"],
  ["maxOutput", "Max output", "tokens"],
] as const;
/** Prices in credits per million tokens. */
export const PRICES = [
  ["input", "Input"],
  ["cached", "Cached input"],
  ["output", "Output"],
] as const;
/** Choices, with their values. */
export const CHOICES = [
  ["images", "Images", ["none", "inline", "remote"]],
  ["reasoning", "Reasoning", ["none", "thinking", "always", "effort"]],
] as const;

/** The field that says whether a route is served, and its value for one that is not. */
export const ENABLED = { name: "enabled", off: "false" } as const;

/** What the fields of a form begin with, by name. */
export type FormValues = ReadonlyMap<string, string>;

/** Targets that a form may have. */
const MAX_TARGETS = 50;

const WEIGHT = {
  words: "a number from 0 to 1000000, such as 2.5",
  decimals: 6,
  of: "a weight",
  min: 0,
  max: 1e12,
};

/** A target as a form has it: all texts. */
export interface TargetFields {
  readonly upstream: string;
  readonly model: string;
  readonly weight: string;
}

/** The targets that a form begins with: those of the file, or else those in use. */
export function targetsOf(
  written: Json | undefined,
  { targets }: Pick<Route, "targets">,
): readonly TargetFields[] {
  const all: unknown = written?.targets;
  const found: readonly unknown[] = Array.isArray(all) ? all : targets;
  return found.map((one) => {
    const { upstream, model, weight } = one as Readonly<Record<string, unknown>>;
    const text = (value: unknown) => value === undefined ? "" : String(value);
    return { upstream: text(upstream), model: text(model), weight: text(weight) };
  });
}

/** The prices of a file that hold first, which a form has: of a list, one row. */
export function firstPricesOf(prices: unknown): Json {
  if (!Array.isArray(prices)) return (prices ?? {}) as Json;
  return prices[firstRow(prices)] as Json;
}

/** The place of the row that holds first. */
function firstRow(rows: readonly unknown[]): number {
  const start = (row: unknown) => Date.parse(String((row as Json).from ?? "")) || -Infinity;
  return rows.reduce<number>((first, row, at) => start(row) < start(rows[first]) ? at : first, 0);
}

/** What the fields of a route begin with: all that the file has. */
export function valuesOf(written: Json, route: Pick<Route, "targets">): FormValues {
  const text = (value: unknown) => value === undefined ? "" : String(value);
  const prices = firstPricesOf(written.prices);
  return new Map([
    [ENABLED.name, written.enabled === false ? ENABLED.off : ""],
    ...["displayName", ...[...NUMBERS, ...CHOICES].map(([name]) => name)]
      .map((name) => [name, text(written[name])] as const),
    ...PRICES.map(([name]) => [`price-${name}`, text(prices[name])] as const),
    ...targetsOf(written, route).flatMap(({ upstream, model, weight }, at) =>
      [
        [`place-${at}`, String(at + 1)],
        [`upstream-${at}`, upstream],
        [`model-${at}`, model],
        [`weight-${at}`, weight],
      ] as const
    ),
  ]);
}

/**
 * Reads the settings of a route from a form. What the form has no field for stays as the file has it; an empty field leaves
 * the value to the default.
 *
 * @param written The route as the file has it.
 * @throws {AccountError} If a field is invalid.
 */
export function routeSettingsOf(
  form: FormFields,
  { route, written }: { readonly route: Route; readonly written: Json | undefined },
): Json {
  const settings: Record<string, unknown> = { ...written };
  const put = (name: string, value: unknown) => {
    if (value === undefined || value === "") delete settings[name];
    else settings[name] = value;
  };
  for (const [name, label] of NUMBERS) {
    if (form.has(name)) put(name, form.count(name, label));
  }
  for (const name of ["displayName", ...CHOICES.map(([name]) => name)]) {
    if (form.has(name)) put(name, form.text(name));
  }
  if (form.has(ENABLED.name)) {
    if (form.text(ENABLED.name) === ENABLED.off) settings.enabled = false;
    else if (settings.enabled === false) delete settings.enabled;
  }
  put("prices", pricesOf(form, { route, written }));
  const targets = readTargets(form);
  const before = targetsOf(written, route);
  if (targets !== undefined && JSON.stringify(targets) !== JSON.stringify(before)) {
    if (targets.length === 0) throw new AccountError("A route needs at least one target");
    put("targets", targets.map((one) => ({ ...targetSettings(one), ...limitsOf(one, written) })));
  }
  return settings;
}

/**
 * The prices of a form. Without any in the file, an empty field is the present price, which the form shows in it.
 *
 * @returns `undefined` if the form leaves all of them to the defaults.
 */
function pricesOf(
  form: FormFields,
  { route, written }: { readonly route: Route; readonly written: Json | undefined },
): unknown {
  const prices = PRICES.filter(([name]) => form.has(`price-${name}`))
    .map(([name, label]) => [name, form.count(`price-${name}`, `Price: ${label}`)] as const);
  if (prices.length === 0) return written?.prices;
  const missing = prices.filter(([, value]) => value === undefined);
  if (missing.length === prices.length) return undefined;
  if (missing.length > 0 && written?.prices !== undefined) {
    throw new AccountError("Set all prices of a route, or none");
  }
  const before: unknown = written?.prices;
  const { from, ownKey, changes } = firstPricesOf(before); // which the form does not have
  const first = {
    ...(from === undefined ? {} : { from }),
    ...Object.fromEntries(prices.map(([name, value]) => [name, value ?? route.prices[name]])),
    ...(ownKey === undefined ? {} : { ownKey }),
    ...(changes === undefined ? {} : { changes }),
  };
  return Array.isArray(before) ? before.with(firstRow(before), first) : first;
}

/** Targets of a form in the order of their places; undefined if it has none at all. */
function readTargets(form: FormFields): readonly TargetFields[] | undefined {
  const rows: { readonly place: number; readonly target: TargetFields }[] = [];
  let isThere = false;
  for (let at = 0; at < MAX_TARGETS && form.has(`model-${at}`); at++) {
    isThere = true;
    const model = form.text(`model-${at}`);
    if (model === "") continue;
    rows.push({
      place: form.count(`place-${at}`, "Place of a target") ?? at + 1,
      target: { upstream: form.text(`upstream-${at}`), model, weight: form.text(`weight-${at}`) },
    });
  }
  return isThere
    ? rows.toSorted((a, b) => a.place - b.place).map(({ target }) => target)
    : undefined;
}

/** The bounds of a target, which the form does not have. */
function limitsOf({ upstream, model }: TargetFields, written: Json | undefined): Json {
  const all = Array.isArray(written?.targets) ? written.targets as Json[] : [];
  const found = all.find((one) => one.upstream === upstream && one.model === model);
  return found?.limits === undefined ? {} : { limits: found.limits };
}

function targetSettings({ upstream, model, weight }: TargetFields): Json {
  if (upstream === "") throw new AccountError(`Select the upstream of ${model}`);
  if (weight === "") return { upstream, model };
  const millionths = amountOf("Weight", () => decimalIn(weight, WEIGHT));
  return { upstream, model, weight: millionths / 1e6 };
}
