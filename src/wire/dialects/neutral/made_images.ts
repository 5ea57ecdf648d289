/** Images that models make: parts of the reply in one dialect, calls of a tool in another. */

import { isObject, type JsonObject, type JsonValue, objects, text } from "../json.ts";
import type { ReplyEvent } from "./conversation.ts";

type ImageEvent = ReplyEvent & { readonly type: "image" };

/** Fields of earlier replies that hold such images, by the names under which they are dropped. */
const NAMES = ["messages.images", "input.image_generation_call"];

/** Whether a dropped field of this name holds images that a model made. */
export function isMadeImageName(name: string): boolean {
  return NAMES.includes(name);
}

/** The images of a chat message: those of `images`, which relays to several providers have. Others than data URLs are left out. */
export function chatImages({ images }: JsonObject): string[] {
  return objects(images).flatMap(({ image_url: image }) => {
    const url = isObject(image) ? text(image.url) : undefined;
    return url === undefined || !isImageData(url) ? [] : [url];
  });
}

/** The same as a chat message has it. */
export function chatImage(url: string, index: number): JsonObject {
  return { type: "image_url", image_url: { url }, index };
}

/** The image of an `image_generation_call`; undefined for one that has none. */
export function calledImage({ result, output_format: format }: JsonObject): string | undefined {
  const url = `data:image/${text(format) || "png"};base64,${text(result) ?? ""}`;
  return text(result) && isImageData(url) ? url : undefined;
}

/** The same as such a call has it. */
export function calledImageFields(url: string): JsonObject {
  const [, format = "png", result = ""] = /^data:image\/([^;,]+);base64,(.*)$/s.exec(url) ?? [];
  return { output_format: format, result };
}

/** Neutral events of images. */
export function imageEvents(urls: readonly string[]): ImageEvent[] {
  return urls.map((url) => ({ type: "image", url }));
}

/** A blob as a part of a generate upstream's reply has it; undefined for anything but an image. */
export function blobImage(blob: JsonValue | undefined): string | undefined {
  if (!isObject(blob)) return undefined;
  const url = `data:${text(blob.mimeType)?.toLowerCase()};base64,${text(blob.data) ?? ""}`;
  return text(blob.data) && isImageData(url) ? url : undefined;
}

function isImageData(url: string): boolean {
  return /^data:image\/[a-z+.-]{1,20};base64,[A-Za-z0-9+/_-]/.test(url);
}
