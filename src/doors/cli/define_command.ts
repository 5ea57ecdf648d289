import { Argument, type Command, Option } from "commander";
import { type Config, locateFaults } from "../../settings/config/mod.ts";
import { displayedLines } from "../../ground/platform/mod.ts";
import type { Json, Operation, ReplyOf } from "../../operating/operations/mod.ts";
import type { CommandContext, CommandParts } from "./context.ts";
import type { OperateOptions } from "./operate.ts";
import { type PlaceOptions, readSettings, withParts } from "./settings.ts";

/** Options that were given, arguments among them by their names. */
type Given<Options> = Options & PlaceOptions & { readonly json?: boolean };

/** What a command is run with. */
interface Run<Options> {
  readonly options: Given<Options>;
  /** Prints a value as JSON if that is asked for, or what `text` makes of it: no control characters of others. */
  readonly print: <T>(value: T, text: (value: T) => string) => void;
}

/** What a command with settings is run with. */
interface SettingsRun<Options> extends Run<Options> {
  readonly config: Config;
}

/** What wrong usage is found by: the options, the settings and the time. */
export interface CheckedRun<Options> {
  readonly options: Given<Options>;
  readonly config: Config;
  readonly now: () => number;
}

/** What a command with an open database is run with. */
export interface PartsRun<Options> extends SettingsRun<Options> {
  readonly parts: CommandParts;
  /** Carries out an operation, and resolves with its reply: see `operate`. */
  readonly perform: <O extends Operation>(
    operation: O,
    input: Json,
    options?: OperateOptions,
  ) => Promise<ReplyOf<O>>;
}

/** The words of a command. */
export interface Words {
  readonly name: string;
  readonly description: string;
  readonly arguments?: readonly Argument[];
  readonly options?: readonly Option[];
  /** What its help says behind the options. */
  readonly help?: string;
  /** Instead of the usage that arguments and options make. */
  readonly usage?: string;
  /** Whether it is run where no command is named. */
  readonly isDefault?: true;
  /** Whether it prints data, and so takes `--json`; it does unless said otherwise. */
  readonly json?: false;
}

/**
 * A command: its words, what it has to have open, and what it does.
 *
 * - `database`: one that is there, closed again at the end.
 * - `new database`: the same, made if there is none; if `--data` names its directory, which may be mistyped, after a question.
 * - `settings`: the settings alone.
 * - `place`: nothing, but it may be told which gateway it is about.
 */
type CommandDefinition<Options> =
  & Words
  & (
    | {
      readonly opens: "database" | "new database";
      /** Does it without a database where it can, and says whether it has. */
      readonly instead?: (run: Run<Options>) => Promise<boolean>;
      /** Finds wrong usage before a database is opened, or made. */
      readonly check?: (run: CheckedRun<Options>) => void | Promise<void>;
      /** Runs all of it, from the opening of the database to its end, where a failure means something of its own. */
      readonly around?: (work: () => Promise<void>) => Promise<void>;
      /** Tries it in a database that is thrown away, before a new one is made: where it fails, none is. */
      readonly rehearse?: (run: PartsRun<Options>) => Promise<unknown>;
      readonly run: (run: PartsRun<Options>) => Promise<void>;
    }
    | {
      readonly opens: "settings";
      /** Whether what it prints names the settings file and the data directory. */
      readonly namesPlaces?: true;
      /** Whether it answers requests, and so needs the keys of upstreams; it does unless said otherwise. */
      readonly serving?: false;
      readonly run: (run: SettingsRun<Options>) => void | Promise<void>;
    }
    | { readonly opens?: "place"; readonly run: (run: Run<Options>) => void | Promise<void> }
  );

/** An option that may be left out. */
export function option(flags: string, description: string, byDefault?: string): Option {
  return new Option(flags, description).default(byDefault);
}

/** Of a command that makes something, in a database that may not be there yet. */
export const CREATE = new Option(
  "--create",
  "make a database in the directory of --data if it has no database yet, without asking",
);

/** An argument: `<id>`, or `[id]` where it may be left out. */
export function argument(usage: string, description: string): Argument {
  return new Argument(usage, description);
}

/** Adds a command to the program, to a group of commands or below another command. Returns it, for commands below it. */
export function defineCommand<Options>(
  parent: Command,
  context: CommandContext,
  definition: CommandDefinition<Options>,
): Command {
  const { name, description, help, usage, json = true, isDefault = false } = definition;
  const command = parent.command(name, { isDefault }).description(description);
  if (usage !== undefined) command.usage(usage);
  const { arguments: positional = [] } = definition;
  for (const one of positional) command.addArgument(one);
  for (const one of definition.options ?? []) command.addOption(one);
  if (definition.opens !== undefined) {
    command
      .option(
        "--config <file>",
        "settings file (default: SLUICE_CONFIG, ./sluice.jsonc, or your own)",
      )
      .option(
        "--data <dir>",
        "data directory (default: SLUICE_DATA, ./data if it holds a database, or your own)",
      );
  }
  if (definition.opens === "new database") command.addOption(CREATE);
  if (json) command.option("--json", "print JSON");
  if (help !== undefined) command.addHelpText("after", help);
  command.action(async (...given: unknown[]) => {
    const options: Given<Options> = {
      ...Object.fromEntries(positional.map((one, at) => [one.name(), given[at]])),
      ...command.opts<Given<Options>>(),
    };
    const print: Run<Options>["print"] = (value, text) =>
      context.out(displayedLines(
        options.json ? `${JSON.stringify(value, null, 2)}\n` : text(value),
      ));
    switch (definition.opens) {
      case "database":
      case "new database": {
        const { run, rehearse, instead, around = (work) => work() } = definition;
        if (await instead?.({ options, print })) return;
        const using =
          (work: (run: PartsRun<Options>) => Promise<unknown>) =>
          (parts: CommandParts, config: Config) =>
            located(config, () =>
              work({
                options,
                print,
                parts,
                config,
                async perform(...given) {
                  // not loaded by `serve`, which needs less
                  const { operate } = await import("./operate.ts");
                  return await operate({ context, parts, config }, ...given);
                },
              }));
        return await around(() =>
          withParts(context, options, using(run), {
            make: definition.opens === "new database",
            check: (config) => definition.check?.({ options, config, now: context.now }),
            rehearse: rehearse && using(rehearse),
          })
        );
      }
      case "settings": {
        const { namesPlaces = false, serving = true } = definition;
        const config = await readSettings(context, options, { serving, namesPlaces });
        return await located(config, () => definition.run({ options, print, config }));
      }
      default:
        return await definition.run({ options, print });
    }
  });
  return command;
}

/** Runs a command; an error of the settings that it finds says where in the file it is. */
async function located(config: Config, work: () => unknown): Promise<void> {
  try {
    await work();
  } catch (error) {
    throw locateFaults(error, config.fileText);
  }
}
