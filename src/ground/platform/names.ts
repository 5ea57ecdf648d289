import { displayed, misleading } from "./display_text.ts";

/** Characters of a name, in UTF-16 code units. */
export const MAX_NAME_CHARS = 200;

/** A character that shows something by itself. Of symbols, the blank of Braille and a musical null note do not. */
const VISIBLE = /(?![\u2800\u{1d159}\p{Default_Ignorable_Code_Point}])[\p{L}\p{N}\p{P}\p{S}]/u;

/**
 * Trims a name and normalizes it (NFC): one that is typed on two keyboards is the same.
 *
 * @example
 * ```ts
 * import { assertEquals } from "@std/assert";
 * import { tidyName } from "./names.ts";
 *
 * assertEquals(tidyName(" Cafe\u0301 "), "Caf\u00e9");
 * ```
 */
export function tidyName(text: string): string {
  return text.normalize("NFC").replace(/^[\s\u2800]+|[\s\u2800]+$/g, "");
}

/** Whether a text has a character that can be seen. */
export function isVisible(text: string): boolean {
  return VISIBLE.test(text);
}

/** Why a tidy name is rejected; `undefined` if it is not. An empty one is not: some things need no name. */
export function whyNoName(name: string): string | undefined {
  if (name.length > MAX_NAME_CHARS) {
    return `Name too long: ${name.length} characters, the limit is ${MAX_NAME_CHARS}`;
  }
  const why = misleading(name);
  if (why !== undefined) return `The name ${why}`;
  return name === "" || isVisible(name)
    ? undefined
    : "The name must contain a character that can be seen";
}

/** The name that another program's text becomes: what misleads is spelt out, and what is too long is cut. */
export function nameFrom(text: string): string {
  const name = tidyName(displayed(tidyName(text)));
  const isShort = name.length <= MAX_NAME_CHARS;
  // not within a character
  const cut = isShort ? name : tidyName([...name.slice(0, MAX_NAME_CHARS)].slice(0, -1).join(""));
  return whyNoName(cut) === undefined ? cut : "";
}

/**
 * What people see of a name: two names that look the same are the same here, whatever their letters are made of. Letters
 * of different scripts are different.
 *
 * @param options Whether upper and lower case are the same.
 *
 * @example
 * ```ts
 * import { assertEquals } from "@std/assert";
 * import { seenAs } from "./names.ts";
 *
 * assertEquals(seenAs("Ｃafe\u0301  one"), "Caf\u00e9 one");
 * ```
 */
export function seenAs(name: string, { foldsCase = false } = {}): string {
  const shown = name.normalize("NFKC").replaceAll(/\p{Default_Ignorable_Code_Point}/gu, "");
  const folded = foldsCase ? shown.toUpperCase().toLowerCase() : shown;
  return folded.normalize("NFKC").replaceAll(/[\s\u2800]+/g, " ").trim();
}

/** What has an ID and a name, and perhaps something shorter than its ID to tell it apart by. */
interface Named {
  readonly id: string;
  readonly name: string;
  readonly hint?: string;
}

/**
 * Labels things by their names, and tells those apart whose names look the same: by their hints, else by their IDs.
 *
 * @returns Labels by ID, no two of which look the same.
 */
export function toldApart(things: Iterable<Named>): ReadonlyMap<string, string> {
  const all = [...new Map([...things].map((one) => [one.id, one])).values()];
  // how much of it each label says: of those that look the same more, until none do
  const said = new Map(all.map(({ id }) => [id, 0]));
  const labelOf = ({ id, name, hint }: Named) => {
    const plain = name || hint || id;
    const more = [plain, name && hint ? `${name} (${hint})` : plain, `${plain} (${id})`];
    return more[said.get(id)!]!;
  };
  for (;;) {
    const groups = [...Map.groupBy(all, (one) => seenAs(labelOf(one))).values()];
    const same = groups.filter(({ length }) => length > 1).flat().filter(({ id }) =>
      said.get(id)! < 2
    );
    if (same.length === 0) return new Map(all.map((one) => [one.id, labelOf(one)]));
    for (const { id } of same) said.set(id, said.get(id)! + 1);
  }
}
