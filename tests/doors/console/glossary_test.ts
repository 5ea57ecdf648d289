/** Words that explain themselves; `walk_test.ts` opens them in a browser. */

import { assertMatch } from "../../assert.ts";
import { GLOSSARY } from "../../../src/doors/console/glossary.tsx";

Deno.test("every word has a meaning of a sentence or two, in plain text", () => {
  for (const [word, meaning] of Object.entries(GLOSSARY)) {
    assertMatch(meaning, /^[A-Z][^<>]{20,200}\.$/, word);
  }
});
