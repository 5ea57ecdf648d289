import { AccountError, type Key } from "../../people/accounts/mod.ts";
import type { Catalog } from "../../settings/catalog/mod.ts";
import { DAYS } from "../../settings/config/mod.ts";
import { isoOf, type Json, KEEP_HOURS } from "../../operating/operations/mod.ts";
import { budgetsOfForm } from "./budget_form.ts";
import type { FormFields } from "./request.tsx";

const DAY_MS = 86_400_000;
const HOUR_SECONDS = 3_600;

/**
 * Reads the changes of a key from a form, as their operation takes them. A field that was not sent changes nothing.
 *
 * @param form The fields `name`, `expires` (`keep`, `never` or days), and those of {@linkcode modelsOf}.
 * @param key The key: it keeps models that are not served at present.
 * @throws {AccountError} If the expiry is not a number of days, or a model cannot be selected.
 */
export function keyChanges(
  form: FormFields,
  key: Key,
  { catalog, nowMs }: { readonly catalog: Catalog; readonly nowMs: number },
): {
  readonly name: string | undefined;
  readonly models: readonly string[] | null | undefined;
  readonly expires_at: string | null | undefined;
} {
  return {
    name: form.has("name") ? form.text("name") : undefined,
    models: form.has("allow") || form.has("models")
      ? modelsOf(form, catalog, key.models)
      : undefined,
    expires_at: !form.has("expires") || form.text("expires") === "keep"
      ? undefined
      : expiryOf(form, nowMs),
  };
}

/**
 * Reads the models of a form: `allow` says `all` or `listed`, and then `models` has their route IDs.
 *
 * @param before Models that were chosen before: they stay although they are not served at present.
 * @returns `null` for all.
 * @throws {AccountError} If nothing is selected, or a model that is not served under this very name: an alias may lead to
 *   another one than was shown.
 */
export function modelsOf(
  form: FormFields,
  catalog: Catalog,
  before: readonly string[] | null = null,
): readonly string[] | null {
  const isAll = form.choice("allow", "all models or only some", ["all", "listed"]) === "all";
  const served = catalog.routes.map(({ id }) => id);
  const chosen = form.choices("models", "models that are served", [...served, ...before ?? []]);
  if (isAll && chosen.length > 0) {
    throw new AccountError("Select either all models or only some of them");
  }
  if (isAll) return null;
  // a key that may use no model stays one
  if (chosen.length === 0 && before?.length !== 0) {
    throw new AccountError("Select at least one model, or all of them");
  }
  return chosen;
}

/**
 * Reads when a new key expires: `never`, or a number of days.
 *
 * @throws {AccountError} If it is neither.
 */
function expiryOf(form: FormFields, nowMs: number): string | null {
  if (form.text("expires") === "never") return null;
  if (form.text("expires") === "") throw new AccountError("Select when the key expires");
  return isoOf(nowMs + form.amount("expires", "Days", DAYS) * DAY_MS);
}

/** Reads a new key, as its operation takes it besides for whom it is. */
export function newKeyIn(form: FormFields, catalog: Catalog, nowMs: number): Json {
  return {
    id: form.text("id") || undefined,
    name: form.text("name"),
    models: modelsOf(form, catalog),
    expires_at: expiryOf(form, nowMs),
    budgets: budgetsOfForm(form),
  };
}

/** Reads how a key is rotated. @throws {AccountError} If for how long the present secret stays valid cannot be. */
export function rotationIn(form: FormFields): Json {
  const hours = form.count("hours", "Hours", KEEP_HOURS) ?? 0;
  return { keep_seconds: hours * HOUR_SECONDS, end_earlier: form.has("end_earlier") };
}

/** The secret of a key that was made or rotated, which its page shows once. */
export function madeOf({ key }: Json): { readonly made: string } {
  return { made: String(key) };
}
