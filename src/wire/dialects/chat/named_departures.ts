import { jsonIn } from "../../../ground/platform/mod.ts";
import { isObject, type JsonObject, objects, text } from "../json.ts";
import { documentedFinish } from "../neutral/finish.ts";

/** What a reply of a chat upstream is made of: the body of a whole one, or each chunk of a stream. */
interface Said {
  readonly all: readonly JsonObject[];
  readonly choices: readonly JsonObject[];
  /** Messages or deltas. */
  readonly messages: readonly JsonObject[];
  /** The pieces of each call, by its index; those without one continue the call before them. */
  readonly calls: readonly (readonly Piece[])[];
}

/** A piece of a call. */
interface Piece {
  readonly id: string | undefined;
  readonly name: string | undefined;
  readonly args: unknown;
}

/** Departures by their names in docs/departures.md. They matter to developers who add a provider; clients do not see them. */
const DEPARTURES: Readonly<Record<string, (said: Said) => boolean>> = {
  "thinking as parts of the content": ({ messages }) =>
    messages.some(({ content }) => objects(content).some(({ type }) => type === "thinking")),
  "thinking between tags in the text": ({ messages }) =>
    /^\s*<think>/.test(messages.map(({ content }) => text(content) ?? "").join("")),
  "other words for an ordinary end": ({ choices }) =>
    choices.some(({ finish_reason: reason }) =>
      documentedFinish(reason) !== reason && reason !== "tool_use"
    ),
  "tool_use for tool_calls": ({ choices, messages }) =>
    choices.some(({ finish_reason: reason }) => reason === "tool_use" || reason === "stop") &&
    messages.some(({ tool_calls: calls }) => objects(calls).length > 0),
  "usage under x_groq": ({ all }) =>
    all.some(({ x_groq: groq }) => isObject(groq) && isObject(groq.usage)),
  "usage in each chunk": ({ all }) => all.filter(({ usage }) => isObject(usage)).length > 1,
  "usage in the choice": ({ choices }) => choices.some(({ usage }) => isObject(usage)),
  "a first chunk without choices": ({ all: [first, ...others] }) =>
    first !== undefined && others.length > 0 && Array.isArray(first.choices) &&
    first.choices.length === 0 && !isObject(first.usage),
  "text beside the message": ({ choices }) => choices.some(({ text: beside }) => !!text(beside)),
  "usage in the message": ({ messages }) => messages.some(({ usage }) => isObject(usage)),
  "usage in billed units": ({ all }) =>
    all.some(({ usage }) => isObject(usage) && isObject(usage.billed_units)),
  "timings instead of usage": ({ all }) =>
    all.some(({ timings }) => isObject(timings)) && !all.some(({ usage }) => isObject(usage)),
  "usage beside an empty delta at the end": ({ all }) =>
    all.some(({ usage, choices }) =>
      isObject(usage) &&
      objects(choices).some(({ delta, finish_reason: reason }) =>
        isObject(delta) && Object.keys(delta).length === 0 && !reason
      )
    ),
  "the name of a call in pieces": ({ calls }) =>
    calls.some((pieces) => {
      const names = pieces.flatMap(({ name }) => name ?? []);
      return names.length > 1 && names.some((name) => name !== names[0]);
    }),
  "empty arguments before the others": ({ calls }) =>
    calls.some((pieces) => {
      const [first, ...others] = pieces.map(({ args }) => args).filter((args) => !!args);
      return others.length > 0 && EMPTY.includes(isObject(first) ? JSON.stringify(first) : first);
    }),
  "arguments as an object": ({ calls }) => calls.flat().some(({ args }) => isObject(args)),
  "arguments in a text of JSON": ({ calls }) =>
    calls.some((pieces) => /^\s*"/.test(argsOf(pieces).join(""))),
  "pieces of arguments that begin with those before": ({ calls }) =>
    calls.some((pieces) => {
      const args = argsOf(pieces);
      return args.length > 1 && args.every((one, at) => at === 0 || one.startsWith(args[at - 1]!));
    }),
  "the arguments once more at the end": ({ calls }) =>
    calls.some((pieces) => {
      const args = argsOf(pieces);
      return args.length > 1 && args.at(-1) === args.slice(0, -1).join("");
    }),
  "calls as an object": ({ messages }) => messages.some((one) => isObject(one.tool_calls)),
  "a call without function": ({ messages }) =>
    messages.some(({ tool_calls: calls }) =>
      objects(calls).some(({ function: own, name }) => !isObject(own) && !!text(name))
    ),
  "other IDs, kinds and names in each piece of a call": ({ calls }) =>
    calls.some((pieces) => {
      const ids = pieces.flatMap(({ id }) => id ?? []);
      return ids.length > 1 && ids.some((id) => id !== ids[0]) && !isJson(argsOf(pieces)[0]);
    }),
  "no finish reason after a call": ({ choices, calls }) =>
    calls.length > 0 && !choices.some(({ finish_reason: reason }) => !!reason),
  "two finish reasons": ({ choices }) =>
    [...Map.groupBy(choices, ({ index }) => index).values()]
      .some((of) => of.filter(({ finish_reason: reason }) => !!reason).length > 1),
  "output after the finish reason": ({ choices }) =>
    [...Map.groupBy(choices, ({ index }) => index).values()].some((of) => {
      const end = of.findIndex(({ finish_reason: reason }) => !!reason);
      return end >= 0 &&
        of.slice(end + 1).some(({ delta }) => isObject(delta) && !!text(delta.content));
    }),
  "the whole message at the end": ({ choices }) =>
    choices.some(({ delta }) => isObject(delta)) &&
    choices.some(({ message }) => isObject(message)),
  "a signature of thoughts with a call": ({ messages }) =>
    messages.some(({ tool_calls: calls }) =>
      objects(calls).some(({ extra_content: more }) => isObject(more))
    ),
};

/** Arguments that say nothing. */
const EMPTY: readonly unknown[] = ["{}", "[]", "null"];

/** Pieces of arguments that are text and not empty. */
function argsOf(pieces: readonly Piece[]): string[] {
  return pieces.flatMap(({ args }) => text(args) || []);
}

function isJson(value: string | undefined): boolean {
  return jsonIn(value ?? "") !== undefined;
}

function callsOf(messages: readonly JsonObject[]): Piece[][] {
  const byIndex = new Map<unknown, Piece[]>();
  let last: unknown;
  for (const { tool_calls: calls } of messages) {
    const all = isObject(calls)
      ? [calls, ...Object.values(calls)].filter(isObject)
      : objects(calls);
    for (const { index = last ?? 0, id, function: own, ...flat } of all) {
      const { name, arguments: args } = isObject(own) ? own : flat;
      const pieces = byIndex.get(index) ?? [];
      byIndex.set(last = index, pieces);
      pieces.push({ id: text(id) || undefined, name: text(name) || undefined, args });
    }
  }
  return [...byIndex.values()];
}

/**
 * How a reply departs from the dialect's documentation.
 *
 * @param all The body of a whole reply, or each chunk of a stream.
 * @returns Names as docs/departures.md has them.
 */
export function chatDepartures(all: readonly JsonObject[]): string[] {
  const choices = all.flatMap((one) => objects(one.choices));
  const messages = choices.flatMap(({ message, delta }) => [message, delta].filter(isObject));
  const said = { all, choices, messages, calls: callsOf(messages) };
  return Object.keys(DEPARTURES).filter((name) => DEPARTURES[name]!(said));
}
