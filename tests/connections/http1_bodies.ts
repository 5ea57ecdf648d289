/** Framings of bodies in HTTP/1.1: lengths, chunks, extensions, trailers. */

import type { Random } from "../fake/random.ts";
import { anyHead } from "./requests.ts";
import {
  anySize,
  chain,
  type Kind,
  type Plan,
  repeated,
  send,
  type Step,
  type Target,
} from "./steps.ts";

/** Powers of two: the least and the most that a flood sends. */
const FLOOD = [16, 25] as const;

export const BODY_KINDS: readonly Kind[] = [
  { name: "length", plan: declared },
  { name: "length, large body", plan: large },
  { name: "chunks", plan: chunks },
  { name: "chunk, unended", plan: unendedChunk },
  { name: "trailers", plan: trailers },
  { name: "codings", plan: codings },
  { name: "expect", plan: expect },
];

/** A length that is true, false or no number, and a small body. */
function declared(random: Random, target: Target): Plan {
  const { path, who, lines, body } = anyHead(random, target);
  const { length } = body;
  const values = random.pick([
    [`${length}`],
    [`${length - 1}`],
    [`${length + 1}`],
    [`${length + 1_000_000}`],
    ["0"],
    ["-1"],
    ["+5"],
    ["0x10"],
    ["abc"],
    [""],
    ["67108865"],
    ["9007199254740993"],
    ["18446744073709551615"],
    ["99999999999999999999999999"],
    [`${length}`, `${length}`],
    [`${length}`, `${length + 1}`],
    [`${length}, ${length}`],
    [],
  ]);
  const lengths = values.map((value) => `content-length: ${value}\r\n`).join("");
  return {
    told: `${path}, ${who}, content-length ${JSON.stringify(values)} for ${length}`,
    steps: [send(`POST ${path} HTTP/1.1\r\n${lines}${lengths}\r\n${body}`)],
  };
}

/** Many bytes, as many as were declared, or fewer, or more. */
function large(random: Random, target: Target): Plan {
  const { path, who, lines } = anyHead(random, target);
  const bytes = anySize(random, ...FLOOD);
  const length = random.pick([bytes, bytes, 2 * bytes, Math.floor(bytes / 2)]);
  const unit = random.pick([" ", "x", "[", '{"a":', "[0],", '"word", ', "\0", "a=b&", "%41", "&"]);
  return {
    told: `${path}, ${who}, content-length ${length}, ${bytes} bytes of ${JSON.stringify(unit)}`,
    steps: chain(
      send(`POST ${path} HTTP/1.1\r\n${lines}content-length: ${length}\r\n\r\n`),
      repeated(unit, bytes),
    ),
  };
}

function chunkedHead(random: Random, target: Target): { told: string; head: string } {
  const { path, who, lines } = anyHead(random, target);
  const head = `POST ${path} HTTP/1.1\r\n${lines}transfer-encoding: chunked\r\n\r\n`;
  return { told: `${path}, ${who}`, head };
}

/** Chunks of one size, or with an extension each, and an end or none. */
function chunks(random: Random, target: Target): Plan {
  const { told, head } = chunkedHead(random, target);
  const size = anySize(random, 0, 20);
  const bytes = Math.min(anySize(random, ...FLOOD), size * 2_000_000);
  const extension = random.pick([
    "",
    "",
    ";a=b",
    `;x="${"y".repeat(random.integer(1, 300))}"`,
    " ",
    ";",
  ]);
  const isEnded = random.next() < 0.5;
  const fill = random.pick([" ", "x", "["]);
  const unit = `${size.toString(16)}${extension}\r\n${fill.repeat(size)}\r\n`;
  const end: Step[] = isEnded ? [send("0\r\n\r\n")] : [];
  return {
    told: `${told}, chunks of ${size} ${fill}, extension of ${extension.length}, ${bytes} bytes, ${
      isEnded ? "ended" : "not ended"
    }`,
    steps: chain(send(head), repeated(unit, bytes), end),
  };
}

/** A chunk whose size, extension or line end goes on, or is none. */
function unendedChunk(random: Random, target: Target): Plan {
  const { told, head } = chunkedHead(random, target);
  const [what, start, unit] = random.pick(
    [
      ["size of zeros", "", "0"],
      ["size of digits", "", "f"],
      ["extension", "1;", "x"],
      ["quoted extension", '1;a="', "x"],
      ["many extensions", "1", ";a=b"],
      ["spaces behind the size", "1", " "],
      ["line feeds", "", "\n"],
      ["no hexadecimal number", "", "zz\r\n"],
      ["negative size", "-1\r\n", "x"],
      ["huge size", "ffffffffffffffff\r\n", "x"],
      ["size of 64 MB", "4000000\r\n", "x"],
      ["no line end behind the data", "1\r\n", "xx"],
      ["bare line feeds", "1\nx\n", "1\nx\n"],
    ] as const,
  );
  const bytes = anySize(random, ...FLOOD);
  return {
    told: `${told}, ${what}, ${bytes} bytes`,
    steps: chain(send(`${head}${start}`), repeated(unit, bytes)),
  };
}

/** Trailers: many, one that goes on, forbidden ones. */
function trailers(random: Random, target: Target): Plan {
  const { told, head } = chunkedHead(random, target);
  const [what, start, unit] = random.pick(
    [
      ["many", "", "x: y\r\n"],
      ["many without a value", "", "x:\r\n"],
      ["one", "x: ", "y"],
      ["a name", "", "x"],
      ["folded", "x: y\r\n", " y\r\n"],
      ["lengths", "", "content-length: 5\r\n"],
      ["bare line feeds", "", "x: y\n"],
    ] as const,
  );
  const bytes = anySize(random, 4, 25);
  const isEnded = random.next() < 0.5;
  const body = random.pick(["", "1\r\n{\r\n", "2\r\n{}\r\n"]);
  return {
    told: `${told}, trailers: ${what}, ${bytes} bytes, body ${JSON.stringify(body)}, ${
      isEnded ? "ended" : "not ended"
    }`,
    steps: chain(
      send(`${head}${body}0\r\n${start}`),
      repeated(unit, bytes),
      send(isEnded ? "\r\n\r\n" : "x"),
    ),
  };
}

/** Transfer codings that are not supported, repeated, or beside a length. */
function codings(random: Random, target: Target): Plan {
  const { path, who, lines, body } = anyHead(random, target);
  const coding = random.pick([
    "transfer-encoding: gzip, chunked\r\n",
    "transfer-encoding: chunked, gzip\r\n",
    "transfer-encoding: identity\r\n",
    "transfer-encoding: CHUNKED\r\n",
    "transfer-encoding:\tchunked \r\n",
    "transfer-encoding : chunked\r\n",
    "transfer-encoding: xchunked\r\n",
    "transfer-encoding: chunked\r\ntransfer-encoding: chunked\r\n",
    "transfer-encoding: chunked\r\ntransfer-encoding: identity\r\n",
    `content-length: ${body.length}\r\ntransfer-encoding: chunked\r\n`,
    `transfer-encoding: chunked\r\ncontent-length: ${body.length}\r\n`,
    "transfer-encoding: chunked\r\ncontent-length: 0\r\n",
    "content-encoding: gzip\r\ntransfer-encoding: chunked\r\n",
    "te: trailers, deflate;q=0.5\r\ntransfer-encoding: chunked\r\n",
  ]);
  const framed = random.pick([body, `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`]);
  const smuggled = `GET /healthz HTTP/1.1\r\nhost: ${target.host}\r\n\r\n`;
  const more = random.integer(0, 3);
  return {
    told: `${path}, ${who}, ${JSON.stringify(coding)}, ${
      framed === body ? "plain" : "chunked"
    } body, ${more} requests behind it`,
    steps: [
      send(`POST ${path} HTTP/1.1\r\n${lines}${coding}\r\n${framed}${smuggled.repeat(more)}`),
    ],
  };
}

/** Bodies that wait for 100 Continue, or do not, or never come. */
function expect(random: Random, target: Target): Plan {
  const { path, who, lines, body } = anyHead(random, target);
  const value = random.pick(["100-continue", "100-Continue", "200-ok", ""]);
  const framing = random.pick([
    `content-length: ${body.length}\r\n`,
    "content-length: 10000000\r\n",
    "transfer-encoding: chunked\r\n",
    "",
  ]);
  const waits = random.next() < 0.6;
  const sends = random.pick(["nothing", "the body", "more"]);
  const isChunked = framing.startsWith("transfer");
  const framed = isChunked ? `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n` : body;
  return {
    told: `${path}, ${who}, expect: ${value}, ${JSON.stringify(framing)}, ${
      waits ? "waits" : "does not wait"
    }, sends ${sends}`,
    steps: chain(
      send(`POST ${path} HTTP/1.1\r\n${lines}expect: ${value}\r\n${framing}\r\n`),
      waits ? [{ does: "await reply", withinMs: 1_000 } satisfies Step] : [],
      sends === "nothing" ? [] : [send(framed)],
      sends === "more" ? repeated(framed, anySize(random, 10, 22)) : [],
    ),
  };
}
