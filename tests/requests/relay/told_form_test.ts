import type { UpstreamReply } from "../../../src/requests/upstreams/mod.ts";
import { withToldForm } from "../../../src/requests/relay/told_form.ts";
import { assertEquals } from "../../assert.ts";

const CASES: readonly {
  why: string;
  pieces: readonly string[];
  /** Pieces after which it is told. */
  after: number;
  type?: string;
  told: string | undefined;
}[] = [
  { why: "JSON", pieces: ["{", "}"], after: 1, told: "application/json" },
  { why: "a list", pieces: [" \n", "[1", "]"], after: 2, told: "application/json" },
  { why: "events", pieces: ["data: {}\n\n"], after: 1, told: "text/event-stream" },
  { why: "the shortest comment", pieces: [":", "\n\n"], after: 1, told: "text/event-stream" },
  { why: "an ID", pieces: ["i", "d", ":", " 1"], after: 3, told: "text/event-stream" },
  { why: "something else", pieces: ["<", "html", ">oh", "no"], after: 3, told: "text/plain" },
  { why: "a word that is longer", pieces: ["database", ":"], after: 1, told: "text/plain" },
  {
    why: "as many characters as the longest",
    pieces: ["<html>", "oh"],
    after: 2,
    told: "text/plain",
  },
  { why: "nothing", pieces: [], after: 1, told: "text/plain" },
  { why: "blanks alone", pieces: [" ", "\n"], after: 3, told: "text/plain" },
  {
    why: "blanks for long",
    pieces: [" ".repeat(2_048), " ".repeat(2_047), " ", "{}"],
    after: 3,
    told: "text/plain",
  },
  {
    why: "JSON behind many blanks",
    pieces: [" ".repeat(4_095), " {}"],
    after: 2,
    told: "application/json",
  },
  { why: "JSON without a type", pieces: ["{}"], after: 1, type: "", told: "application/json" },
  {
    why: "something else without a type",
    pieces: ["<html>!"],
    after: 1,
    type: "",
    told: undefined,
  },
  {
    why: "what says that it is events",
    pieces: ["{}"],
    after: 0,
    type: "text/event-stream",
    told: "text/event-stream",
  },
];

for (const { why, pieces, after, type = "text/plain", told } of CASES) {
  Deno.test(`a reply of another form than it says is told by its first bytes, as soon as they tell: ${why}`, async () => {
    const left = pieces.map((piece) => new TextEncoder().encode(piece));
    let reads = 0;
    const reply: UpstreamReply = {
      status: 200,
      headers: type === "" ? {} : { "content-type": type },
      body: {
        read: () => {
          if (reads++ > pieces.length) throw new Error("it was read beyond its end");
          return Promise.resolve(left.shift());
        },
      },
      discard() {},
      drain() {},
    };
    const { headers, body } = await withToldForm(reply);
    assertEquals([headers["content-type"], reads], [told, after]);
    assertEquals("content-type" in headers, told !== undefined);
    let text = "";
    for (let bytes = await body.read(); bytes !== undefined; bytes = await body.read()) {
      text += new TextDecoder().decode(bytes);
    }
    assertEquals(text, pieces.join(""));
  });
}
