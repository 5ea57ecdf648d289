import { Buffer } from "node:buffer";
import type { Socket } from "node:net";

const START = Buffer.from("HTTP/1.1 100");
/** Where a status begins, and how one does that is not final. */
const STATUS_AT = 9;
const INTERIM = START[STATUS_AT];
const END = "\r\n\r\n";
/** Max bytes of an interim response, and how many there may be before a reply. */
const MAX_BYTES = 8_192;
const MAX_RESPONSES = 32;

/**
 * Skips interim responses of status 100 that an upstream sends unasked, as RFC 9110, section 15.2 asks of clients. undici takes them for
 * a broken connection; other interim responses it passes on.
 *
 * @param socket A connection on which there is one request at a time. What is written begins a request or continues it.
 */
export function skipContinue(socket: Socket): void {
  const [read, write] = [socket.read.bind(socket), socket.write.bind(socket)];
  let mayCome = false;
  let skipped = 0;
  let held: Buffer | undefined;
  socket.write = ((...args: Parameters<Socket["write"]>) => {
    mayCome = true;
    return write(...args);
  }) as Socket["write"];
  socket.read = (size?: number) => {
    for (;;) {
      const piece: Buffer | null = read(size);
      if (!mayCome || piece === null) return piece;
      let bytes = held === undefined ? piece : Buffer.concat([held, piece]);
      held = undefined;
      let end = -1;
      while (beginsAs(bytes) && (end = bytes.indexOf(END)) >= 0 && skipped < MAX_RESPONSES) {
        skipped++;
        bytes = bytes.subarray(end + END.length);
      }
      if (bytes.length > 0 && (!beginsAs(bytes) || bytes.length > MAX_BYTES || end >= 0)) {
        mayCome = false;
        skipped = 0;
        return bytes;
      }
      if (bytes.length > 0) held = bytes; // more of it is to come
    }
  };
}

/** Whether bytes are, or may become, an interim response of status 100. */
function beginsAs(bytes: Buffer): boolean {
  if (bytes.length > STATUS_AT && bytes[STATUS_AT] !== INTERIM) return false; // nearly always
  const size = Math.min(bytes.length, START.length);
  return size > 0 && bytes.compare(START, 0, size, 0, size) === 0;
}
