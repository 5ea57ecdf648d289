import type { Caller } from "../../people/accounts/mod.ts";
import type { Route } from "../../settings/catalog/mod.ts";
import { Refusal } from "../../ground/refusal.ts";

/** @throws {Refusal} `permission_denied` if the caller's key is for other models. */
export function checkPermission({ models }: Caller, { id }: Route): void {
  if (models === null || models.has(id)) return;
  const allowed = models.size === 0
    ? "none, as its team allows none of them"
    : [...models].join(", ");
  throw new Refusal(
    "permission_denied",
    `This API key may not use the model '${id}'. It may use: ${allowed}.`,
    { param: "model" },
  );
}
