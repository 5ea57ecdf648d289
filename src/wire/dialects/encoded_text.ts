/** Shorter texts count as text anyway. */
const MIN_BASE64_CHARS = 64;
const SAMPLE_CHARS = 4_096;
/** Part of it that is capitals and digits, at least. */
const MIN_MARKED = 0.3;
/** It may be broken into lines, as mail does it. */
const MIN_LINE_CHARS = 60;

/**
 * Whether a text is base64 of bytes, and not words without spaces: those have few capitals and digits. Asked before
 * anything is decoded: the platform's decoder takes minutes for megabytes of other characters (Deno 2.9).
 */
export function isBase64(value: string, legal = /^[A-Za-z0-9+/=\r\n]*$/): boolean {
  if (value.length < MIN_BASE64_CHARS || !legal.test(value)) return false;
  const sample = value.slice(0, SAMPLE_CHARS);
  const marked = sample.replace(/[^A-Z0-9]/g, "").length / sample.length;
  const lines = sample.split("\n").length - 1;
  return marked > MIN_MARKED && lines <= sample.length / MIN_LINE_CHARS;
}

/** Whether an address is that of an inline picture. */
export function isPicture(url: string): boolean {
  const start = /^data:image\/[a-z+.-]{1,20};base64,/.exec(url)?.[0].length;
  return start !== undefined && isBase64(url.slice(start));
}

/** Whether a text is sealed: base64, also in the alphabet of URLs, maybe with the mark of the gateway's own. */
export function isSealedText(value: string): boolean {
  return isBase64(value, /^(?:sl1\.)?[A-Za-z0-9+/=_\r\n-]*$/);
}
