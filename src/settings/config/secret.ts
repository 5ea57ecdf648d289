/** A value that must not be printed, such as a key or token (P11). Converts to `[secret]` as text and JSON. */
export class Secret {
  readonly #value: string;

  constructor(value: string) {
    this.#value = value;
  }

  /**
   * Returns the value. Call this only to send or hash it.
   */
  reveal(): string {
    return this.#value;
  }

  toString(): string {
    return "[secret]";
  }

  toJSON(): string {
    return "[secret]";
  }

  [Symbol.for("Deno.customInspect")](): string {
    return "[secret]";
  }
}

/** Masks the password and the query values of a URL. */
export function maskAddress(text: string): string {
  if (!/^[a-z]+:\/\//.test(text)) return text;
  // what a password of a database has is often not percent-encoded, as it should be
  return text.replace(/^(postgres(?:ql)?:\/\/).*@|^([a-z]+:\/\/)[^/?#]*@/s, "$1$2[secret]@")
    .replace(/([?&][^=&#]*=)[^&#]*/g, "$1[secret]");
}

/** A name that the operator gives, which may have dots. */
const ANY = Symbol("any name");
/** Settings that may contain secrets, besides those of type {@linkcode Secret}, by the names that lead to them. */
const PRIVATE_PATHS: readonly (readonly (string | typeof ANY)[])[] = [
  ["upstreams", ANY, "headers", ANY],
  ["alerts", "receivers", ANY, "url"],
  ["payments", "stripe", "secretKey"],
  ["payments", "stripe", "webhookSecret"],
];

/** Whether the text at a path of the settings may be a secret. */
export function isPrivate(path: readonly PropertyKey[]): boolean {
  return PRIVATE_PATHS.some((names) =>
    names.length === path.length &&
    names.every((name, at) => name === ANY || name === path[at])
  );
}
