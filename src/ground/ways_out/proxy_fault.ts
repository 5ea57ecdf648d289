/** How a proxy failed; see {@linkcode ProxyFault}. */
export type ProxyFaultCode =
  /** No connection to it. */
  | "ERR_PROXY_CONNECTION"
  /** It, or what it connects to, takes too long. */
  | "ERR_PROXY_TIMEOUT"
  /** It wants credentials, or others. */
  | "ERR_PROXY_AUTHENTICATION"
  /** It refuses to connect, or cannot. */
  | "ERR_PROXY_REFUSED"
  /** It closed the connection, or its reply is not HTTP. */
  | "ERR_PROXY_RESPONSE";

/**
 * Thrown when a connection fails by the proxy that it goes through. The target has seen no request. The message is a sentence
 * without an address, which may be shown to anyone.
 */
export class ProxyFault extends Error {
  override readonly name = "ProxyFault";
  readonly code: ProxyFaultCode;

  constructor(code: ProxyFaultCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

/** Makes the fault for status 407, which tells whether the proxy got any credentials. */
export function authenticationFault(
  proxy: { readonly authorization: string | undefined },
): ProxyFault {
  return new ProxyFault(
    "ERR_PROXY_AUTHENTICATION",
    proxy.authorization === undefined
      ? "the proxy asks for a user name and password (407)"
      : "the proxy rejects the user name and password (407)",
  );
}
