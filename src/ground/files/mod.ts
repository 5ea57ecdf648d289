/**
 * Files that are written for users and for the next start.
 *
 * Promise: a file is written beside its target, is on the disk, and only then takes the target's name: at every moment the old
 * one or the new one is there, whole. Only a regular file or nothing is replaced, never a link, a pipe, a socket, a device or a
 * directory. What a writer that was killed left beside a file goes when the file is written again. Leaves to others: what the file
 * says.
 *
 * @module
 */

export { ifThere } from "./if_there.ts";
export { lockedFile } from "./lock_file.ts";
export {
  checkTarget,
  isStandardOutput,
  removeLeftovers,
  replaceFile,
  syncDirectory,
  writeFile,
} from "./replace_file.ts";
