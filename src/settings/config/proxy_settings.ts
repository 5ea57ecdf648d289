import * as z from "zod";
import {
  isNear,
  type OutgoingProxy,
  readExceptions,
  readProxy,
} from "../../ground/ways_out/mod.ts";
import { Secret } from "./secret.ts";

/** A variable of the environment that the file names and that is not set, which only commands that serve nothing let pass. */
const UNSET = /\$\{\w+\}/;

function readAddress(text: string, context: z.RefinementCtx): Secret {
  if (UNSET.test(text)) return new Secret(text);
  const proxy = readProxy(text);
  if (!("fault" in proxy)) return new Secret(proxy.address);
  context.addIssue({ code: "custom", message: proxy.fault });
  return z.NEVER;
}

/** The address of a proxy; a secret, since it may have a password. */
const proxyAddress = z.string().transform(readAddress);

/** The address of a proxy, or `"none"` for a direct connection. */
export const proxySetting = z.string().transform((text, context) =>
  text === "none" ? text : readAddress(text, context)
);

/** Schema of the proxies for what goes out. */
export const proxySettings = z.strictObject({
  https: proxyAddress.optional().describe(
    "Proxy for https:// addresses: `http://[USER:PASSWORD@]HOST:PORT`, with user name and password percent-encoded. Treated as " +
      "a secret. `HTTPS_PROXY`, `ALL_PROXY`",
  ),
  http: proxyAddress.optional().describe(
    "Proxy for http:// addresses. Treated as a secret. `HTTP_PROXY`, `ALL_PROXY`",
  ),
  except: z.array(z.string()).default([]).describe(
    "What is reached without them: `example.com` and all below it, `.example.com` only what is below it, addresses, ranges such as " +
      "10.0.0.0/8, each with `:PORT` if wanted, or `*`. This machine always is. `NO_PROXY`",
  ),
});
/** Proxies for what goes out. */
export type ProxySettings = z.output<typeof proxySettings>;

/** A variable of the environment that says something of proxies. */
interface ProxyVariable {
  readonly name: string;
  readonly setting: keyof ProxySettings;
  readonly value: string | readonly string[];
  readonly isFaulty: boolean;
}

/** Which variables give which setting, in curl's order: the first that is set counts. */
const VARIABLES: Readonly<Record<keyof ProxySettings, readonly string[]>> = {
  https: ["https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"],
  http: ["http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"],
  except: ["no_proxy", "NO_PROXY"],
};

/** What the environment says of proxies. */
export function proxyVariables(env: Readonly<Record<string, string>>): ProxyVariable[] {
  return (Object.keys(VARIABLES) as (keyof ProxySettings)[]).flatMap((setting) => {
    const name = VARIABLES[setting].find((one) => (env[one] ?? "").trim() !== "");
    if (name === undefined) return [];
    const text = env[name]!;
    const value = setting === "except" ? text.split(/[,\s]+/).filter(Boolean) : text;
    const isFaulty = !proxySettings.safeParse({ [setting]: value }).success;
    return [{ name, setting, value, isFaulty }];
  });
}

/** The proxies of the environment alone, without faulty ones, for commands that run before there are settings. */
export function proxiesIn(env: Readonly<Record<string, string>>): ProxySettings {
  const given = proxyVariables(env).filter(({ isFaulty }) => !isFaulty)
    .map(({ setting, value }) => [setting, value]);
  return proxySettings.parse(Object.fromEntries(given));
}

/** What decides which way a connection takes. */
export interface WayOut {
  /** Proxies of the settings and the environment. */
  readonly proxies?: ProxySettings | undefined;
  /** What the settings say for this purpose, which wins. */
  readonly proxy?: Secret | string | undefined;
}

/**
 * Returns the proxy that a connection to an address goes through, by the rules of curl and Go. This machine and link-local addresses are
 * reached directly, unless the settings name a proxy for this purpose.
 *
 * @returns `undefined` for a direct connection.
 * @throws {TypeError} If the proxy's address names a variable that is not set.
 */
export function proxyOf(url: URL, { proxy, proxies }: WayOut): OutgoingProxy | undefined {
  if (proxy !== undefined) return proxy instanceof Secret ? known(proxy) : undefined;
  const isTls = url.protocol === "https:";
  const address = isTls ? proxies?.https : proxies?.http;
  if (proxies === undefined || address === undefined || isNear(url.hostname)) return undefined;
  const port = url.port === "" ? (isTls ? 443 : 80) : Number(url.port);
  const isException = readExceptions(proxies.except.join(","))(url.hostname, port);
  return isException ? undefined : known(address);
}

function known(address: Secret): OutgoingProxy {
  const proxy = readProxy(address.reveal());
  if (!("fault" in proxy)) return proxy;
  throw new TypeError("The address of the proxy names an environment variable that is not set");
}
