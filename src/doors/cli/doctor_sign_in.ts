import { checkProvider } from "../../people/sign_in/mod.ts";
import { providerWays } from "../../operating/provisioning/mod.ts";
import type { Config } from "../../settings/config/mod.ts";
import { type Finding, ok } from "../../ground/finding.ts";

/** Looks at the providers that people sign in with: what is wrong of each, or the address that it has to know. */
export async function signInFindings(
  { settings }: Pick<Config, "settings">,
  now: () => number,
): Promise<Finding[]> {
  const { publicUrl, signIn } = settings;
  const all = await Promise.all((signIn?.oidc ?? []).map(async (provider) => {
    const name = `sign-in ${provider.name}`;
    const options = { ...providerWays(settings), publicUrl, now };
    const steps = await checkProvider(provider, options);
    const wrong = steps.filter(({ state }) => state !== "ok");
    return wrong.length === 0
      ? [ok(name, `${provider.issuer}; ${steps.at(-1)!.detail}`)]
      : wrong.map((step) => ({ ...step, check: name, detail: `${step.check}: ${step.detail}` }));
  }));
  return all.flat();
}
