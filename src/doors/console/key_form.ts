import { AccountError, type Key } from "../../people/accounts/mod.ts";
import type { Catalog, Route } from "../../settings/catalog/mod.ts";
import { DAYS } from "../../settings/config/mod.ts";
import {
  AT_ONCE,
  isoOf,
  type Json,
  KEEP_HOURS,
  KEY_REVOKE,
  KEY_ROTATE,
  KEY_UPDATE,
} from "../../operating/operations/mod.ts";
import { addBudgetForms, budgetsOfForm } from "./budget_form.ts";
import type { FormRow, PostForm } from "./forms.ts";
import type { MadeKey } from "./pages/key_forms.tsx";
import type { ConsoleParts, FormFields } from "./request.tsx";
import { DAY_MS } from "../../ground/time.ts";

const HOUR_SECONDS = 3_600;

/**
 * Reads the changes of a key from a form, as their operation takes them. A field that was not sent changes nothing.
 *
 * @param form The fields `name`, `at_once`, `expires` (`keep`, `never` or days), and those of {@linkcode modelsOf}.
 * @param key The key: it keeps models that are not served at present.
 * @throws {AccountError} If the expiry is not a number of days, `at_once` no number of requests, or a model cannot be selected.
 */
function keyChanges(
  form: FormFields,
  key: Key,
  { catalog, nowMs }: { readonly catalog: Catalog; readonly nowMs: number },
): Json {
  return {
    name: form.has("name") ? form.text("name") : undefined,
    models: form.has("allow") || form.has("models")
      ? modelsOf(form, catalog, key.models)
      : undefined,
    expires_at: !form.has("expires") || form.text("expires") === "keep"
      ? undefined
      : expiryOf(form, nowMs),
    at_once: form.has("at_once") ? atOnceOf(form) : undefined,
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

/** Reads how many requests of a key may be in flight: `null` for any number. @throws {AccountError} If it is no such number. */
function atOnceOf(form: FormFields): number | null {
  return form.count("at_once", "Requests at once", AT_ONCE) ?? null;
}

/** Reads a new key, as its operation takes it besides for whom it is. */
export function newKeyIn(form: FormFields, catalog: Catalog, nowMs: number): Json {
  return {
    id: form.text("id") || undefined,
    name: form.text("name"),
    models: modelsOf(form, catalog),
    expires_at: expiryOf(form, nowMs),
    at_once: atOnceOf(form),
    budgets: budgetsOfForm(form),
  };
}

/** Reads how a key is rotated. @throws {AccountError} If for how long the present secret stays valid cannot be. */
function rotationIn(form: FormFields): Json {
  const hours = form.count("hours", "Hours", KEEP_HOURS) ?? 0;
  return { keep_seconds: hours * HOUR_SECONDS, end_earlier: form.has("end_earlier") };
}

/** Reads a key that was made or rotated, whose secret its page shows once, from the reply of the operation. */
export function madeOf(
  { catalog }: Pick<ConsoleParts, "catalog">,
): (reply: Json) => { readonly made: MadeKey } {
  return ({ key, models }) => {
    const isUsable = ({ id, kind }: Route) =>
      kind === "generation" && (!Array.isArray(models) || models.includes(id));
    const usable = catalog().routes.filter(isUsable).map(({ id }) => id);
    return { made: { secret: String(key), models: usable } };
  };
}

/** Adds the forms about a key that there is, which a row of them finds. */
export function addKeyForms<Page, About extends { readonly key: Key }>(
  post: PostForm<Page, { readonly made?: MadeKey }>,
  parts: Pick<ConsoleParts, "catalog" | "database" | "now">,
  path: string,
  ofKey: Required<Pick<FormRow<Page, About, never>, "about">> & { readonly missing?: string },
): void {
  const { catalog, now } = parts;
  post<About>(`${path}/revoke`, KEY_REVOKE, { ...ofKey, done: "revoked" });
  post<About>(`${path}/update`, KEY_UPDATE, {
    ...ofKey,
    input: (form, { key }) => keyChanges(form, key, { catalog: catalog(), nowMs: now() }),
    done: "key",
  });
  post<About>(`${path}/rotate`, KEY_ROTATE, { ...ofKey, input: rotationIn, shows: madeOf(parts) });
  addBudgetForms(post, parts, {
    ...ofKey,
    path,
    owner: ({ key }: About) => ({ owner: "key", ownerId: key.id }),
  });
}
