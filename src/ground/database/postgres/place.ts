/** One server of a URL. */
export interface Host {
  /** Its name or address, or the directory of its socket, which begins with a slash. */
  readonly host: string;
  readonly port: number;
}

/** How a connection is encrypted, as libpq names it; weaker ones come first. */
const TLS = ["disable", "prefer", "require", "verify-ca", "verify-full"] as const;

/** What a URL `postgres://user:password@a:5432,b/database?target_session_attrs=read-write` says. */
export interface Place {
  readonly hosts: readonly Host[];
  readonly user: string | undefined;
  readonly password: string | undefined;
  readonly database: string;
  /** Whether a server that only reads, a standby, is passed over. */
  readonly mustWrite: boolean;
  readonly tls: (typeof TLS)[number];
  /** Paths of PEM files: authorities of servers, and the client's own certificate and its key. */
  readonly files: {
    readonly ca?: string | undefined;
    readonly cert?: string | undefined;
    readonly key?: string | undefined;
  };
}

const PARTS = /^postgres(?:ql)?:\/\/(?:([^@/?#]*)@)?([^@/?#]+)\/([^/?#]+)(?:\?([^#]*))?$/;
const PARAMETERS = ["target_session_attrs", "sslmode", "sslrootcert", "sslcert", "sslkey"];
const TARGETS = ["read-write", "any"];
const DEFAULT_PORT = 5432;

/** Whether a URL is one of PostgreSQL. */
export function isPostgres(url: string): boolean {
  return /^postgres(?:ql)?:/.test(url);
}

/**
 * Parses a URL.
 *
 * @param password Used if the URL has none.
 * @throws {TypeError} If it is none, or has a parameter or value that is not known; the message goes on after the name of a setting, and
 *   has nothing of the URL but names of parameters.
 */
export function placeOf(url: string, password?: string): Place {
  const [, account = "", hosts = "", database = "", query] = PARTS.exec(url) ?? [];
  if (hosts === "") {
    throw new TypeError(
      "must be postgres://[USER[:PASSWORD]@]HOST[:PORT][,HOST[:PORT]]/DATABASE[?PARAMETERS], with user name and " +
        "password percent-encoded",
    );
  }
  // as libpq takes them: a password may have colons, and a plus stands for itself
  const [, user = "", own = ""] = /^([^:]*)(?::(.*))?$/s.exec(account)!.map((part = "") =>
    decoded(part)
  );
  const given = Object.fromEntries(new URLSearchParams(query?.replaceAll("+", "%2B")));
  const unknown = Object.keys(given).find((name) => !PARAMETERS.includes(name));
  if (unknown !== undefined) {
    throw new TypeError(
      `must not have the parameter '${unknown}'; known ones are ${PARAMETERS.join(", ")}`,
    );
  }
  const { sslrootcert, sslcert: cert, sslkey: key } = given;
  const ca = sslrootcert === "system" ? undefined : sslrootcert;
  for (const path of [ca, cert, key]) {
    if (path !== undefined && !/^(?:[\\/]|[A-Za-z]:)/.test(path)) {
      throw new TypeError("must name certificates by absolute paths (or sslrootcert=system)");
    }
  }
  if ((cert === undefined) !== (key === undefined)) {
    throw new TypeError("must have sslcert and sslkey together");
  }
  return {
    hosts: hosts.split(",").map(hostOf),
    user: user || undefined,
    password: own || password,
    database: decoded(database),
    mustWrite: oneOf(TARGETS, given, "target_session_attrs", "read-write") === "read-write",
    tls: oneOf(TLS, given, "sslmode", sslrootcert === undefined ? "prefer" : "verify-full"),
    files: { ca, cert, key },
  };
}

function hostOf(text: string): Host {
  const [, host, port] = /^(\[[^\]]+\]|[^:]+)(?::(\d+))?$/.exec(text) ?? [];
  if (host === undefined || Number(port) > 65_535) {
    throw new TypeError("must have a host between commas, or HOST:PORT");
  }
  return { host: decoded(host.replace(/^\[|\]$/g, "")), port: Number(port ?? DEFAULT_PORT) };
}

function oneOf<One extends string>(
  all: readonly One[],
  given: Readonly<Record<string, string>>,
  name: string,
  byDefault: One,
): One {
  const value = given[name] ?? byDefault;
  const found = all.find((one) => one === value);
  if (found === undefined) throw new TypeError(`must have as ${name} one of ${all.join(", ")}`);
  return found;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch (cause) {
    throw new TypeError("must be percent-encoded: write % as %25", { cause });
  }
}
