/**
 * Texts that the counter is fitted to and tested with, real ones and random ones.
 *
 * @module
 */

import { Random as Choices } from "../../fake/random.ts";
import { LANGUAGES } from "./languages.ts";
import { PROSE } from "./prose.ts";

/** A text with a name. */
export interface Sample {
  readonly name: string;
  readonly text: string;
}

/** Random choices that are the same for the same seed. */
class Random extends Choices {
  /** @returns an integer from 0 up to `end`, exclusive. */
  below(end: number): number {
    return this.integer(0, end - 1);
  }

  /** @returns one of `values`, of a text one of its UTF-16 units. */
  override pick<T>(values: ArrayLike<T>): T {
    return values[this.below(values.length)]!;
  }

  /** @returns what `make` returns, `count` times over, as one text. */
  text(count: number, make: () => string): string {
    return Array.from({ length: count }, make).join("");
  }
}

/** Blocks of Unicode, first and last code point. */
export const BLOCKS: Readonly<Record<string, readonly [number, number]>> = {
  "ASCII": [0x20, 0x7e],
  "control characters": [0x00, 0x1f],
  "Latin-1": [0xa0, 0xff],
  "Latin Extended-A": [0x100, 0x17f],
  "Latin Extended-B": [0x180, 0x24f],
  "phonetic letters": [0x250, 0x2af],
  "modifier letters": [0x2b0, 0x2ff],
  "combining marks": [0x300, 0x36f],
  "Greek": [0x370, 0x3ff],
  "Cyrillic": [0x400, 0x4ff],
  "Cyrillic Supplement": [0x500, 0x52f],
  "Armenian": [0x531, 0x58a],
  "Hebrew": [0x591, 0x5f4],
  "Arabic": [0x600, 0x6ff],
  "Syriac": [0x700, 0x74f],
  "Arabic Supplement": [0x750, 0x77f],
  "Thaana": [0x780, 0x7b1],
  "N'Ko": [0x7c0, 0x7ff],
  "Samaritan to Arabic Extended": [0x800, 0x8ff],
  "Devanagari": [0x900, 0x97f],
  "Bengali": [0x980, 0x9fe],
  "Gurmukhi": [0xa01, 0xa76],
  "Gujarati": [0xa81, 0xaff],
  "Odia": [0xb01, 0xb77],
  "Tamil": [0xb82, 0xbfa],
  "Telugu": [0xc00, 0xc7f],
  "Kannada": [0xc80, 0xcf3],
  "Malayalam": [0xd00, 0xd7f],
  "Sinhala": [0xd81, 0xdf4],
  "Thai": [0xe01, 0xe5b],
  "Lao": [0xe81, 0xedf],
  "Tibetan": [0xf00, 0xfda],
  "Burmese": [0x1000, 0x109f],
  "Georgian": [0x10a0, 0x10ff],
  "Hangul jamo": [0x1100, 0x11ff],
  "Ethiopic": [0x1200, 0x137c],
  "Cherokee": [0x13a0, 0x13fd],
  "Canadian syllabics": [0x1400, 0x167f],
  "Ogham": [0x1680, 0x169c],
  "runes": [0x16a0, 0x16f8],
  "Philippine scripts": [0x1700, 0x177f],
  "Khmer": [0x1780, 0x17f9],
  "Mongolian": [0x1800, 0x18aa],
  "Limbu to Buginese": [0x1900, 0x1a1f],
  "Balinese to Ol Chiki": [0x1b00, 0x1c7f],
  "phonetic extensions": [0x1d00, 0x1dff],
  "Latin Extended Additional": [0x1e00, 0x1eff],
  "Greek Extended": [0x1f00, 0x1ffe],
  "general punctuation": [0x2000, 0x206f],
  "superscripts and currency": [0x2070, 0x20bf],
  "letter-like symbols": [0x2100, 0x218b],
  "arrows": [0x2190, 0x21ff],
  "mathematical operators": [0x2200, 0x22ff],
  "technical symbols": [0x2300, 0x23ff],
  "enclosed alphanumerics": [0x2460, 0x24ff],
  "box drawing": [0x2500, 0x259f],
  "geometric shapes": [0x25a0, 0x25ff],
  "miscellaneous symbols": [0x2600, 0x26ff],
  "dingbats": [0x2700, 0x27bf],
  "supplemental mathematics": [0x27c0, 0x27ff],
  "Braille": [0x2800, 0x28ff],
  "more arrows and mathematics": [0x2900, 0x2bff],
  "Glagolitic to Tifinagh": [0x2c00, 0x2d7f],
  "CJK radicals": [0x2e80, 0x2fdf],
  "CJK punctuation": [0x3000, 0x303f],
  "hiragana": [0x3041, 0x309f],
  "katakana": [0x30a0, 0x30ff],
  "bopomofo": [0x3105, 0x312f],
  "enclosed CJK": [0x3200, 0x33ff],
  "CJK Extension A": [0x3400, 0x4dbf],
  "CJK ideographs": [0x4e00, 0x9fff],
  "Yi": [0xa000, 0xa48c],
  "Vai": [0xa500, 0xa62b],
  "Latin Extended-D": [0xa720, 0xa7ff],
  "Javanese": [0xa980, 0xa9df],
  "Cham to Meetei": [0xaa00, 0xabf9],
  "Hangul": [0xac00, 0xd7a3],
  "private use": [0xe000, 0xf8ff],
  "CJK compatibility": [0xf900, 0xfad9],
  "Arabic presentation forms": [0xfb50, 0xfdff],
  "half-width and full-width forms": [0xff01, 0xffee],
  "Linear B": [0x10000, 0x100fa],
  "Gothic": [0x10330, 0x1034a],
  "cuneiform": [0x12000, 0x12399],
  "hieroglyphs": [0x13000, 0x1342f],
  "musical symbols": [0x1d100, 0x1d1e8],
  "mathematical alphanumerics": [0x1d400, 0x1d7ff],
  "domino and playing cards": [0x1f000, 0x1f0ff],
  "enclosed emoji": [0x1f100, 0x1f2ff],
  "emoji": [0x1f300, 0x1f5ff],
  "emoticons": [0x1f600, 0x1f64f],
  "transport emoji": [0x1f680, 0x1f6ff],
  "geometric emoji": [0x1f700, 0x1f7ff],
  "supplemental emoji": [0x1f900, 0x1f9ff],
  "extended emoji": [0x1fa70, 0x1faff],
  "CJK Extension B": [0x20000, 0x2a6df],
  "CJK Extension C to F": [0x2a700, 0x2ebe0],
  "CJK Extension G": [0x30000, 0x3134a],
  "tags": [0xe0020, 0xe007f],
  "variation selectors": [0xe0100, 0xe01ef],
  "private use plane 15": [0xf0000, 0xffffd],
  "private use plane 16": [0x100000, 0x10fffd],
  "all of Unicode": [0xa0, 0x10ffff],
};

/** A random code point of a block; a lone surrogate is no character. */
function character(random: Random, [from, to]: readonly [number, number]): string {
  const code = random.integer(from, to);
  return code >= 0xd800 && code <= 0xdfff ? "\ufffd" : String.fromCodePoint(code);
}

/** Random code points of each block. */
export function blockSamples(seed: number): Sample[] {
  const random = new Random(seed);
  return Object.entries(BLOCKS).map(([name, block]) => ({
    name,
    text: random.text(1500, () => character(random, block)),
  }));
}

/** Words of random letters from each language's letters, about as long as words are. */
export function letterSamples(seed: number): Sample[] {
  const random = new Random(seed);
  return Object.entries(LANGUAGES).map(([name, text]) => {
    const letters = [...new Set(text.toLowerCase())].filter((char) => /[\p{L}\p{M}]/u.test(char));
    const word = () => random.text(random.integer(2, 9), () => random.pick(letters)) + " ";
    return { name, text: random.text(250, word) };
  });
}

/** The text of each language, as it is. */
export function languageSamples(): Sample[] {
  return Object.entries(LANGUAGES).map(([name, text]) => ({ name, text }));
}

/** The prose of each language that the counter is fitted to. */
export function proseSamples(): Sample[] {
  return Object.entries(PROSE).map(([name, [text]]) => ({ name, text }));
}

/** The sentences of a text; in Thai, which has no sign for their end, its paragraphs. */
function sentencesOf(text: string): string[] {
  return text.match(/.+?(?:[.!?।။۔] |。|$)/gmu)!;
}

/** Each sentence of it. */
export function proseSentences(): Sample[] {
  return proseSamples().flatMap(({ name, text }) =>
    sentencesOf(text).map((text) => ({ name, text }))
  );
}

/** The prose of each language that is held out from the fit. */
export function heldOutSamples(): Sample[] {
  return Object.entries(PROSE).map(([name, [, ...paragraphs]]) => ({
    name,
    text: paragraphs.join("\n"),
  }));
}

/** Three or more sentences of each language that are held out, in any order. */
export function sentenceSamples(seed: number): Sample[] {
  const random = new Random(seed);
  return heldOutSamples().map(({ name, text }) => {
    const sentences = sentencesOf(text);
    const one = () => sentences.splice(random.below(sentences.length), 1)[0]!;
    return { name, text: random.text(random.integer(3, sentences.length), one) };
  });
}

/** English prose and TypeScript, of which callers send the most. */
export function textSamples(): Sample[] {
  const read = (file: string) => Deno.readTextFileSync(new URL(`texts/${file}`, import.meta.url));
  return [
    { name: "English prose", text: read("prose.txt") },
    { name: "TypeScript", text: read("code.txt") },
  ];
}

const LOWER = "abcdefghijklmnopqrstuvwxyz";
const DIGITS = "0123456789";
const SIGNS = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~";
const ALPHANUMERIC = LOWER + LOWER.toUpperCase() + DIGITS;

const MINIFIED =
  'var e=n(4),t=n.n(e),r=function(){function e(t,n){this.t=t,this.n=n||{},this._c=[]}return e.prototype.on=function(e,t){return(this._c[e]||(this._c[e]=[])).push(t),this},e.prototype.emit=function(e){for(var t=[],n=1;n<arguments.length;n++)t[n-1]=arguments[n];(this._c[e]||[]).forEach((function(e){return e.apply(void 0,t)}))},e}();!function(e){"use strict";var a=0,i=e.length;for(;a<i;++a)if(e[a]!==null&&typeof e[a]!="undefined"){break}}([1,2,3]);';

/** Notations and other writing that is no language. */
export function notationSamples(seed: number): Sample[] {
  const random = new Random(seed);
  const of = (alphabet: string, count = 2000) =>
    random.text(count, () => random.pick([...alphabet]));
  const number = (size: number) => String(random.below(10 ** size));
  const word = () => random.text(random.integer(1, 9), () => random.pick(LOWER));
  const samples: Record<string, string> = {
    "minified JavaScript": MINIFIED.repeat(4),
    "hexadecimal": of("0123456789abcdef"),
    "hexadecimal, upper case": of("0123456789ABCDEF"),
    "base64": of(ALPHANUMERIC + "+/"),
    "base32": of("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"),
    "binary digits": of("01"),
    "digits": of(DIGITS),
    "random letters, no spaces": of(LOWER),
    "random capitals": of(LOWER.toUpperCase()),
    "random letters of both cases": of(LOWER + LOWER.toUpperCase()),
    "random letters, digits and spaces": of(ALPHANUMERIC + " "),
    "single letters": random.text(1000, () => random.pick(LOWER) + " "),
    "single letters by lines": random.text(1000, () => random.pick(LOWER) + "\n"),
    "capital and small in turn": random.text(
      800,
      () => random.pick(LOWER) + random.pick(LOWER).toUpperCase(),
    ),
    "letter and digit in turn": random.text(800, () => random.pick(LOWER) + random.pick(DIGITS)),
    "letter and sign in turn": random.text(800, () => random.pick(LOWER) + random.pick(SIGNS)),
    "digit and sign in turn": random.text(800, () => random.pick(DIGITS) + random.pick(SIGNS)),
    "random signs": of(SIGNS),
    "signs and spaces": of(SIGNS + "        "),
    "random words": random.text(500, () => word() + " "),
    "random words by lines": random.text(500, () => word() + "\n"),
    "camelCase of random words": random.text(
      400,
      () => word() + random.pick(LOWER).toUpperCase(),
    ),
    "snake_case of random words": random.text(400, () => word() + "_"),
    "spaces and tabs in turn": " \t".repeat(500),
    "spaces and line ends in turn": " \n".repeat(500),
    "spaces and tabs": of(" \t"),
    "white space": of(" \t\n\r"),
    "all white space": of(" \t\n\r\f\v\u00a0\u2003\u2028\u3000\u202f"),
    "runs of spaces": random.text(300, () => " ".repeat(random.integer(1, 30)) + word()),
    "indented lines": random.text(
      300,
      () => "\n" + "  ".repeat(random.integer(0, 8)) + word() + " " + word(),
    ),
    "tabs and words": random.text(400, () => word() + "\t"),
    "zero-width characters": of("\u200b\u200c\u200d\u2060\ufeff"),
    "zero-width in words": random.text(400, () => random.pick(LOWER) + random.pick("\u200b\u200d")),
    "soft hyphens in words": random.text(400, () => random.pick(LOWER) + "\u00ad"),
    "stacked combining marks": random.text(
      300,
      () =>
        random.pick(LOWER) +
        random.text(random.integer(1, 8), () => character(random, [0x300, 0x36f])),
    ),
    "emoji with skin tones": random.text(
      300,
      () => random.pick(["👋", "👍", "🙏", "💪", "✊"]) + random.pick(["🏻", "🏽", "🏿", ""]),
    ),
    "emoji families": random.text(
      200,
      () => random.pick(["👨‍👩‍👧‍👦", "👩‍💻", "🧑‍🚀", "🏳️‍🌈", "❤️‍🔥", "👩🏾‍🔬"]),
    ),
    "flags": random.text(400, () => character(random, [0x1f1e6, 0x1f1ff])),
    "keycaps": random.text(300, () => random.pick(DIGITS) + "\ufe0f\u20e3"),
    "emoji in prose": "👋🏽 hello 🎉🎉 world 🚀 that is great 😀😂 see you ❤️ tomorrow ☀️ ".repeat(
      10,
    ),
    "mathematics":
      "∀x ∈ ℝ: ⌈x⌉ = −⌊−x⌋, α ∧ ¬β ⇒ ∃y ≠ x, ∑ᵢ xᵢ² ≤ ∫₀^∞ f(t)·e^{−st} dt ≈ √π/2 ± 10⁻³ ".repeat(
        8,
      ),
    "phonetic transcription": "ðə ˈkwɪk ˈbɹaʊn ˈfɒks ˈdʒʌmps ˈəʊvə ðə ˈleɪzi ˈdɒɡ ".repeat(10),
    "box drawing": "┌──────┬──────┐\n│ name │ size │\n├──────┼──────┤\n└──────┴──────┘\n".repeat(
      10,
    ),
    "full-width text": "Ｔｈｅ　ｑｕｉｃｋ　ｂｒｏｗｎ　ｆｏｘ　１２３！".repeat(10),
    "mathematical letters": "𝓣𝓱𝓮 𝓺𝓾𝓲𝓬𝓴 𝔟𝔯𝔬𝔴𝔫 𝕗𝕠𝕩 𝟏𝟐𝟑 ".repeat(10),
    "small capitals": "ᴛʜᴇ ǫᴜɪᴄᴋ ʙʀᴏᴡɴ ꜰᴏx ᴊᴜᴍᴘꜱ ".repeat(10),
    "Arabic-Indic digits": of("٠١٢٣٤٥٦٧٨٩ "),
    "Devanagari digits": of("०१२३४५६७८९ "),
    "identifiers": random.text(
      60,
      () =>
        of("0123456789abcdef", 8) + "-" + of("0123456789abcdef", 4) + "-4" +
        of("0123456789abcdef", 3) + "-" + of("0123456789abcdef", 12) + "\n",
    ),
    "addresses": random.text(
      120,
      () => `${number(2)}.${number(3)}.${number(3)}.${number(3)}:${number(5)} `,
    ),
    "times": random.text(
      80,
      () =>
        `2026-0${random.integer(1, 9)}-1${number(1)}T0${number(1)}:1${number(1)}:2${number(1)}Z `,
    ),
    "numbers in CSV": random.text(200, () => `${number(5)}.${number(2)},`),
    "numbers in JSON": JSON.stringify(
      Array.from({ length: 150 }, () => [random.below(1000), random.below(100000) / 100]),
    ),
    "small JSON": random.text(
      60,
      () =>
        JSON.stringify({ id: random.below(1000), name: word(), tags: [word(), word()], ok: true }) +
        "\n",
    ),
    "HTML": random.text(
      80,
      () => `<div class="${word()}"><a href="/${word()}">${word()}</a></div>\n`,
    ),
    "escaped text": random.text(
      300,
      () => "\\u" + random.below(65536).toString(16).padStart(4, "0"),
    ),
    "percent-encoded text": random.text(
      500,
      () => "%" + random.below(256).toString(16).toUpperCase().padStart(2, "0"),
    ),
    "bytes in hexadecimal": random.text(
      500,
      () => random.below(256).toString(16).padStart(2, "0") + " ",
    ),
    "Markdown table": random.text(100, () => `| ${word()} | ${number(3)} | --- |\n`),
  };
  return Object.entries(samples).map(([name, text]) => ({ name, text }));
}

/** Runs of one character. */
export function runSamples(): Sample[] {
  const characters = [
    ...ALPHANUMERIC,
    ...SIGNS,
    ..." \t\n\r",
    ..."éßñžłабяωאابतกカあ的한👍😀∑═█─…“。、ሀᏣ\u200b\u0301\u00a0\u3000\ue000\u{20000}",
  ];
  return characters.map((char) => ({
    name: `a run of ${JSON.stringify(char)} (U+${char.codePointAt(0)!.toString(16)})`,
    text: char.repeat(1000),
  }));
}

/** Short patterns over and over, which is where a tokeniser merges the most. */
export function patternSamples(seed: number, count: number): Sample[] {
  const random = new Random(seed);
  const alphabet = ALPHANUMERIC + SIGNS + "  \n\t";
  return Array.from({ length: count }, () => {
    const pattern = random.text(random.integer(2, 4), () => random.pick(alphabet));
    return { name: `a pattern of ${JSON.stringify(pattern)}`, text: pattern.repeat(300) };
  });
}

/** Random mixes of scripts, words, spaces, tabs, line ends, signs and emoji. */
export function mixSamples(seed: number, count: number): Sample[] {
  const random = new Random(seed);
  const blocks = Object.values(BLOCKS);
  const texts = Object.values(LANGUAGES);
  const WHITE = [" ", " ", " ", "\t", "\n", "  ", "\n\n", "\r\n", "    ", "\u00a0", " \t", "\t\n"];
  const piece = (): () => string => {
    switch (random.below(9)) {
      case 0: {
        const block = random.pick(blocks);
        return () => random.text(random.integer(1, 6), () => character(random, block));
      }
      case 1: {
        const letters = [...random.pick(texts)];
        return () => random.text(random.integer(1, 8), () => random.pick(letters));
      }
      case 2: {
        const words = random.pick(texts).split(" ");
        return () => random.pick(words);
      }
      case 3:
        return () => random.pick(WHITE);
      case 4:
        return () => random.text(random.integer(1, 4), () => random.pick(SIGNS));
      case 5:
        return () => random.text(random.integer(1, 7), () => random.pick(DIGITS));
      case 6:
        return () => random.text(random.integer(1, 8), () => random.pick(ALPHANUMERIC));
      case 7: {
        const block = random.pick(blocks);
        return () => character(random, block);
      }
      default: {
        const char = character(random, random.pick(blocks));
        return () => char.repeat(random.integer(1, 5));
      }
    }
  };
  return Array.from({ length: count }, (_, index) => {
    const pieces = Array.from({ length: random.integer(1, 5) }, piece);
    return {
      name: `random mix ${index} of seed ${seed}`,
      text: random.text(400, () => random.pick(pieces)()),
    };
  });
}
