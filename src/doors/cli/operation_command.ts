import type { Command } from "commander";
import { issueWords } from "../../ground/issue_words.ts";
import type { Json, Operation, ReplyOf } from "../../operating/operations/mod.ts";
import { isoOf } from "../../operating/operations/mod.ts";
import { type CommandContext, UsageError } from "./context.ts";
import {
  argument,
  type CheckedRun,
  defineCommand,
  option,
  type PartsRun,
  type Words,
} from "./define_command.ts";
import { parseCount, parseDuration, parseList } from "./format.ts";

const MAX_LIMIT = 1_000;
const EITHER = "pass either --account or --team";

/** Makes the value of a member of the input, as the operation takes it. */
type Read = (text: string, flag: string, run: CheckedRun<GivenOptions>) => unknown;
/** The same, where the database is needed for it. */
type Find = (text: string, flag: string, run: OperationRun) => unknown;

/**
 * How a member of the input is given: flags such as `--name <name>`, or an argument, `<id>` or `[id]`; its description, if it
 * is not the operation's; and how it is read, if not by its type.
 */
type Field =
  | string
  | readonly [
    flags: string,
    description?: string | undefined,
    read?: Read | { readonly find: Find },
  ];

type GivenOptions = Readonly<Record<string, string | undefined>>;

/** What the command of an operation is run with. */
export type OperationRun = PartsRun<GivenOptions>;

/** What a command has that its operation has not. */
interface OperationWords<O extends Operation, Shown>
  extends Omit<Words, "arguments" | "description"> {
  /** Default: the operation's summary. */
  readonly description?: string;
  readonly fields?: { readonly [Name in keyof O["input"]["shape"]]?: Field };
  /** Members that the operation requires and the command does not. */
  readonly optional?: readonly (keyof O["input"]["shape"])[];
  readonly opens?: "database" | "new database";
  /** Runs all of it, where a failure means something of its own. */
  readonly around?: (work: () => Promise<void>) => Promise<void>;
  /** What it is about when neither an account nor a team is named: the owner's account; or it is wrong usage. */
  readonly unnamed?: "owner" | "wrong";
  /** Of a list: how many items are printed without `--limit`. Default: all, and there is no such option. */
  readonly limit?: number;
  /** Members of the input that options and settings give together; may refuse the command, before a database is made. */
  readonly given?: (run: CheckedRun<GivenOptions>) => Json;
  /** Members of the input that the database is needed for; may refuse the command. */
  readonly input?: (run: OperationRun) => Json | Promise<Json>;
  /** Carries it out, if that is more than one operation. */
  readonly carryOut?: (input: Json, run: OperationRun) => Promise<Shown>;
  /** What it prints as it is in place of the reply, in pieces; undefined if the reply is printed. */
  readonly instead?: (
    input: Json,
    run: OperationRun,
  ) => Promise<Iterable<string> | AsyncIterable<string> | undefined>;
  /** Looks at the reply once it is printed; throws if the command has failed. */
  readonly ends?: (reply: Shown) => void;
  /** Writes the reply for people. */
  readonly text: (
    reply: Shown,
    run: OperationRun & { readonly input: Json },
  ) => string | Promise<string>;
}

/**
 * Adds the command of an operation: arguments and options are members of its input, which validates them, and `--json` prints
 * the API's reply. A list without `limit` is read to its end.
 */
export function operationCommand<O extends Operation, Shown = ReplyOf<O>>(
  parent: Command,
  context: CommandContext,
  operation: O,
  words: OperationWords<O, Shown>,
): Command {
  const {
    fields: known = {},
    optional = [],
    given,
    limit,
    unnamed,
    input: more,
    carryOut,
    instead,
    text,
    ends,
    ...rest
  } = words;
  const fields = Object.entries<Field>(known as Record<string, Field>)
    .map(([name, field]) => fieldOf(operation, name, field));
  const [positional, named] = [fields.filter(isArgument), fields.filter((one) => !isArgument(one))];
  const flags = Object.fromEntries(fields.map(({ name, flag }) => [name, flag]));
  /** Reads what is given on the command line. @throws {UsageError} If that is wrong. */
  const read = (run: CheckedRun<GivenOptions>) => {
    const { options } = run;
    if (flags.team === "--team" && options.team !== undefined && options.account !== undefined) {
      throw new UsageError(EITHER);
    }
    const max = limit === undefined
      ? undefined
      : parseCount("--limit", options.limit!, { min: 1, max: MAX_LIMIT });
    const input: Record<string, unknown> = {};
    for (const { name, flag, key, read } of fields) {
      const value = options[key];
      if (value !== undefined && read !== undefined) input[name] = read(value, flag, run);
    }
    const isUnnamed =
      (input.account ?? input.team ?? options.account ?? options.team) === undefined;
    if (isUnnamed && unnamed === "wrong") throw new UsageError(EITHER);
    return { input: { ...input, ...given?.(run) } as Record<string, unknown>, max, isUnnamed };
  };
  const ready = async (open: OperationRun) => {
    const { options, parts, config } = open;
    const { input, max, isUnnamed } = read({ options, config, now: parts.clock.now });
    if (isUnnamed && unnamed === "owner") input.account = (await parts.owner()).id;
    const run: OperationRun = {
      ...open,
      perform: (one, members) => open.perform(one, members, { flags, max }),
    };
    for (const { name, flag, key, find } of fields) {
      const value = options[key];
      if (value !== undefined && find !== undefined) input[name] = await find(value, flag, run);
    }
    Object.assign(input, await more?.(run));
    return { input, run };
  };
  const carriedOut = async ({ input, run }: Awaited<ReturnType<typeof ready>>) =>
    carryOut === undefined
      ? await run.perform(operation, input) as Shown
      : await carryOut(input, run);
  const isRehearsed = operation.kind === "write" && !operation.actsOutside;
  return defineCommand<GivenOptions>(parent, context, {
    opens: "database",
    description: asPhrase(operation.summary),
    ...rest,
    arguments: positional.map((one) => one.chosen(argument(one.flags, one.description))),
    options: [
      ...named.map((one) =>
        one.chosen(option(one.flags, one.description)).makeOptionMandatory(
          one.isRequired && !optional.includes(one.name),
        )
      ),
      ...words.options ?? [],
      ...limit === undefined
        ? []
        : [option("--limit <n>", `max number of rows, up to ${MAX_LIMIT}`, String(limit))],
    ],
    check: (run) => void read(run),
    ...isRehearsed &&
      { rehearse: async (open: OperationRun) => await carriedOut(await ready(open)) },
    async run(open) {
      const all = await ready(open);
      const { input, run } = all;
      const pieces = await instead?.(input, run);
      if (pieces !== undefined) {
        for await (const piece of pieces) context.out(piece);
        return;
      }
      const shown = await carriedOut(all);
      const written = open.options.json ? "" : await text(shown, { ...run, input });
      open.print(shown, () => written);
      ends?.(shown);
    },
  });
}

/** Reads a duration from now as an instant; `never` is null. */
export const lifetime: Read = (text, flag, { now }) =>
  text === "never" ? null : isoOf(now() + parseDuration(flag, text));

/** Reads `--models`. @throws {UsageError} If `all` is also the name of a model. */
export const models: Read = (text, flag, { config }) => {
  if (text.trim() !== "all") return parseList(flag, text);
  if (!Object.hasOwn(config.settings.routes, "all")) return null;
  throw new UsageError(
    "'all' means every model, and a route has the name 'all': name models, or rename it",
  );
};

interface GivenField {
  readonly name: string;
  readonly flags: string;
  /** The long flag, or the argument as it is written. */
  readonly flag: string;
  /** Its name among the options. */
  readonly key: string;
  readonly description: string;
  /** Names the values that it can have, if it is one of several. */
  readonly chosen: <T extends { choices(values: readonly string[]): T }>(one: T) => T;
  readonly isRequired: boolean;
  /** Of what is found, undefined. */
  readonly read: Read | undefined;
  readonly find: Find | undefined;
}

function fieldOf({ input }: Operation, name: string, field: Field): GivenField {
  const [flags, words, reads] = typeof field === "string" ? [field] : field;
  const [given, find] = typeof reads === "object" ? [undefined, reads.find] : [reads];
  const whole = input.shape[name]!;
  let schema = whole as Unwrapping;
  let { description } = schema;
  while (schema.unwrap !== undefined && schema.def.type !== "array") {
    schema = schema.unwrap() as Unwrapping;
    description ??= schema.description;
  }
  const { type } = schema.def;
  const flag = /--[\w-]+/.exec(flags)?.[0] ?? flags;
  const isSwitch = flags.startsWith("-") && !/[<[]/.test(flags);
  const byType: Read = (text, flag) => {
    if (isSwitch) return type === "enum" ? String(text) : text;
    if (type === "array") return parseList(flag, text);
    return type === "number" && /^[0-9]+$/.test(text) ? Number(text) : text;
  };
  const valid = (value: unknown, flag: string) => {
    const { success, error } = whole.safeParse(value, { error: issueWords });
    if (success) return value;
    const [{ message }] = error.issues as [{ message: string }];
    throw new UsageError(`${flag}${message.startsWith("must ") ? "" : ":"} ${message}`);
  };
  return {
    name,
    flags,
    flag,
    key: flags.startsWith("-") ? option(flags, "").attributeName() : argument(flags, "").name(),
    description: words ?? asPhrase(description ?? name),
    chosen: (one) =>
      type === "enum" && !isSwitch && given === undefined ? one.choices(schema.options!) : one,
    isRequired: !whole.safeParse(undefined).success,
    read: find === undefined
      ? (text, flag, run) => valid((given ?? byType)(text, flag, run), flag)
      : undefined,
    find: find && (async (text, flag, run) => valid(await find(text, flag, run), flag)),
  };
}

/** A schema, or what is around one. */
interface Unwrapping {
  readonly description?: string | undefined;
  readonly unwrap?: () => unknown;
  readonly def: { readonly type: string };
  readonly options?: readonly string[];
}

function isArgument({ flags }: GivenField): boolean {
  return !flags.startsWith("-");
}

/** A sentence as help has it: without a capital and a full stop. */
function asPhrase(sentence: string): string {
  return sentence.replace(/^[A-Z](?=[a-z' ])/, (one) => one.toLowerCase()).replace(/\.$/, "");
}
