import { isObject, type JsonObject, objects, text } from "../json.ts";
import { documentedFinish } from "../neutral/finish.ts";

/** What a reply of a chat upstream is made of: the body of a whole one, or each chunk of a stream. */
interface Said {
  readonly all: readonly JsonObject[];
  readonly choices: readonly JsonObject[];
  /** Messages or deltas. */
  readonly messages: readonly JsonObject[];
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
  "a signature of thoughts with a call": ({ messages }) =>
    messages.some(({ tool_calls: calls }) =>
      objects(calls).some(({ extra_content: more }) => isObject(more))
    ),
};

/**
 * How a reply departs from the dialect's documentation.
 *
 * @param all The body of a whole reply, or each chunk of a stream.
 * @returns Names as docs/departures.md has them.
 */
export function chatDepartures(all: readonly JsonObject[]): string[] {
  const choices = all.flatMap((one) => objects(one.choices));
  const messages = choices.flatMap(({ message, delta }) => [message, delta].filter(isObject));
  const said = { all, choices, messages };
  return Object.keys(DEPARTURES).filter((name) => DEPARTURES[name]!(said));
}
