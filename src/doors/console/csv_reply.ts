import { textStream } from "../../ground/web/mod.ts";

/** Tells spreadsheets that a file is UTF-8: Excel reads names in the system's own encoding without it. */
const BYTE_ORDER_MARK = "\ufeff";

/**
 * Returns CSV as a download for people: it opens in spreadsheets with its names whole. Commands and the API, which programs
 * read, write it without the mark in front.
 *
 * @param text The text, or pieces of it that are made as they are read: a client that reads slowly holds up nobody.
 */
export function csvReply(file: string, text: string | AsyncGenerator<string>): Response {
  const body = typeof text === "string"
    ? `${BYTE_ORDER_MARK}${text}`
    : textStream(text, BYTE_ORDER_MARK);
  return new Response(body, {
    headers: {
      "content-type": "text/csv; charset=utf-8",
      "content-disposition": `attachment; filename="${file}"`,
    },
  });
}
