/// <reference no-default-lib="true" />
/// <reference lib="deno.worker" />
/** The thread that ends the process when its main thread waits for a collector. */

import { endAtOnce } from "../platform/mod.ts";
import type { End } from "./last_export.ts";

self.onmessage = ({ data: { status, withinMs } }: MessageEvent<End>) => {
  setTimeout(() => endAtOnce(status), withinMs);
  self.postMessage("counting");
};
