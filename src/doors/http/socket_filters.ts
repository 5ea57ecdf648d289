/** Programs of classic BPF that the system runs for sockets (socket(7)). */

/** Classic BPF (<linux/filter.h>): an accumulator A, an index X. */
const BPF = {
  loadWord: 0x20, // A = four bytes at k
  loadByte: 0x30, // A = the byte at k
  loadWordAtIndex: 0x40, // A = four bytes at X + k
  loadLength: 0x80, // A = bytes of the packet
  toIndex: 0x07, // X = A
  add: 0x04,
  subtractIndex: 0x1c, // A = A - X
  shiftLeft: 0x64,
  shiftRight: 0x74,
  modulo: 0x94,
  skipUnlessEqual: 0x15,
  skipUnlessAtLeast: 0x35,
  returnA: 0x16,
  return: 0x06,
} as const;
const BPF_RANDOM = 0xfffff038; // SKF_AD_OFF + SKF_AD_RANDOM
/** Bytes of a packet that a filter lets through: all. */
const WHOLE_PACKET = 0x40000;
/** With which HTTP/2 begins (RFC 9113, section 3.4). */
const PREFACE = new TextEncoder().encode("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
const WORD_BYTES = 4;

/** An instruction: its code, its operand, and how many instructions it skips if its condition does not hold. */
export type Instruction = readonly [code: number, operand: number, otherwise?: number];

/** Chooses one of `count` listening sockets at random, those before the first `after` left out. */
export function anyOf(after: number, count: number): readonly Instruction[] {
  return [
    [BPF.loadWord, BPF_RANDOM],
    [BPF.modulo, count],
    [BPF.add, after],
    [BPF.returnA, 0],
  ];
}

/** Lets the headers of packets through, and none of their bytes: the system always keeps the header of TCP. */
export const HEADERS_ONLY: readonly Instruction[] = [[BPF.return, 1]];

const PREFACE_WORDS = Array.from(
  { length: PREFACE.length / WORD_BYTES },
  (_, at) => new DataView(PREFACE.buffer).getUint32(WORD_BYTES * at),
);

/** Drops packets whose bytes begin as HTTP/2 does. */
export const WITHOUT_HTTP2: readonly Instruction[] = [
  // a packet begins with the header of TCP, whose length in words is in the upper half of its byte 12 (RFC 9293)
  [BPF.loadByte, 12],
  [BPF.shiftRight, 4],
  [BPF.shiftLeft, 2],
  [BPF.toIndex, 0],
  [BPF.loadLength, 0],
  [BPF.subtractIndex, 0],
  [BPF.skipUnlessAtLeast, PREFACE.length, 2 * PREFACE_WORDS.length + 1],
  ...PREFACE_WORDS.flatMap((word, at): Instruction[] => [
    [BPF.loadWordAtIndex, WORD_BYTES * at],
    [BPF.skipUnlessEqual, word, 2 * (PREFACE_WORDS.length - at) - 1],
  ]),
  [BPF.return, 0],
  [BPF.return, WHOLE_PACKET],
];

/** A program as the system takes it: a `struct sock_filter` for each instruction. */
export function encoded(instructions: readonly Instruction[]): Uint8Array<ArrayBuffer> {
  const code = new DataView(new ArrayBuffer(8 * instructions.length));
  for (const [at, [operation, operand, otherwise = 0]] of instructions.entries()) {
    code.setUint16(8 * at, operation, true);
    code.setUint8(8 * at + 3, otherwise);
    code.setUint32(8 * at + 4, operand, true);
  }
  return new Uint8Array(code.buffer);
}
