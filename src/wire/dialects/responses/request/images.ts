import { invalid } from "../../../../ground/refusal.ts";
import { isObject, items, type JsonObject, text } from "../../json.ts";
import { RequestMedia } from "../../media.ts";
import { inputItems } from "../items.ts";

/**
 * Finds images and videos in messages and in results of tools.
 *
 * @throws {Refusal} `request_invalid` for an image without a URL, or in a part for files.
 */
export function mediaOf(body: JsonObject): RequestMedia {
  const media = new RequestMedia();
  const look = (part: unknown, param: string) => {
    if (!isObject(part)) return;
    const type = text(part.type) ?? "";
    const field = `${param}.image_url`;
    if (type.includes("video")) media.videos.push(param);
    else if (type === "input_image" || type === "computer_screenshot") {
      const url = text(part.image_url);
      if (url === undefined) throw invalid(field, `${field} is required.`);
      media.image(field, url);
    } else if (type.includes("image")) {
      throw invalid(`${param}.type`, `${param} must be of type "input_image" to hold an image.`);
    } else if (type === "input_file") {
      const url = text(part.file_data) ?? text(part.file_url) ?? "";
      media.file(`${param}.file_data`, url, 'a part of type "input_image"');
    }
  };
  inputItems(body).forEach((item, at) => {
    for (const field of ["content", "output"]) {
      const value = item[field];
      if (isObject(value)) look(value, `input[${at}].${field}`);
      items(value).forEach((part, index) => look(part, `input[${at}].${field}[${index}]`));
    }
  });
  return media;
}
