import fc from "fast-check";
import {
  displayed,
  displayedLines,
  isVisible,
  misleading,
  nameFrom,
  seenAs,
  tidyName,
  toldApart,
  whyNoName,
} from "../../../src/ground/platform/mod.ts";
import { assert, assertEquals } from "../../assert.ts";
import { testSeed } from "../../fake/random.ts";
import { sized } from "../../tier.ts";

const params = () => ({ seed: testSeed(), numRuns: sized(500, 50_000) });

/** Characters that show nothing, or change what is around them. */
const UNSEEN = [
  ..."\u3164\u00ad\u200b\u2800\u115f\u1160\uffa0\u034f\u180e\u061c\u200e\u200f\u2060\u2064\u206f\ufeff\u17b4\ufe0f\u{e0100}",
  ..."\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\ufff9\u{e0041}\u{e007f}\u{1d173}\u{1d159}\u200c\u200d",
  "\u0000",
  "\ud800",
];
/** Marks that are on something else. */
const MARKS = [..."\u0301\u0327\u0903\u20dd\ua66f"];
const BLANKS = [..." \u00a0\u2003\u3000\u2800\t"];

const any = fc.oneof(
  fc.string({ unit: "binary", maxLength: 220 }),
  fc.string({
    unit: fc.constantFrom(
      ...UNSEEN,
      ...MARKS,
      ...BLANKS,
      "a",
      "é",
      "e",
      "か",
      "1",
      "한",
      "👩",
      "🏴",
    ),
  }),
);

Deno.test("a name that is accepted is tidy, can be seen, hides nothing, and stays what it is", () => {
  fc.assert(
    fc.property(any, (text) => {
      const name = tidyName(text);
      assertEquals(tidyName(name), name);
      if (whyNoName(name) !== undefined || name === "") return;
      assertEquals([name.normalize("NFC"), name.trim()], [name, name]);
      assert(isVisible(name) && seenAs(name) !== "", JSON.stringify(name));
      assertEquals([displayed(name), misleading(name)], [name, undefined]);
      assert(name.isWellFormed() && name.length <= 200);
    }),
    params(),
  );
});

Deno.test("blanks around a name and the way in which it is typed make no difference", () => {
  for (const name of ["Cafe\u0301", " Caf\u00e9\u3000", "\u2800Caf\u00e9\n"]) {
    assertEquals(tidyName(name), "Caf\u00e9");
  }
});

Deno.test("what shows nothing is no name, however it is put together", () => {
  const parts = fc.array(fc.constantFrom(...UNSEEN, ...MARKS, ...BLANKS), {
    minLength: 1,
    maxLength: 8,
  });
  fc.assert(
    fc.property(parts, (all) => {
      const name = tidyName(all.join(""));
      assert(name === "" || whyNoName(name) !== undefined, JSON.stringify(name));
    }),
    params(),
  );
  for (const one of UNSEEN) {
    const name = tidyName(`ad${one}min`);
    const isSeen = ["\u2800", "\u{1d159}"].includes(one); // these have a width
    const joins = ["\u200c", "\u200d", "\ufe0f", "\u{e0100}"].includes(one); // behind a letter
    assertEquals(whyNoName(name) === undefined, isSeen || joins, JSON.stringify(one));
  }
});

Deno.test("letters, emoji and flags of the world are names", () => {
  for (
    const name of [
      "Ada Lovelace",
      "李小龍",
      "葛\u{e0100}城",
      "می\u200cخواهم",
      "ශ්\u200dරී ලංකා",
      "👨\u200d👩\u200d👧 laptop",
      "❤️ heart",
      "1️⃣",
      "\u{1f3f4}\u{e0067}\u{e0062}\u{e0073}\u{e0063}\u{e0074}\u{e007f} Alba",
      "ᠮᠣᠩᠭᠣᠯ\u180b",
      "--",
    ]
  ) {
    assertEquals([whyNoName(tidyName(name)), displayed(name)], [undefined, name]);
  }
  const hidden = "\u{1f3f4}\u{e0068}\u{e0069}\u{e007f}";
  assertEquals(displayed(hidden), "\u{1f3f4}\\udb40\\udc68\\udb40\\udc69\\udb40\\udc7f");
});

Deno.test("what is spelt out for a terminal stays the same JSON, whatever was in it", () => {
  fc.assert(
    fc.property(any, (text) => {
      const json = JSON.stringify({ text });
      assertEquals(JSON.parse(displayedLines(json)), JSON.parse(json));
    }),
    params(),
  );
});

Deno.test("another program's text becomes a name", () => {
  fc.assert(
    fc.property(any, (text) => {
      const name = nameFrom(text);
      assertEquals([whyNoName(name), tidyName(name)], [undefined, name], JSON.stringify(text));
    }),
    params(),
  );
  assertEquals(nameFrom("\u3164"), "\\u3164");
});

Deno.test("names that look the same are the same, and no two labels look the same", () => {
  const variants = fc.constantFrom<(name: string) => string>(
    (name) => name.normalize("NFD"),
    (name) => ` ${name}\u3000`,
    (name) => name.replaceAll(" ", "\u00a0 "),
    (name) => `${name}\u2800`,
    (name) => [...name].join("\u00ad"),
    (name) =>
      name.replaceAll(/[a-z]/g, (one) => String.fromCodePoint(one.codePointAt(0)! + 0xfee0)),
  );
  const word = fc.string({ unit: fc.constantFrom(..."aé 한bß"), minLength: 1, maxLength: 6 });
  fc.assert(
    fc.property(word, variants, (name, change) => assertEquals(seenAs(change(name)), seenAs(name))),
    params(),
  );
  assertEquals(
    seenAs("CAFÉ strasse", { foldsCase: true }),
    seenAs("café Straße", { foldsCase: true }),
  );
  assert(seenAs("Cafe") !== seenAs("Café") && seenAs("a") !== seenAs("A"));
  const things = fc.uniqueArray(
    fc.record({
      id: fc.integer({ min: 0, max: 99 }).map((number) => `key_${number}`),
      name: fc.constantFrom(
        "",
        "laptop",
        " laptop",
        "Café",
        "Cafe\u0301",
        "laptop (sk-a…b)",
        "laptop (key_1)",
      ),
      hint: fc.constantFrom("sk-a…b", "sk-c…d"),
    }),
    { selector: ({ id }) => id, maxLength: 12 },
  );
  fc.assert(
    fc.property(things, (all) => {
      const labels = [...toldApart(all).values()];
      assertEquals(labels.length, all.length);
      assertEquals(new Set(labels.map((one) => seenAs(one))).size, all.length, labels.join(" | "));
    }),
    params(),
  );
});
