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
