/** What codes of the platform's sockets, and of TLS mean. */
const WORDS: Readonly<Record<string, string>> = {
  ECONNREFUSED: "the connection was refused",
  ENOTFOUND: "the host name is unknown",
  EAI_AGAIN: "the host name could not be looked up",
  EAI_FAIL: "the host name could not be looked up",
  EHOSTUNREACH: "the host cannot be reached",
  ENETUNREACH: "the network cannot be reached",
  EADDRNOTAVAIL: "no local port is free for a connection",
  EMFILE: "too many files and connections are open on this machine",
  ENFILE: "too many files and connections are open on this machine",
  ECONNRESET: "the connection was closed early",
  ECONNABORTED: "the connection was closed early",
  EPIPE: "the connection was closed early",
  ETIMEDOUT: "no connection in time",
  CERT_HAS_EXPIRED: "the certificate has expired",
  ERR_TLS_CERT_ALTNAME_INVALID: "the certificate is for another host name",
};

/** Families of codes, and messages of errors that have no code: Deno 2.4 gives certificates none. */
const PATTERNS: readonly (readonly [text: RegExp, words: string])[] = [
  [/peer certificate: (Expired|certificate expired)/i, WORDS.CERT_HAS_EXPIRED!],
  [
    /peer certificate: .*(NotValidForName|not valid for name)/i,
    WORDS.ERR_TLS_CERT_ALTNAME_INVALID!,
  ],
  [
    /SELF_SIGNED|^UNABLE_TO_|^CERT_|peer certificate/i,
    "the certificate is not trusted",
  ],
  [/failed to lookup address/i, WORDS.ENOTFOUND!],
  [/^proto error/, WORDS.EAI_AGAIN!], // of `Deno.resolveDns`, which gives no code
  [/^ERR_(SSL|TLS)_|^EPROTO\b|InvalidContentType|corrupt message/, "TLS failed"],
];

/**
 * Says in plain words why a connection or a request over it failed, without the address, which may be a secret.
 *
 * @param error What was thrown.
 * @returns Words that follow a colon, such as `no response in time`; `undefined` for an error that is not known.
 */
export function networkErrorWords(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined;
  const { code } = error as { code?: unknown };
  const name = typeof code === "string" ? code : "";
  if (Object.hasOwn(WORDS, name)) return WORDS[name];
  // in plain words; see `ways_out/` and `http1/`
  if (/^ERR_(PROXY|REPLY|REQUEST)_/.test(name)) return error.message;
  const text = `${name} ${error.message}`.trim();
  return PATTERNS.find(([pattern]) => pattern.test(text))?.[1];
}
