/** What an attack does on a connection, as data: it can be printed, replayed and cut at any byte. */

import type { Random } from "../fake/random.ts";

/** One thing that is done on a connection. */
export type Step =
  | { readonly does: "send"; readonly bytes: Uint8Array<ArrayBuffer> }
  | { readonly does: "wait"; readonly ms: number }
  /** Waits for the server's first bytes, since what follows would otherwise come before a handshake is over. */
  | { readonly does: "await reply"; readonly withinMs: number };

/** What an attack is aimed at. */
export interface Target {
  readonly host: string;
  readonly port: number;
  readonly origin: string;
  readonly keys: TargetKeys;
}

/** Keys by what they are good for. */
export interface TargetKeys {
  readonly valid: readonly string[];
  /** Of an account without credits. */
  readonly poor: string;
  readonly invalid: string;
}

/** A kind's choice of parameters, in words, and the steps that follow from it. */
export interface Plan {
  readonly told: string;
  readonly steps: Iterable<Step>;
}

/** A row of the table of kinds. */
export interface Kind {
  readonly name: string;
  readonly plan: (random: Random, target: Target) => Plan;
}

/** Bytes of one write of something that is repeated. */
const PIECE_BYTES = 65_536;

const encoder = new TextEncoder();

/** Text with one character for each byte, so that any byte can be written in a string. */
export function latin(text: string): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(text.length);
  for (let at = 0; at < text.length; at++) bytes[at] = text.charCodeAt(at);
  return bytes;
}

/** Sends text or bytes. */
export function send(data: string | Uint8Array<ArrayBuffer>): Step {
  return { does: "send", bytes: typeof data === "string" ? encoder.encode(data) : data };
}

/** Sends the same again and again, in writes of 64 KB, up to a number of bytes. */
export function* repeated(data: string | Uint8Array<ArrayBuffer>, bytes: number): Generator<Step> {
  const unit = typeof data === "string" ? latin(data) : data;
  const count = Math.max(1, Math.floor(Math.min(PIECE_BYTES, bytes) / unit.length));
  const piece = new Uint8Array(count * unit.length);
  for (let at = 0; at < count; at++) piece.set(unit, at * unit.length);
  for (let sent = 0; sent < bytes; sent += piece.length) yield { does: "send", bytes: piece };
}

/** Sends what a function makes, gathered into writes of about 64 KB, up to a number of bytes. */
export function* made(
  make: (at: number) => Uint8Array<ArrayBuffer>,
  bytes: number,
): Generator<Step> {
  let parts: Uint8Array<ArrayBuffer>[] = [];
  let [sent, gathered] = [0, 0];
  for (let at = 0; sent < bytes; at++) {
    const part = make(at);
    parts.push(part);
    gathered += part.length;
    sent += part.length;
    if (gathered < PIECE_BYTES && sent < bytes) continue;
    yield { does: "send", bytes: joined(parts) };
    [parts, gathered] = [[], 0];
  }
}

/** Joins pieces. */
export function joined(parts: readonly Uint8Array<ArrayBuffer>[]): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

/** Steps one after the other. */
export function* chain(...parts: readonly (Step | Iterable<Step>)[]): Generator<Step> {
  for (const part of parts) {
    if ("does" in part) yield part;
    else yield* part;
  }
}

/** A size of any order of magnitude, in bytes: `least` and `most` are powers of two. */
export function anySize(random: Random, least: number, most: number): number {
  return Math.floor(2 ** (least + random.next() * (most - least)));
}
