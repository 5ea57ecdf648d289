/** The streams that tests use, with their types written down: the npm mirror ships none. */
import * as streamsModule from "@std/streams";

/** `@std/streams`: text as lines, without their ends. */
export const TextLineStream: new () => TransformStream<string, string> =
  streamsModule.TextLineStream;

/** Bytes as lines of text, as they arrive. */
export function linesOf(bytes: NonNullable<Response["body"]>): ReadableStream<string> {
  return bytes.pipeThrough(new TextDecoderStream()).pipeThrough(new TextLineStream());
}
