import { invalid } from "../../../ground/refusal.ts";
import { type JsonValue, objects, text } from "../json.ts";
import { imageOf, type Part } from "../neutral/conversation.ts";

/**
 * The parts of a user's message or of a tool's result.
 *
 * @throws {Refusal} `request_invalid` for a part that cannot be translated: a user's content must not be dropped.
 */
export function partsOf(content: JsonValue | undefined): Part[] {
  if (typeof content === "string") return [{ type: "text", text: content }];
  return objects(content).map((part): Part => {
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
  });
}

/** The words in which the model declined. */
export function refusalIn(content: JsonValue | undefined): string {
  return objects(content).map((part) => text(part.refusal) ?? "").join("");
}

/** The texts of a message that can hold nothing else. */
export function textsOf(content: JsonValue | undefined): string[] {
  if (typeof content === "string") return [content];
  return objects(content).flatMap((part) => text(part.text) ?? []);
}
