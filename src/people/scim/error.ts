/** Kinds of errors of RFC 7644, section 3.12. */
export type ScimType =
  | "invalidFilter"
  | "invalidPath"
  | "invalidSyntax"
  | "invalidValue"
  | "mutability"
  | "noTarget"
  | "uniqueness";

/** Thrown for a request of a directory that cannot be carried out. The message is for its operator, with a final full stop. */
export class ScimError extends Error {
  override readonly name = "ScimError";
  readonly status: number;
  readonly scimType: ScimType | undefined;

  /** @param kind The kind of error, or the status of a reply that has none. */
  constructor(kind: ScimType | 403 | 404 | 412, message: string, options?: ErrorOptions) {
    super(message, options);
    this.status = typeof kind === "number" ? kind : kind === "uniqueness" ? 409 : 400;
    this.scimType = typeof kind === "number" ? undefined : kind;
  }
}
