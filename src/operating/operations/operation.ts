import * as z from "zod";
import type { Action, Scope } from "../../people/accounts/mod.ts";
import type { Condition, Statement } from "../../ground/database/mod.ts";
import { issueWords } from "../../ground/issue_words.ts";
import {
  type Actor,
  conflict,
  invalid,
  type LogObject,
  may,
  type Origin,
} from "../../people/operation_log/mod.ts";
import type { NewIds } from "./new_ids.ts";
import type { Nouns, OperationParts } from "./parts.ts";
import { denialOf, denied, type Right, type RightOf, rightOf, type Subject } from "./rights.ts";

/** A JSON object, as replies are. */
export type Json = Readonly<Record<string, unknown>>;

/** HTTP methods of operations. */
export type Method = "GET" | "POST" | "PUT" | "PATCH" | "DELETE";

/** What an operation is carried out with. */
export interface OperationContext {
  readonly parts: OperationParts;
  readonly actor: Actor;
  readonly origin: Origin;
  /** IDs and secrets of what is made. */
  readonly ids: NewIds;
  readonly nowMs: number;
}

/** What an operation is about, once it was found. */
export interface Found<Target> extends LogObject, Subject {
  readonly target: Target;
}

/** What the definitions of reads and writes have in common. */
interface Definition {
  /** Noun and verb, such as `key.create`. */
  readonly name: string;
  /** Path below `/admin/v1`, with parameters of the input in braces: `/keys/{key}`. */
  readonly path: string;
  readonly summary: string;
  readonly description?: string;
  /** The action of the table of permissions that guards it. */
  readonly action: Action;
}

/** What a write that does not go through the nouns it is given adds to its transaction itself. */
export interface ByHand {
  /** Run first: they fail if the write may not happen any more. */
  readonly guards: readonly Statement[];
  /** Adds the row of the log, if a condition holds. */
  readonly logIf: (condition: Condition) => Statement;
}

/** A write, of which there is one place. */
export interface WriteDefinition<Input, Target> extends Definition {
  /** Default: `POST`. */
  readonly method?: Exclude<Method, "GET">;
  /** What it takes instead of the action where that depends on what the write is about. */
  readonly right?: RightOf;
  /** Default: 200. */
  readonly status?: 201;
  /**
   * Of a write that acts outside of the database: how long it may take at most, in milliseconds. It is logged before it acts,
   * so that it acts at most once, and its reply says so if the outcome was lost.
   */
  readonly outsideMs?: (c: OperationContext) => number;
  /** Finds what the write is about. @throws {OperationError} `not_found`. */
  readonly find: (c: OperationContext, input: Input) => Promise<Found<Target>>;
  /** Describes the object without secrets, before and after; null if there is none. Default: there is none. */
  readonly state?: (c: OperationContext, target: Target, input: Input) => Promise<Json | null>;
  /** Writes, by the nouns that it is given: their writes are in the log. */
  readonly run: (
    nouns: Nouns,
    c: OperationContext,
    about: { readonly target: Target; readonly input: Input } & ByHand,
  ) => Promise<Json | void>;
  /** The reply, if it is not the object. It is made again after a crash, from what the database has. */
  readonly reply?: (
    c: OperationContext,
    about: {
      readonly target: Target;
      readonly input: Input;
      readonly before: Json | null;
      readonly after: Json | null;
      /** What `run` returned; undefined after a crash. Then the reply may be an error, which is kept. */
      readonly result: Json | undefined;
    },
  ) => Promise<Json>;
  /** Secrets in the reply, which are shown once and are not logged. */
  readonly secrets?: (c: OperationContext) => Promise<Json>;
}

/** A read, by `GET`. */
export interface ReadDefinition<Input> extends Definition {
  /** Whether the reply is a page of a list, with `limit` and `after`. */
  readonly isList?: true;
  /** Finds whom the read is about. */
  readonly about?: (
    c: OperationContext,
    input: Input,
  ) => Promise<LogObject & Pick<Right, "sees">>;
  readonly read: (c: OperationContext, input: Input) => Promise<Json>;
  /** What the reply can be as CSV instead, by the parameter `csv`. */
  readonly csv?: {
    readonly [Kind: string]: (
      c: OperationContext,
      input: Input,
    ) => Promise<string | AsyncGenerator<string>>;
  };
}

/** An operation with its schemas. */
interface Schemas {
  /** The members of the input, parameters of the path among them. */
  readonly input: z.ZodObject;
  /** The object in the reply; of a list, its items. */
  readonly output: z.ZodType;
  /** Secrets that the reply has besides. */
  readonly secrets?: z.ZodObject;
}

/** A write, ready to be carried out. */
export interface PreparedWrite {
  readonly about: LogObject;
  readonly input: Json;
  /** How long it acts outside of the database at most; undefined if it does not. */
  readonly outsideMs: number | undefined;
  state(): Promise<Json | null>;
  run(nouns: Nouns, byHand: ByHand): Promise<Json | void>;
  reply(
    about: { before: Json | null; after: Json | null; result: Json | undefined },
  ): Promise<Json>;
}

/** A write as doors see it. */
export interface WriteOperation extends Definition, Schemas {
  readonly kind: "write";
  readonly method: Method;
  /** Whether it acts outside of the database. */
  readonly actsOutside: boolean;
  readonly right?: RightOf;
  readonly scopes: readonly Scope[];
  readonly status: number;
  /** Validates the input, finds what it is about, and checks that the actor may do it. */
  prepare(c: OperationContext, input: unknown): Promise<PreparedWrite>;
}

/** A read as doors see it. */
export interface ReadOperation extends Definition, Schemas {
  readonly kind: "read";
  readonly method: Method;
  readonly scopes: readonly Scope[];
  readonly status: number;
  readonly isList: true | undefined;
  run(c: OperationContext, input: unknown): Promise<Json>;
  /** What the reply can be as CSV instead, by kind: its text, or pieces of it that are made as they are read. */
  readonly csv: ReadonlyMap<
    string,
    (c: OperationContext, input: unknown) => Promise<string | AsyncGenerator<string>>
  >;
}

/** An operation of the operator's API. */
export type Operation = WriteOperation | ReadOperation;

/** The reply of an operation: of a list, all of its page. */
export type ReplyOf<O extends Operation> = O extends { readonly isList: true }
  ? Page<z.output<O["output"]>>
  : O extends { readonly secrets: z.ZodObject } ? z.output<O["output"]> & z.output<O["secrets"]>
  : z.output<O["output"]>;

/** A page of a list. */
interface Page<Item> {
  readonly object: "list";
  readonly data: readonly Item[];
  readonly has_more: boolean;
  readonly next: string | null;
}

/** Defines a write. */
export function defineWrite<S extends Schemas, Input extends z.ZodObject, Target>(
  schemas: S & { readonly input: Input },
  definition: WriteDefinition<z.output<Input>, Target>,
): WriteOperation & S {
  const { find, state, run, reply, secrets, outsideMs, method = "POST", status = 200, ...rest } =
    definition;
  return {
    ...rest,
    method,
    ...schemas,
    kind: "write",
    scopes: ["admin"],
    actsOutside: outsideMs !== undefined,
    status,
    async prepare(c, given) {
      const input = parse(schemas.input, given);
      admit(c.actor, definition.action);
      const { target, objectId, teamId, accountId, ...subject } = await find(c, input);
      const right = { teamId, accountId, ...rightOf(c.actor, definition, subject) };
      check(c.actor, right);
      return {
        about: { objectId, teamId: right.teamId, accountId: right.accountId },
        input,
        outsideMs: outsideMs?.(c),
        state: async () => await state?.(c, target, input) ?? null,
        run: (nouns, byHand) => run(nouns, c, { target, input, ...byHand }),
        async reply(known) {
          const shown = await reply?.(c, { target, input, ...known }) ?? known.after ?? {};
          return { ...shown, ...await secrets?.(c) };
        },
      };
    },
  };
}

/** The reply of a write that acts outside of the database: what came of it is not known after a crash. */
export function outcomeOnly(
  _c: OperationContext,
  { result }: { readonly result: Json | undefined },
): Promise<Json> {
  if (result !== undefined) return Promise.resolve(result);
  throw conflict(
    "The gateway ended before it knew the outcome. Send the request with another Idempotency-Key.",
  );
}

/** Defines a read. */
export function defineRead<
  S extends Schemas,
  Input extends z.ZodObject,
  IsList extends true | undefined = undefined,
>(
  schemas: S & { readonly input: Input },
  definition: ReadDefinition<z.output<Input>> & { readonly isList?: IsList },
): ReadOperation & S & { readonly isList: IsList } {
  const { about: find, read, isList, csv = {}, ...rest } = definition;
  const allowed = async (c: OperationContext, given: unknown) => {
    const input = parse(schemas.input, given);
    admit(c.actor, definition.action);
    check(c.actor, { action: definition.action, ...await find?.(c, input) });
    return input;
  };
  return {
    ...rest,
    ...schemas,
    kind: "read",
    method: "GET",
    scopes: ["read", "admin"],
    status: 200,
    isList: isList as IsList,
    run: async (c, given) => await read(c, await allowed(c, given)),
    csv: new Map(
      Object.entries(csv).map(([kind, write]) => [
        kind,
        async (c, given) => await write(c, await allowed(c, given)),
      ]),
    ),
  };
}

/** Rejects keys of accounts that have no role of the installation before anything is looked for. */
function admit(actor: Actor, action: Action): void {
  if (actor.keyId !== null && !may(actor, "team.list")) throw denied(action);
}

/** @throws {OperationError} If somebody lacks a right. */
function check(actor: Actor, right: Right): void {
  const denial = denialOf(actor, right);
  if (denial !== undefined) throw denial;
}

/** @throws {OperationError} `invalid_request`, naming the first invalid value. */
function parse<T extends z.ZodType>(schema: T, input: unknown): z.output<T> {
  const { success, data, error } = schema.safeParse(input, { error: issueWords });
  if (success) return data;
  const [issue] = error.issues;
  const path = issue!.path.map(String).join(".");
  const unknown = issue!.code === "unrecognized_keys" ? issue!.keys[0] : undefined;
  const param = [path, unknown].filter(Boolean).join(".");
  throw invalid(
    param === "" ? null : param.slice(0, 100),
    unknown !== undefined
      ? `Unknown parameter ${JSON.stringify(param.slice(0, 100))}.`
      : `${param}: ${issue!.message}.`,
  );
}
