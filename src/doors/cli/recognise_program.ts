import {
  CODING_TOOLS,
  type CodingTool,
  type KnownTool,
  TOOLS_PAST_US,
  type ToolSetup,
} from "./coding_tools.ts";

/** Programs that run a package, and their subcommand that does so. */
const LAUNCHERS: Readonly<Record<string, readonly string[]>> = {
  npx: [],
  bunx: [],
  pnpx: [],
  uvx: [],
  npm: ["exec", "x"],
  pnpm: ["dlx", "exec"],
  yarn: ["dlx", "exec"],
  bun: ["x"],
  pipx: ["run"],
};

/** A program as it was recognised. */
export interface RecognisedProgram {
  /** Its name without directory, ending and version. */
  readonly name: string;
  readonly tool: CodingTool | undefined;
  /** Why it is not started, if so. */
  readonly refused: string | undefined;
  /** Index of the tool's own first argument. */
  readonly argsFrom: number;
}

/** Recognises a program, also if a launcher such as `npx` runs it. */
export function recogniseProgram(program: string, args: readonly string[]): RecognisedProgram {
  const name = programName(program);
  const direct = known((one) =>
    one.programs.includes(name) &&
    (one.subcommand === undefined || firstWord(args) === one.subcommand)
  );
  if (direct !== undefined) return recognised(name, direct, 0);
  const subcommands = LAUNCHERS[name];
  if (subcommands === undefined) return recognised(name, undefined, 0);
  const isWord = (from: number) => args.findIndex((one, at) => at >= from && !one.startsWith("-"));
  let at = isWord(0);
  if (subcommands.length > 0) {
    if (at < 0 || !subcommands.includes(args[at]!)) return recognised(name, undefined, 0);
    at = isWord(at + 1);
  }
  if (at < 0) return recognised(name, undefined, 0);
  const called = args[at]!.replace(/(?<=.)@[^/]*$/, "");
  const launched = known(({ packages = [], programs, subcommand }) =>
    packages.includes(called) || subcommand === undefined && programs.includes(called)
  );
  if (launched === undefined) return recognised(name, undefined, 0);
  // npx --package PACKAGE PROGRAM
  const repeats = launched.programs.includes(args[at + 1] ?? "");
  return recognised(launched.programs[0]!, launched, at + (repeats ? 2 : 1));
}

/**
 * The arguments that a tool is started with.
 *
 * @param args The user's own.
 */
export function toolArguments(
  { subcommands = [] }: CodingTool,
  { args: ours = [] }: ToolSetup,
  args: readonly string[],
): readonly string[] {
  if (subcommands.includes(args[0] ?? "")) return args;
  const gives = (option: string) =>
    args.some((one) => one === option || one.startsWith(`${option}=`));
  return [...ours.flatMap(({ args, unless = [] }) => (unless.some(gives) ? [] : args)), ...args];
}

function known(matches: (tool: KnownTool) => boolean): KnownTool | CodingTool | undefined {
  return CODING_TOOLS.find(matches) ?? TOOLS_PAST_US.find(matches);
}

function recognised(
  name: string,
  tool: KnownTool | CodingTool | undefined,
  argsFrom: number,
): RecognisedProgram {
  const coding = tool !== undefined && "setUp" in tool ? tool : undefined;
  return { name, tool: coding, refused: tool?.refused, argsFrom };
}

function programName(program: string): string {
  return (program.split(/[/\\]/).at(-1) ?? program).toLowerCase().replace(
    /\.(exe|cmd|bat|ps1)$/,
    "",
  );
}

function firstWord(args: readonly string[]): string | undefined {
  return args.find((one) => !one.startsWith("-"));
}
