import { joinBytes } from "../bytes.ts";
import type { CoarseTimers } from "../coarse_timers.ts";
import { invalid } from "../refusal.ts";

/** Bounds of a request body. */
export interface BodyLimits {
  readonly bytes: number;
  /** Between two chunks. */
  readonly idleMs: number;
  readonly timers: CoarseTimers;
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
  const declared = request.headers.get("content-length");
  if (declared !== null && Number(declared) > limits.bytes) throw tooLarge(limits);
  const text = decodeUtf8(await readBytes(request, declared, limits));
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

/** Bodies of a declared length up to this are read in one go, which is much faster. */
const SMALL_BYTES = 1_048_576;

function readBytes(
  request: Request,
  declared: string | null,
  limits: BodyLimits,
): Promise<Uint8Array> {
  // Not looking at `request.body` keeps the platform's short way of reading a small body open.
  if (declared !== null && Number(declared) <= SMALL_BYTES) return readSmall(request, limits);
  return request.body === null
    ? Promise.resolve(new Uint8Array())
    : readPieces(request.body, limits);
}

/** The platform holds the body to its declared length. */
function readSmall(request: Request, limits: BodyLimits): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    const arrived = limits.timers.after(limits.idleMs, () => reject(tooLate(limits)));
    request.arrayBuffer().then((buffer) => resolve(new Uint8Array(buffer)), reject).finally(
      arrived,
    );
  });
}

async function readPieces(
  body: ReadableStream<Uint8Array>,
  limits: BodyLimits,
): Promise<Uint8Array> {
  const reader = body.getReader();
  const pieces: Uint8Array[] = [];
  let size = 0;
  let late = false;
  const giveUp = () => {
    late = true;
    reader.cancel().catch(() => {});
  };
  while (true) {
    const arrived = limits.timers.after(limits.idleMs, giveUp);
    const { done, value } = await reader.read().finally(arrived);
    if (late) throw tooLate(limits);
    if (done) break;
    size += value.byteLength;
    if (size > limits.bytes) {
      reader.cancel().catch(() => {});
      throw tooLarge(limits);
    }
    pieces.push(value);
  }
  return joinBytes(pieces, size);
}

function tooLate({ idleMs }: BodyLimits) {
  return invalid(undefined, `The body did not arrive: nothing came for ${idleMs} ms.`);
}

function tooLarge({ bytes }: BodyLimits) {
  return invalid(undefined, `The body is too large: at most ${bytes} bytes are taken.`);
}

const strictUtf8 = new TextDecoder("utf-8", { fatal: true });

/** Strict: the platform's own reader would put replacement characters into a prompt. */
function decodeUtf8(bytes: Uint8Array): string {
  try {
    return strictUtf8.decode(bytes);
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
