/** One server of a URL. */
export interface Host {
  readonly host: string;
  readonly port: number;
}

/** What a URL `postgres://user:password@a:5432,b/database?target_session_attrs=read-write` says. */
export interface Place {
  readonly hosts: readonly Host[];
  readonly user: string | undefined;
  readonly password: string | undefined;
  readonly database: string | undefined;
  /** Whether a server that only reads, a standby, is passed over. */
  readonly mustWrite: boolean;
  readonly tls: "none" | "unchecked" | "checked";
}

const PARTS = /^postgres(?:ql)?:\/\/(?:([^@/?]*)@)?([^/?]+)(?:\/([^?]*))?(?:\?(.*))?$/;
const TLS = { disable: "none", require: "unchecked", "verify-full": "checked" } as const;
const DEFAULT_PORT = 5432;

/** Whether a URL is one of PostgreSQL. */
export function isPostgres(url: string): boolean {
  return /^postgres(?:ql)?:/.test(url);
}

/**
 * Parses a URL.
 *
 * @throws {TypeError} If it is none, or has a parameter or value that is not known.
 */
export function placeOf(url: string): Place {
  const parts = PARTS.exec(url);
  if (parts === null) throw new TypeError("Invalid URL of a PostgreSQL database");
  const [, account = "", hosts, database, query] = parts;
  const [user, password] = account.split(":").map(decodeURIComponent);
  const { target_session_attrs: target = "any", sslmode = "disable", ...others } = Object
    .fromEntries(new URLSearchParams(query));
  const [unknown] = Object.keys(others);
  if (unknown !== undefined) {
    throw new TypeError(`Unknown parameter '${unknown}' of a PostgreSQL URL`);
  }
  if (!["any", "read-write"].includes(target)) {
    throw new TypeError("target_session_attrs must be 'any' or 'read-write'");
  }
  if (!Object.hasOwn(TLS, sslmode)) {
    throw new TypeError("sslmode must be 'disable', 'require' or 'verify-full'");
  }
  return {
    hosts: hosts!.split(",").map((one) => {
      const [, host, port] = /^(\[[^\]]+\]|[^:]*)(?::(\d+))?$/.exec(one) ?? [];
      if (!host) throw new TypeError("Invalid host in the URL of a PostgreSQL database");
      return { host: host.replace(/^\[|\]$/g, ""), port: Number(port ?? DEFAULT_PORT) };
    }),
    user: user || undefined,
    password,
    database: database || undefined,
    mustWrite: target === "read-write",
    tls: TLS[sslmode as keyof typeof TLS],
  };
}
