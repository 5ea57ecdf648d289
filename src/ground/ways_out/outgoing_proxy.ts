import { Buffer } from "node:buffer";

/** A proxy that connections are made through. */
export interface OutgoingProxy {
  /** Name or IP address, without brackets. */
  readonly hostname: string;
  readonly port: number;
  /** Value of `Proxy-Authorization`: a secret. */
  readonly authorization: string | undefined;
  /** User name and password, as they are and as they are sent: texts that nothing may repeat. */
  readonly secrets: readonly string[];
  /** Address without user name and password, for people: `http://proxy.example:3128`. */
  readonly title: string;
  /** Whole address in its normal form: a secret. */
  readonly address: string;
}

const RIGHT = "must be the address of a proxy, such as http://proxy.example:3128";

/**
 * Reads the address of a proxy. Without a scheme it is `http://`, as curl takes it. User name and password are percent-encoded.
 *
 * @returns The proxy, or what is wrong with the address, in words that repeat nothing of it but its scheme.
 */
export function readProxy(text: string): OutgoingProxy | { readonly fault: string } {
  const trimmed = text.trim();
  const [, scheme] = /^([a-z][a-z0-9+.-]{0,20}):\/\//i.exec(trimmed) ?? [];
  if (scheme !== undefined && !/^http$/i.test(scheme)) {
    const what = /^socks/i.test(scheme)
      ? "SOCKS proxies are"
      : /^https$/i.test(scheme)
      ? "TLS to the proxy itself is"
      : `the scheme ${scheme.toLowerCase()}:// is`;
    return { fault: `${RIGHT}: ${what} not supported` };
  }
  let url: URL;
  let user: string;
  let password: string;
  try {
    url = new URL(scheme === undefined ? `http://${trimmed}` : trimmed);
    [user, password] = [decodeURIComponent(url.username), decodeURIComponent(url.password)];
  } catch {
    return {
      fault: `${RIGHT}; characters such as @ : / # % in a user name or password are written ` +
        "%40 %3A %2F %23 %25",
    };
  }
  if (url.pathname !== "/" || url.search !== "" || url.hash !== "" || /\s/.test(trimmed)) {
    return { fault: `${RIGHT}, without a path, query or fragment` };
  }
  const hasUser = user !== "" || password !== "";
  const basic = hasUser ? Buffer.from(`${user}:${password}`).toString("base64") : undefined;
  const port = url.port === "" ? 80 : Number(url.port);
  return {
    hostname: url.hostname.replace(/^\[(.*)\]$/, "$1"),
    port,
    authorization: basic === undefined ? undefined : `Basic ${basic}`,
    secrets: basic === undefined ? [] : [basic, user, password, url.password, url.username],
    title: `http://${url.hostname}:${port}`,
    address: url.href.replace(/\/$/, ""),
  };
}
