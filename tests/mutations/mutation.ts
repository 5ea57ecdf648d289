/** A fault that is put into the source to see that a test fails for it. */
export interface Mutation {
  /** In kebab-case, unique. */
  readonly name: string;
  /** The source file, from the root of the repository. */
  readonly file: string;
  /** Text that occurs exactly once in the file. */
  readonly find: string;
  readonly replace: string;
  /** Tests of which one must fail. As few and as short as possible. */
  readonly tests: readonly TestRun[];
  /** What would go wrong for somebody. */
  readonly why: string;
}

/** Tests of one file. */
export interface TestRun {
  readonly file: string;
  /** As `deno test --filter`: a part of the tests' names; all tests without it. */
  readonly filter?: string;
  /** Whether they run as in the proofs (`tests/tier.ts`): at their full size, and with those that the gate leaves out. */
  readonly proofs?: boolean;
  /** How long it takes without a mutation, if that is known. */
  readonly usualMs?: number | undefined;
}

/**
 * A source text with a mutation in it.
 *
 * @throws when the text is no longer the one that the mutation was written for.
 */
export function mutated(source: string, { name, file, find, replace }: Mutation): string {
  const times = find === "" ? 0 : source.split(find).length - 1;
  if (times !== 1) {
    throw new Error(
      `${name}: its text occurs ${times} times in ${file} and must occur once. ` +
        "The list in tests/mutations/ is out of date.",
    );
  }
  if (replace === find) throw new Error(`${name}: changes nothing`);
  const at = source.indexOf(find); // not String.replace(), to which $ means something
  return source.slice(0, at) + replace + source.slice(at + find.length);
}
