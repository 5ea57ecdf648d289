/**
 * Detects the format and pixel size of an image from its bytes, and checks that the file is complete.
 *
 * Promise: functions never throw, whatever the bytes are.
 * Leaves to others: which images are accepted (`images/`).
 *
 * @module
 */

export { inspectDataUrl } from "./data_url.ts";
export { examine, type Examined } from "./examine.ts";
export { type Picture } from "./inspect.ts";
