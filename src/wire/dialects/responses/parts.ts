import { invalid } from "../../../ground/refusal.ts";
import { type JsonObject, type JsonValue, objects, text } from "../json.ts";
import { type MarkedText, markOf } from "../neutral/cache_marks.ts";
import { imageOf, type Part } from "../neutral/conversation.ts";

/**
 * The parts of a user's message or of a tool's result.
 *
 * @throws {Refusal} `request_invalid` for a part that cannot be translated: a user's content must not be dropped.
 */
export function partsOf(content: JsonValue | undefined): Part[] {
  if (typeof content === "string") return [{ type: "text", text: content }];
  return objects(content).map((part): Part => ({ ...partOf(part), ...markOf(part) }));
}

function partOf(part: JsonObject): Part {
  if (part.type === "input_image") {
    return imageOf(text(part.image_url) ?? "", part.detail);
  }
  if (part.type === "input_file") {
    const url = text(part.file_data) ?? text(part.file_url) ?? "";
    return { type: "document", title: text(part.filename), url };
  }
  const own = text(part.text) ?? text(part.refusal);
  if (own === undefined) {
    throw invalid(
      "input",
      `A part of type '${
        text(part.type)
      }' cannot be sent to this model's upstream: send input_text, input_image or input_file.`,
    );
  }
  return { type: "text", text: own };
}

/** The words in which the model declined. */
export function refusalIn(content: JsonValue | undefined): string {
  return objects(content).map((part) => text(part.refusal) ?? "").join("");
}

/** The texts of a message that can hold nothing else. */
export function textsOf(content: JsonValue | undefined): string[] {
  return markedTexts(content).map((part) => part.text);
}

/** The same with their marks for prompt caches. */
export function markedTexts(content: JsonValue | undefined): MarkedText[] {
  if (typeof content === "string") return [{ text: content }];
  return objects(content).flatMap((part) => {
    const own = text(part.text);
    return own === undefined ? [] : [{ text: own, ...markOf(part) }];
  });
}
