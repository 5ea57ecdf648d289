/**
 * What the gateway says about itself: log lines.
 *
 * Promise: one line per request, in one of two formats, without keys, prompts or upstream secrets.
 * Leaves to others: what is worth saying.
 *
 * @module
 */

export {
  bufferedWriter,
  createLog,
  type Log,
  type LogFields,
  type LogLevel,
  SILENT,
} from "./log.ts";
