import type { Command } from "commander";
import type { CommandContext } from "./context.ts";
import { argument, defineCommand } from "./define_command.ts";

const SHELLS = ["bash", "zsh", "fish"] as const;
type Shell = typeof SHELLS[number];

/** What may follow a command's words: its path, its subcommands and its options. */
interface Node {
  readonly path: readonly string[];
  readonly words: readonly { readonly word: string; readonly about: string }[];
}

/** `sluice completion` */
export function completionCommand(program: Command, context: CommandContext): void {
  defineCommand<{ shell: Shell }>(program, context, {
    name: "completion",
    description: "print a shell completion script",
    arguments: [argument("<shell>", "name of the shell").choices(SHELLS)],
    help:
      '\nExamples:\n  eval "$(sluice completion bash)"\n  sluice completion zsh > "${fpath[1]}/_sluice"\n' +
      "  sluice completion fish > ~/.config/fish/completions/sluice.fish",
    json: false,
    run: ({ options: { shell } }) => context.out(SCRIPTS[shell](nodesOf(program, []))),
  });
}

function nodesOf(command: Command, path: readonly string[]): Node[] {
  const commands = command.commands;
  const words = [
    ...commands.map((one) => ({ word: one.name(), about: one.description() })),
    ...command.options.map((one) => ({ word: one.long!, about: one.description })),
    { word: "--help", about: "show help" },
  ];
  return [
    { path, words },
    ...commands.flatMap((one) => nodesOf(one, [...path, one.name()])),
  ];
}

const SCRIPTS: Readonly<Record<Shell, (nodes: readonly Node[]) => string>> = {
  bash: (nodes) =>
    `_sluice() {
  local path="" word
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
${extended(nodes)}
  done
  case "\${path# }" in
${
      nodes.map(({ path, words }) =>
        `    "${path.join(" ")}") COMPREPLY=($(compgen -W "${
          words.map(({ word }) => word).join(" ")
        }" -- "\${COMP_WORDS[COMP_CWORD]}")) ;;`
      ).join("\n")
    }
  esac
}
complete -o default -F _sluice sluice
`,
  zsh: (nodes) =>
    `#compdef sluice
_sluice() {
  local path="" word
  for word in "\${words[@]:1:$((CURRENT - 2))}"; do
${extended(nodes)}
  done
  local -a found
  case "\${path# }" in
${
      nodes.map(({ path, words }) =>
        `    "${path.join(" ")}") found=(${
          words.map(({ word, about }) => quoted(`${word}:${about.replaceAll(":", "\\:")}`)).join(
            " ",
          )
        }) ;;`
      ).join("\n")
    }
  esac
  _describe sluice found || _files
}
compdef _sluice sluice
[[ $funcstack[1] != _sluice ]] || _sluice "$@" # loaded from a file, at the first completion
`,
  fish: (nodes) =>
    nodes.flatMap(({ path, words }) =>
      words.map(({ word, about }) => {
        const when = path.length === 0
          ? "__fish_use_subcommand"
          : path.map((one) => `__fish_seen_subcommand_from ${one}`).join("; and ");
        const what = word.startsWith("--") ? `-l ${word.slice(2)}` : `-f -a ${word}`;
        return `complete -c sluice -n ${quoted(when)} ${what} -d ${quoted(about)}\n`;
      })
    ).join(""),
};

/** Adds a word to the path if it names a command there. Arguments and values of options do not. */
function extended(nodes: readonly Node[]): string {
  const paths = nodes.flatMap(({ path }) => path.length === 0 ? [] : [`" ${path.join(" ")}"`]);
  return `    case "$path $word" in ${paths.join("|")}) path="$path $word" ;; esac`;
}

/** A text between single quotes, which the three shells read alike but for a quote itself. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", "’")}'`;
}
