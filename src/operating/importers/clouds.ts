import { fillUrl, findKnownProvider } from "../../settings/known_providers/mod.ts";
import { slug } from "./names.ts";
import type { PlannedCloud, PlannedUpstream } from "./plan.ts";

/** The file that a service account's key is to be saved as, beside the settings. */
export const ACCOUNT_FILE = "google-service-account.json";

/**
 * An upstream of a cloud that the gateway knows as a provider.
 *
 * @param cloud Provider, region, project and credentials as the settings will have them.
 * @param keys Keys that it has instead of credentials.
 */
export function cloudUpstream(
  cloud: PlannedCloud,
  { name, keys = [] }: { readonly name: string; readonly keys?: readonly string[] },
): PlannedUpstream {
  const provider = findKnownProvider(cloud.provider)!;
  return {
    ref: JSON.stringify([cloud, keys]),
    name: slug(name, cloud.provider),
    url: cloud.url ?? fillUrl(provider, cloud).url,
    dialect: provider.dialect,
    keys,
    headers: {},
    discover: false,
    cloud,
  };
}

/** Whether a model is one of Anthropic's, which the clouds serve in a dialect of their own. */
export function isClaude(model: string): boolean {
  return /(^|[./])claude|anthropic\./.test(model);
}
