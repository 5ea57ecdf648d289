import type { Key } from "../../people/accounts/mod.ts";
import type { Catalog } from "../../settings/catalog/mod.ts";
import { DAYS } from "../../settings/config/mod.ts";
import { isoOf } from "../../operating/operations/mod.ts";
import type { FormFields } from "./request.tsx";

const DAY_MS = 86_400_000;

/**
 * Reads the changes of a key from a form, as their operation takes them. A field that was not sent changes nothing.
 *
 * @param form The fields `name`, `expires` (`keep`, `never` or days), and `models` if there is `choice`.
 * @param key The key: it keeps models that are not served at present.
 * @throws {AccountError} If the expiry is not a number of days.
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
    models: form.has("choice") ? modelsOf(form, catalog, key.models) : undefined,
    expires_at: expiryOf(form, nowMs),
  };
}

/** Models of a form that are served, or that were chosen before, as they may be served again; `null` for all. */
export function modelsOf(
  form: FormFields,
  catalog: Catalog,
  before: readonly string[] | null = null,
): readonly string[] | null {
  const chosen = form.all("models").filter((id) =>
    catalog.find(id) !== undefined || (before?.includes(id) ?? false)
  );
  return chosen.length === 0 ? null : chosen;
}

function expiryOf(form: FormFields, nowMs: number): string | null | undefined {
  const text = form.text("expires");
  if (text === "" || text === "keep") return undefined;
  return text === "never" ? null : isoOf(nowMs + form.amount("expires", "Days", DAYS) * DAY_MS);
}
