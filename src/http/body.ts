import { invalid } from "../refusal.ts";

/** Bounds of a request body. */
export interface BodyLimits {
  readonly bytes: number;
  /** Between two chunks. */
  readonly idleMs: number;
}

/** Arrays and objects within each other at the most. */
const MAX_DEPTH = 100;

/**
 * Reads a request's body as JSON, within bounds that do not trust its headers.
 *
 * @throws {Refusal} `request_invalid` saying what is wrong with it.
 */
export async function readJson(request: Request, limits: BodyLimits): Promise<unknown> {
  const encoding = request.headers.get("content-encoding");
  if (encoding !== null && encoding.toLowerCase() !== "identity") {
    throw invalid(
      undefined,
      `The body must not be compressed: its content-encoding is '${encoding.slice(0, 40)}'.`,
    );
  }
  const declared = Number(request.headers.get("content-length") ?? "0");
  if (declared > limits.bytes) throw tooLarge(limits);
  const text = decodeUtf8(await readBytes(request, limits));
  if (text.trim() === "") throw invalid(undefined, "The body is empty: it must be a JSON object.");
  if (deeperThan(text, MAX_DEPTH)) {
    throw invalid(undefined, `The body must not be nested deeper than ${MAX_DEPTH} levels.`);
  }
  try {
    return JSON.parse(text);
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw invalid(undefined, `The body is not valid JSON: ${why.slice(0, 200)}.`);
  }
}

async function readBytes(request: Request, limits: BodyLimits): Promise<Uint8Array> {
  if (request.body === null) return new Uint8Array();
  const reader = request.body.getReader();
  const chunks: Uint8Array[] = [];
  let size = 0;
  let late = false;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const giveUp = () => {
    late = true;
    reader.cancel().catch(() => {});
  };
  try {
    while (true) {
      clearTimeout(timer);
      timer = setTimeout(giveUp, limits.idleMs);
      const { done, value } = await reader.read();
      if (late) {
        throw invalid(undefined, `The body did not arrive: nothing came for ${limits.idleMs} ms.`);
      }
      if (done) break;
      size += value.byteLength;
      if (size > limits.bytes) {
        reader.cancel().catch(() => {});
        throw tooLarge(limits);
      }
      chunks.push(value);
    }
  } finally {
    clearTimeout(timer);
  }
  if (chunks.length === 1) return chunks[0]!;
  const whole = new Uint8Array(size);
  let at = 0;
  for (const chunk of chunks) {
    whole.set(chunk, at);
    at += chunk.byteLength;
  }
  return whole;
}

function tooLarge({ bytes }: BodyLimits) {
  return invalid(undefined, `The body is too large: at most ${bytes} bytes are taken.`);
}

/** Strict: the platform's own reader would put replacement characters into a prompt. */
function decodeUtf8(bytes: Uint8Array): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch (cause) {
    throw Object.assign(invalid(undefined, "The body is not valid UTF-8."), { cause });
  }
}

/** Whether JSON text nests deeper than is safe to walk; told before anything walks it. */
function deeperThan(text: string, limit: number): boolean {
  let depth = 0;
  let inString = false;
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index);
    if (inString) {
      if (code === 92) index++; // a backslash and what it escapes
      else if (code === 34) inString = false;
    } else if (code === 34) {
      inString = true;
    } else if (code === 123 || code === 91) {
      if (++depth > limit) return true;
    } else if (code === 125 || code === 93) {
      depth--;
    }
  }
  return false;
}
