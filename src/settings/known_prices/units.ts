/**
 * What has a price of its own: tokens by kind, per million, and calls, per thousand. What a model has no price for costs what it is part
 * of: audio what input costs, audio read from a cache what cached input costs.
 */
export const UNITS = [
  "input",
  "cached",
  "output",
  "written",
  "writtenHour",
  "audioInput",
  "audioCached",
  "audioOutput",
  "imageInput",
  "imageCached",
  "imageOutput",
  "reasoning",
  "webSearches",
  "fileSearches",
  "requests",
] as const;
/** One of them. */
export type PriceUnit = typeof UNITS[number];
