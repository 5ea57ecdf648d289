import { crc32 } from "node:zlib";
import { ifThere, lockedFile, syncDirectory } from "../files/mod.ts";
import { randomText } from "../platform/mod.ts";
import { dirname } from "../std/mod.ts";

/** Before each frame: bytes of its payload, their checksum, and the generation of the file. */
const HEADER_BYTES = 16;

/**
 * A file of frames, which are read back as far as they were written whole. When none is needed any more, the file is written from its
 * beginning again, under the next generation, as SQLite does with its log (https://sqlite.org/walformat.html): frames of an earlier
 * one end the reading.
 */
export class OutboxFile {
  readonly path: string;
  readonly #file: Deno.FsFile;
  #generation: bigint;
  #bytes = 0;

  private constructor(path: string, file: Deno.FsFile, generation: bigint) {
    this.path = path;
    this.#file = file;
    this.#generation = generation;
  }

  /**
   * Makes a file, for its owner alone, which is locked for as long as it is open: so that others see whether its gateway runs.
   *
   * @param beginning Of its name, which nothing else has.
   * @param preparedBytes Written to it at once: what overwrites them waits for no change of the file's size, and needs no space.
   * @param newName Makes the rest of its name.
   */
  static async create(
    beginning: string,
    preparedBytes: number,
    newName: () => string = () => randomText(8),
  ): Promise<OutboxFile> {
    const path = `${beginning}-${newName()}`;
    const file = await lockedFile(path);
    // who takes the outboxes of gateways that have ended was quicker, and removes it: it is empty
    if (file === undefined) return await OutboxFile.create(beginning, preparedBytes, newName);
    try {
      await writeAll(file, new Uint8Array(preparedBytes));
      await file.sync();
      await syncDirectory(dirname(path)); // else its frames may be there without its name
      await file.seek(0, Deno.SeekMode.Start);
    } catch (error) {
      file.close();
      await removeFile(path);
      throw error;
    }
    return new OutboxFile(path, file, 1n);
  }

  /** Bytes of its frames. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Whether somebody has removed it. The kernel knows of an open file without its disk, at a tenth of what another thread costs. */
  get isRemoved(): boolean {
    return this.#file.statSync().nlink === 0;
  }

  /**
   * Adds a frame. After a failure the file must not be used any more: part of the frame may be there.
   *
   * @param durable Whether to wait until it survives the loss of power.
   */
  async appendFrame(text: string, { durable }: { readonly durable: boolean }): Promise<void> {
    const frame = frameOf(new TextEncoder().encode(text), this.#generation);
    await writeAll(this.#file, frame);
    if (durable) await this.#file.syncData();
    if (this.isRemoved) throw new Error(`${this.path} was removed`);
    this.#bytes += frame.length;
  }

  /** Gives up all frames. Those that are found again after a loss of power are harmless, as frames must be. */
  async clear(): Promise<void> {
    this.#generation++;
    await this.#file.seek(0, Deno.SeekMode.Start);
    await writeAll(this.#file, frameOf(new Uint8Array(), this.#generation));
    await this.#file.seek(0, Deno.SeekMode.Start);
    this.#bytes = 0;
  }

  close(): void {
    this.#file.close();
  }

  /** Closes it, and removes it. */
  async remove(): Promise<void> {
    this.close();
    await removeFile(this.path);
  }
}

/**
 * Reads the frames of a file, which another process may be writing.
 *
 * @returns The texts of those that are whole, in order.
 */
export function framesOf(bytes: Uint8Array): string[] {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const texts: string[] = [];
  const decoder = new TextDecoder();
  let generation: bigint | undefined;
  for (let at = 0; at + HEADER_BYTES <= bytes.length;) {
    const end = at + HEADER_BYTES + view.getUint32(at, true);
    if (end === at + HEADER_BYTES || end > bytes.length) break;
    generation ??= view.getBigUint64(at + 8, true);
    // the checksum covers the generation
    if (view.getBigUint64(at + 8, true) !== generation) break;
    if (crc32(bytes.subarray(at + 8, end)) !== view.getUint32(at + 4, true)) break;
    texts.push(decoder.decode(bytes.subarray(at + HEADER_BYTES, end)));
    at = end;
  }
  return texts;
}

function frameOf(payload: Uint8Array, generation: bigint): Uint8Array<ArrayBuffer> {
  const frame = new Uint8Array(HEADER_BYTES + payload.length);
  const view = new DataView(frame.buffer);
  view.setUint32(0, payload.length, true);
  view.setBigUint64(8, generation, true);
  frame.set(payload, HEADER_BYTES);
  view.setUint32(4, crc32(frame.subarray(8)), true);
  return frame;
}

async function writeAll(file: Deno.FsFile, bytes: Uint8Array): Promise<void> {
  for (let at = 0; at < bytes.length;) at += await file.write(bytes.subarray(at));
}

/** Removes a file, if it is there. */
export async function removeFile(path: string): Promise<void> {
  await ifThere(Deno.remove(path));
}
