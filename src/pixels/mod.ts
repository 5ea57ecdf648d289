/**
 * Kind, pixel size and wholeness of an image, from its own bytes.
 *
 * Promise: never more than the bytes say, and never a throw, whatever the bytes are.
 * Leaves to others: whether an image is let in (`images/`).
 *
 * @module
 */

export { inspectDataUrl } from "./data_url.ts";
export { examine, type Examined } from "./examine.ts";
export { inspect, type Picture } from "./inspect.ts";
