import { Buffer } from "node:buffer";

/** Min tokens of a page: Anthropic's documentation says 1,500 to 3,000. */
const TOKENS_PER_PAGE = 1_500;
/** Names that are looked at in one PDF; services take some hundred pages. */
const MAX_NAMES = 10_000;
/** Bytes of text that one token stands for. */
const BYTES_PER_TOKEN = 4;

/**
 * Input tokens of a document: of a PDF by its pages, of another file by its size.
 *
 * A PDF whose pages are described in compressed objects counts as one page, as does one at an address, so that
 * nobody is refused for pages that are not there.
 *
 * @param url Its address, a base64 data URL, or base64.
 */
export function documentTokens(url: string): number {
  if (/^\s*https?:/i.test(url)) return TOKENS_PER_PAGE;
  const start = /^\s*data:[^,]{0,200};base64,/i.exec(url)?.[0].length ?? 0;
  const bytes = Buffer.from(url.slice(start), "base64");
  return bytes.indexOf("%PDF-") >= 0
    ? Math.max(1, pagesOf(bytes)) * TOKENS_PER_PAGE
    : Math.ceil(bytes.byteLength / BYTES_PER_TOKEN);
}

/** Pages that can be seen: described in plain objects, or numbered in the head of a linearised file. */
function pagesOf(pdf: Buffer): number {
  const head = pdf.subarray(0, 1_024).toString("latin1");
  const numbered = /\/Linearized\b/.test(head)
    ? Number(/\/N\s+(\d{1,6})\b/.exec(head)?.[1] ?? 0)
    : 0;
  let described = 0;
  let at = pdf.indexOf("/Page");
  for (let names = 0; at >= 0 && names < MAX_NAMES; names++) {
    const before = pdf.subarray(Math.max(0, at - 16), at).toString("latin1");
    const next = String.fromCharCode(pdf[at + 5] ?? 32);
    if (/\/Type\s*$/.test(before) && !/[A-Za-z]/.test(next)) described++;
    at = pdf.indexOf("/Page", at + 5);
  }
  return Math.max(numbered, described);
}
