/** Whether an address says that it holds a video. */
export function isVideoUrl(url: string): boolean {
  return /^\s*data:\s*video\//i.test(url) ||
    /^\s*https?:[^?#]*\.(mp4|m4v|mov|webm|avi|mkv|mpe?g|3gp|flv|wmv)(?:[?#]|$)/i.test(url);
}

/** Whether a data URL says that it holds an image. */
export function isImageData(url: string): boolean {
  return /^\s*data:\s*image\//i.test(url);
}
