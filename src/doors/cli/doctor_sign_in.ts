import { OidcProvider, SignInError } from "../../people/sign_in/mod.ts";
import { type Config, proxyOf } from "../../settings/config/mod.ts";
import { failed, type Finding, ok } from "./finding.ts";
import { hostAndWay, proxyAdvice } from "./way_out.ts";

/** Reads what each provider of sign-in says of itself. Nobody is signed in. */
export async function signInFindings(
  { settings: { signIn, proxies } }: Config,
  now: () => number,
): Promise<Finding[]> {
  return await Promise.all((signIn?.oidc ?? []).map(async (provider) => {
    const check = `sign-in ${provider.name}`;
    try {
      await new OidcProvider(provider, { now, proxyFor: (url) => proxyOf(url, { proxies }) })
        .check();
      return ok(
        check,
        `${hostAndWay(provider.issuer, { proxies })} describes itself as the issuer`,
      );
    } catch (error) {
      if (!(error instanceof SignInError)) throw error;
      const why = error.cause instanceof Error ? `: ${error.cause.message}` : "";
      return failed(
        check,
        `${error.message}${error.isDown ? why : ""}`,
        proxyAdvice(why) ?? "compare its issuer with the provider's own page: see docs/sign_in.md",
      );
    }
  }));
}
