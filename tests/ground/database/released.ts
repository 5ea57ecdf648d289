/** The owner's key of every database in `released/`. */
export const RELEASED_KEY = `sk-released-${"r".repeat(32)}`;

/**
 * Puts a database that a released program wrote into a data directory.
 *
 * @returns the path of its file.
 */
export async function unpack(version: number, directory: string): Promise<string> {
  const packed = await Deno.open(new URL(`released/schema-${version}.db.gz`, import.meta.url));
  await Deno.mkdir(`${directory}/data`);
  const file = `${directory}/data/sluice.db`;
  const bytes = packed.readable.pipeThrough(new DecompressionStream("gzip"));
  await Deno.writeFile(file, bytes as ReadableStream<Uint8Array>);
  return file;
}
