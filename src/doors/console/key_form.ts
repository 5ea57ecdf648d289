import { AccountError, type Key } from "../../people/accounts/mod.ts";
import type { Catalog } from "../../settings/catalog/mod.ts";
import { DAYS } from "../../settings/config/mod.ts";
import { isoOf } from "../../operating/operations/mod.ts";
import type { FormFields } from "./request.tsx";

const DAY_MS = 86_400_000;

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
export function expiryOf(form: FormFields, nowMs: number): string | null {
  if (form.text("expires") === "never") return null;
  if (form.text("expires") === "") throw new AccountError("Select when the key expires");
  return isoOf(nowMs + form.amount("expires", "Days", DAYS) * DAY_MS);
}
