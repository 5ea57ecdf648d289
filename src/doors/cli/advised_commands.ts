import type { Command } from "commander";
import { commandText } from "./format.ts";

/** Options that say which gateway a command is about. */
const PLACES = ["config", "data"];

/** Commands that a gateway advises at its start, when the others are not loaded. */
const AT_START = ["", "init", "models", "key create", "account link"];

/**
 * The places that a command line names, as they are to be repeated: ` --data /srv/sluice`. Empty if it names none.
 *
 * @param args What follows `sluice`.
 */
function placesIn(args: readonly string[]): string {
  const end = args.indexOf("--");
  const own = end < 0 ? args : args.slice(0, end);
  const given = PLACES.flatMap((name) => {
    const at = own.findLastIndex((one) => one === `--${name}` || one.startsWith(`--${name}=`));
    const [, inside] = own[at]?.split(/=(.*)/s) ?? [];
    const value = inside ?? own[at + 1];
    return at < 0 || value === undefined ? [] : [[name, value]];
  });
  return commandText("", { options: Object.fromEntries(given) });
}

/** The commands below one that take places, by their words: `key create`. */
function pathsBelow(command: Command, above: readonly string[] = []): string[] {
  return command.commands.flatMap((one) => {
    const words = [...above, one.name()];
    const takes = one.options.some(({ long }) => long === "--data");
    return [...(takes ? [words.join(" ")] : []), ...pathsBelow(one, words)];
  });
}

/**
 * Returns a function that has every command in a text that a person may paste name the same gateway as the command that printed it. Data is left
 * alone: a name such as `sluice env` begins a line or a column.
 *
 * @param args What follows `sluice`, of the command that prints.
 */
export function repeatingPlaces(
  args: readonly string[],
): (text: string, program: Command) => string {
  const places = args.includes("--json") ? "" : placesIn(args);
  if (places === "") return (text) => text;
  let paths: Set<string> | undefined;
  return (text, program) => {
    paths ??= new Set([...AT_START, ...pathsBelow(program)]);
    return text.replace(
      /(?<=\S |\()sluice\b(?![./@:='-]\w)((?: [a-z][a-z-]*)*)(?! ?[<\[])/g,
      (all, found: string) => {
        const words = found.split(" ").slice(1);
        for (let length = words.length; length >= 0; length--) {
          const path = words.slice(0, length).join(" ");
          if (!paths!.has(path) || path === "" && words.length > 0) continue;
          return ["sluice", ...words.slice(0, length)].join(" ") + places +
            words.slice(length).map((word) => ` ${word}`).join("");
        }
        return all;
      },
    );
  };
}
