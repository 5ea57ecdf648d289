import { invalid } from "../../ground/refusal.ts";
import type { ImageView } from "./dialect.ts";

/** Images and videos of a request, by the fields that hold them. */
export class RequestMedia {
  readonly images: ImageView[] = [];
  readonly videos: string[] = [];

  /** Notes an image, or what turns out to be a video. */
  image(param: string, url: string): void {
    if (isVideoUrl(url)) this.videos.push(param);
    else this.images.push({ param, source: /^\s*data:/i.test(url) ? "inline" : "remote", url });
  }

  /**
   * Notes a file, which may be a video.
   *
   * @param right What an image is sent as.
   * @throws {Refusal} `request_invalid` for an image.
   */
  file(param: string, url: string, right: string): void {
    if (isVideoUrl(url)) this.videos.push(param);
    else if (/^\s*data:\s*image\//i.test(url)) {
      throw invalid(param, `${param} is an image: send ${right}.`);
    }
  }
}

/** Whether an address says that it holds a video. */
function isVideoUrl(url: string): boolean {
  return /^\s*data:\s*video\//i.test(url) ||
    /^\s*https?:[^?#]*\.(mp4|m4v|mov|webm|avi|mkv|mpe?g|3gp|flv|wmv)(?:[?#]|$)/i.test(url);
}
