const TEST =
  /(?:\b(?:\w+T|t)est|\bshared)\(\s*(?:\{\s*name:\s*)?(?:"((?:[^"\\]|\\.)*)"|'([^']*)'|`((?:[^`\\]|\\.)*)`)/g;
const SIZED = /const (\w+) = sized\(([\w."]+), ([\w."]+)\);/g;

/** What the names of a file's tests are read from. */
export interface NamesSource {
  readonly source: string;
  /** Texts that a run may put into names: the file's own, and those of tables that it imports. */
  readonly words: string;
  /** Whether sizes in names are those of the proofs (`tests/tier.ts`). */
  readonly proofs?: boolean | undefined;
}

/** Whether a test of a file can have a text in its name, as far as sources tell: to run all files for their names takes too long. */
export function mayName({ source, words, proofs = false }: NamesSource, text: string): boolean {
  const sizes = new Map(
    [...source.matchAll(SIZED)].map(([, name, gate, full]) =>
      [name!, (proofs ? full! : gate!).replaceAll(/["_]/g, "")] as const
    ),
  );
  const known = words.replaceAll(/(?<=\d)_(?=\d)/g, "");
  const goesOn = (text: string, [first, ...rest]: readonly (string | undefined)[]): boolean => {
    if (text === "") return true;
    if (first !== undefined) {
      return first.startsWith(text) ||
        text.startsWith(first) && rest.length > 0 && goesOn(text.slice(first.length), rest);
    }
    for (let end = 0; end <= text.length && known.includes(text.slice(0, end)); end++) {
      if (end === text.length || rest.length > 0 && goesOn(text.slice(end), rest)) return true;
    }
    return false;
  };
  return [...source.matchAll(TEST)].some(([, plain, quoted, template = plain ?? quoted!]) => {
    const parts = template.replaceAll("\\", "").split(/\$\{([^}]*)(?:\}|$)/)
      .map((one, at) => at % 2 === 1 ? sizes.get(one) : one);
    return parts.some((part = "", at) =>
      Array.from({ length: part.length + 1 }, (_, from) => part.slice(from))
        .some((end) => goesOn(text, [parts[at] && end, ...parts.slice(at + 1)]))
    );
  });
}
