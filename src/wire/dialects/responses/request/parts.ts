import { invalid } from "../../../../ground/refusal.ts";
import { type MarkedText, markOf } from "../../neutral/cache_marks.ts";
import { imageOf, type Part } from "../../neutral/conversation.ts";
import type { RequestFields } from "../../request_fields.ts";

/**
 * The parts of a user's message or of a tool's result.
 *
 * @throws {Refusal} `request_invalid` for a part that cannot be translated: a user's content must not be dropped.
 */
export function partsOf(item: RequestFields, field: "content" | "output"): Part[] {
  return item.textOrList(field).map((part) => ({ ...partOf(part), ...markOf(part.object) }));
}

function partOf(part: RequestFields): Part {
  const { type } = part;
  if (part.object.detail === "auto") part.ignore("detail"); // the same as none
  if (type === "input_image") return imageOf(part.text("image_url") ?? "", part.get("detail"));
  if (type === "input_file") {
    const data = part.text("file_data");
    const address = part.text("file_url");
    return { type: "document", title: part.text("filename"), url: data ?? address ?? "" };
  }
  const own = part.text("text") ?? part.text("refusal");
  if (own === undefined) {
    throw invalid(
      "input",
      `A part of type '${type}' cannot be sent to this model's upstream: send input_text, input_image or input_file.`,
    );
  }
  return { type: "text", text: own };
}

/** The parts of an item that can hold nothing but texts, and words in which the model declined. */
export function piecesOf(
  item: RequestFields,
  field: "content" | "summary" = "content",
): (MarkedText & { readonly refusal: string })[] {
  return item.textOrList(field).flatMap((part) => {
    const { type } = part;
    const own = part.text("text");
    const refusal = part.text("refusal");
    if (own === undefined && refusal === undefined) {
      part.drop(`input.${type}`);
      return [];
    }
    return { text: own ?? "", refusal: refusal ?? "", ...markOf(part.object) };
  });
}
