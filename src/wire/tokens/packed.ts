/** Unpacks `CHARACTERS`: a letter is a value, the base-36 digits behind it how often it follows. */
export function unpackCharacters(packed: string, entries: number): Uint8Array {
  const characters = new Uint8Array(entries);
  let [end, value, count] = [0, 0, 0];
  const flush = () => {
    if (value > 0) characters.fill(value, end, end += Math.max(1, count));
    count = 0;
  };
  for (let index = 0; index < packed.length; index++) {
    const code = packed.charCodeAt(index);
    if (code >= 65 && code <= 90) {
      flush();
      value = code - 64;
    } else if (code > 32) count = count * 36 + base36(code);
  }
  flush();
  return characters;
}

/** Unpacks `PAIRS`: base-36 digits are the number of empty slots before a letter, which is a level. */
export function unpackPairs(packed: string, slots: number): Uint8Array {
  const pairs = new Uint8Array(slots);
  let [slot, gap] = [0, 0];
  for (let index = 0; index < packed.length; index++) {
    const code = packed.charCodeAt(index);
    if (code >= 65 && code <= 90) {
      slot += gap;
      pairs[slot++] = code - 64;
      gap = 0;
    } else if (code > 32) gap = gap * 36 + base36(code);
  }
  return pairs;
}

function base36(code: number): number {
  return code <= 57 ? code - 48 : code - 87;
}
