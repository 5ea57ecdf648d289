import type { JsonBounds, JsonExcess } from "../json/mod.ts";
import type { Examined } from "../pixels/mod.ts";

/** Bytes for the thread that looks through what is large; their buffer goes there and comes back. */
export type Ask =
  & {
    readonly id: number;
    /** Given away with their whole buffer. */
    readonly bytes: Uint8Array<ArrayBuffer>;
  }
  & (
    /** A JSON text whose long base64 is to be detached. */
    | { readonly kind: "json"; readonly bounds: JsonBounds }
    /** One raw image. */
    | { readonly kind: "image" }
  );

/** A run of base64 in a JSON text. */
export interface Run {
  /** Positions of its first byte and of the one behind its last. */
  readonly start: number;
  readonly end: number;
  /** Raw bytes that it stands for. */
  readonly size: number;
  /** What an image in it would be. */
  readonly examined: Examined;
}

/** What was found. */
export type Answer =
  & { readonly id: number; readonly bytes: Uint8Array<ArrayBuffer> }
  & (
    | {
      readonly kind: "json";
      readonly runs: readonly Run[];
      /** Whether a number has 16 digits in a row. */
      readonly longDigits: boolean;
      /** The bound that the text exceeds; then no runs were looked for. */
      readonly excess: JsonExcess | undefined;
    }
    /** The bytes are the image in base64 then. */
    | { readonly kind: "image"; readonly examined: Examined }
  );
