import type { Reason } from "../../../ground/refusal.ts";
import type { Json, Shape } from "./operation.ts";

/** An endpoint. Its further fields are those of an operation in OpenAPI. */
export interface Endpoint extends Readonly<Record<string, unknown>> {
  readonly at: readonly ["get" | "post", path: string];
  readonly operationId: string;
  readonly summary: string;
  readonly description?: string;
  readonly tag: "inference" | "account" | "operation" | "sign-in";
  readonly parameters?: readonly Json[];
  /** The content of the request's body. */
  readonly body?: Json;
  readonly replies: Readonly<Record<number, Json>>;
  /** Whose errors it has, and which. */
  readonly errors: readonly [Shape, readonly Reason[]];
}

/** For endpoints without a key. */
export const OPEN = { security: [] };
export const ANY_JSON = { "application/json": { schema: { type: "object" } } };

/** Replies of any JSON, by status. */
export function plain(words: Readonly<Record<number, string>>): Record<number, Json> {
  return Object.fromEntries(
    Object.entries(words).map((
      [status, description],
    ) => [status, { description, content: ANY_JSON }]),
  );
}
