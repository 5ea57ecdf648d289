import { jsonIn } from "../../../../ground/platform/mod.ts";
import { invalid } from "../../../../ground/refusal.ts";

/** What a client asks for over a WebSocket: one response. */
export interface TurnFrame {
  /** Members of the request body besides `input` and `stream`, as JSON. */
  readonly members: readonly string[];
  /** The items of the input as comma-separated JSON, in UTF-8. Undefined if the input is neither a list nor a text. */
  readonly items: Uint8Array | undefined;
  /** The input as JSON. */
  readonly input: string | undefined;
  /** The response of the same connection that this one continues. */
  readonly previousId: string | undefined;
  /** Whether the model is to reply; else the input is only noted. */
  readonly generates: boolean;
  /** The client's name for a line of turns on the connection, by which it tells their frames apart. */
  readonly streamId: string | undefined;
}

/** Members that are the frame's own. */
const OWN = ["type", "input", "stream", "previous_response_id", "generate", "stream_id"];

const encoder = new TextEncoder();

/**
 * Reads a frame. Only the ends of its members are looked for, without parsing them: they are checked with the body that they
 * become.
 *
 * @throws {Refusal} `request_invalid` if it is not a `response.create`.
 */
export function readTurnFrame(text: string): TurnFrame {
  const members = membersOf(text);
  if (members === undefined) throw invalid(undefined, "The frame is not a JSON object.");
  const value = (name: string): unknown => {
    const json = members.get(name);
    if (json === undefined || json.length > MAX_CHARS) return json;
    const read = jsonIn(json);
    if (read === undefined) throw invalid(name, `${name} is not valid JSON.`);
    return read;
  };
  const type = value("type");
  if (type !== "response.create") {
    throw invalid("type", "type must be 'response.create': other frames are not supported.");
  }
  const named = (name: string): string | undefined => {
    const id = value(name) ?? undefined;
    if (id === undefined || typeof id === "string") return id;
    throw invalid(name, `${name} must be text or null.`);
  };
  const previousId = named("previous_response_id");
  const input = members.get("input");
  const items = itemsOf(input);
  if (input !== undefined && items === undefined && previousId !== undefined) {
    throw invalid("input", "input must be text or a list.");
  }
  return {
    members: [...members].filter(([name]) => !OWN.includes(name))
      .map(([name, json]) => `${JSON.stringify(name)}:${json}`),
    items,
    input,
    previousId,
    generates: value("generate") !== false,
    streamId: checkedStreamId(named("stream_id")),
  };
}

/** Each frame of a turn repeats it: a long one would make megabytes of a few words. */
const STREAM_ID = /^[A-Za-z0-9_.-]{1,256}$/;

function checkedStreamId(id: string | undefined): string | undefined {
  if (id === undefined || STREAM_ID.test(id)) return id;
  throw invalid(
    "stream_id",
    "stream_id must have 1 to 256 letters, digits, periods, hyphens or underscores.",
  );
}

/** The `stream_id` of a frame that may be no legal one; undefined if it has none. */
export function streamIdOf(text: string): string | undefined {
  const json = membersOf(text)?.get("stream_id") ?? "";
  const id: unknown = json.length > MAX_CHARS ? undefined : jsonIn(json);
  return typeof id === "string" && STREAM_ID.test(id) ? id : undefined;
}

/** Values of a frame's own members are short. */
const MAX_CHARS = 1_000;

function itemsOf(input: string | undefined): Uint8Array | undefined {
  switch (input?.[0]) {
    case "[":
      return encoder.encode(input.slice(1, -1).trim());
    case '"':
      return encoder.encode(`{"type":"message","role":"user","content":${input}}`);
    default:
      return undefined;
  }
}

/**
 * Writes the body of a request for a turn.
 *
 * @param earlier Items of the conversation so far, as in {@linkcode TurnFrame.items}.
 * @returns Pieces of JSON in UTF-8.
 */
export function turnBody(
  { members, items, input }: TurnFrame,
  earlier: readonly Uint8Array[],
): Uint8Array[] {
  const head = `{"stream":true${members.map((member) => `,${member}`).join("")}`;
  if (earlier.length === 0) {
    return [encoder.encode(head + (input === undefined ? "}" : `,"input":${input}}`))];
  }
  const all = [...earlier, items ?? new Uint8Array()].filter(({ length }) => length > 0);
  const comma = encoder.encode(",");
  return [
    encoder.encode(`${head},"input":[`),
    ...all.flatMap((piece, at) => (at === 0 ? [piece] : [comma, piece])),
    encoder.encode("]}"),
  ];
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const isSpace = (code: number) => code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09;

/** The members of a JSON object by their names, as JSON; undefined if it is none. What is in them is not checked. */
function membersOf(text: string): Map<string, string> | undefined {
  let at = skipSpace(text, 0);
  if (text[at] !== "{") return undefined;
  const members = new Map<string, string>();
  at = skipSpace(text, at + 1);
  if (text[at] === "}") return skipSpace(text, at + 1) === text.length ? members : undefined;
  while (true) {
    const nameEnd = text.charCodeAt(at) === QUOTE ? stringEnd(text, at) : -1;
    if (nameEnd < 0) return undefined;
    const name = nameOf(text.slice(at, nameEnd));
    at = skipSpace(text, nameEnd);
    if (name === undefined || text[at] !== ":") return undefined;
    const start = skipSpace(text, at + 1);
    const end = valueEnd(text, start);
    if (end < 0) return undefined;
    members.set(name, text.slice(start, end).trimEnd());
    if (text[end] === "}") return skipSpace(text, end + 1) === text.length ? members : undefined;
    at = skipSpace(text, end + 1);
  }
}

function nameOf(json: string): string | undefined {
  const name = jsonIn(json);
  return name === undefined ? undefined : String(name);
}

function skipSpace(text: string, from: number): number {
  let at = from;
  while (isSpace(text.charCodeAt(at))) at++;
  return at;
}

/** Where a string ends that begins here, after its quote; -1 if it does not end. */
function stringEnd(text: string, from: number): number {
  let at = from;
  while (true) {
    at = text.indexOf('"', at + 1);
    if (at < 0) return -1;
    let before = at - 1;
    while (text.charCodeAt(before) === BACKSLASH) before--;
    if ((at - before) % 2 === 1) return at + 1;
  }
}

/** Where a member's value ends: at the comma or bracket after it; -1 if it does not end. */
function valueEnd(text: string, from: number): number {
  let depth = 0;
  for (let at = from; at < text.length; at++) {
    switch (text.charCodeAt(at)) {
      case QUOTE:
        at = stringEnd(text, at) - 1;
        if (at < 0) return -1;
        break;
      case 0x5b: // [
      case 0x7b: // {
        depth++;
        break;
      case 0x5d: // ]
      case 0x7d: // }
        if (depth === 0) return text[at] === "}" && at > from ? at : -1;
        depth--;
        break;
      case 0x2c: // ,
        if (depth === 0) return at > from ? at : -1;
    }
  }
  return -1;
}
