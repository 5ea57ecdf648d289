import { inspectDataUrl } from "../pixels/mod.ts";
import type { ImageView } from "./dialect.ts";

/** Pixels that one token stands for (Anthropic's documented rule, close to what others count). */
const PIXELS_PER_TOKEN = 750;
/** Models scale larger images down before they look. */
const MAX_TOKENS = 1_600;
/**
 * What an upstream may bill for one at most: gpt-4o-mini 2,833 and 5,667 for each of up to eight tiles (OpenAI, images and vision).
 */
export const MAX_IMAGE_TOKENS = 2_833 + 8 * 5_667;
/** An image whose size is not known yet, since it stands at a remote address, counts as the largest. */
const UNKNOWN = MAX_TOKENS;

/** Input tokens of images, by their pixel sizes. */
export function imageTokens(images: readonly ImageView[]): number {
  return images.reduce((sum, { url }) => {
    const picture = inspectDataUrl(url);
    if (picture === undefined) return sum + UNKNOWN;
    const tokens = Math.ceil((picture.width * picture.height) / PIXELS_PER_TOKEN);
    return sum + Math.min(MAX_TOKENS, Math.max(1, tokens));
  }, 0);
}
