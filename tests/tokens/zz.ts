import { countTokens as o200k } from "gpt-tokenizer/encoding/o200k_base";
import { countTokens } from "../../src/tokens/mod.ts";
import * as S from "./samples.ts";
const read = (path: string) => Deno.readTextFileSync(new URL(`../../${path}`, import.meta.url));
const groups: [string, S.Sample[]][] = [
  ["fit", [{ name: "prose", text: read("tests/tokens/texts/prose.txt") }, {
    name: "code",
    text: read("tests/tokens/texts/code.txt"),
  }]],
  [
    "held",
    [
      "CONTRIBUTING.md",
      "README.md",
      "docs/dialects.md",
      "docs/credits.md",
      "LICENSE",
      "src/relay/relay.ts",
      "src/dialects/neutral.ts",
      "src/ledger/mod.ts",
      "src/config/mod.ts",
      "deno.json",
      "deno.lock",
      "docs/settings.md",
    ].map((n) => ({ name: n, text: read(n) })),
  ],
  ["languages", S.languageSamples()],
  ...[[9]].flatMap(([k]) =>
    [["letters", S.letterSamples(k!)], ["blocks", S.blockSamples(k!)], [
      "notation",
      S.notationSamples(k!),
    ]] as [string, S.Sample[]][]
  ),
  ["runs", S.runSamples()],
  ["patterns", S.patternSamples(77, 3000)],
  ["mixes", [11, 12, 13, 14].flatMap((k) => S.mixSamples(k, 500))],
];
for (const [g, ss] of groups) {
  const rs = ss.map((s) => ({ name: s.name, ratio: countTokens(s.text) / o200k(s.text) })).sort((
    a,
    b,
  ) => a.ratio - b.ratio);
  const show = (x: typeof rs) =>
    x.map((r) =>
      r.name.replace("a pattern of ", "").replace("random mix ", "") + " " + r.ratio.toFixed(2)
    ).join(" | ");
  console.log(
    `== ${g}: ${rs.length} min ${rs[0]!.ratio.toFixed(2)} max ${rs.at(-1)!.ratio.toFixed(2)} out ${
      rs.filter((r) => r.ratio < 0.6 || r.ratio > 1.7).length
    }`,
  );
  console.log("  low:", show(rs.slice(0, 12)));
  console.log("  high:", show(rs.slice(-12)));
}
