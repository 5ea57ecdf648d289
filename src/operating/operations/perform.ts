import { stillHas } from "../../people/accounts/mod.ts";
import { type Condition, type Database, DatabaseError } from "../../ground/database/mod.ts";
import {
  afterStatement,
  asOperationError,
  authorityOf,
  type By,
  type ClaimedRequest,
  guardStatement,
  isLogged,
  type LogEntry,
  logEntry,
  logStatement,
  type NewEntry,
  OPERATION_ERRORS,
  OperationError,
  reused,
  type StoredReply,
} from "../../people/operation_log/mod.ts";
import { NewIds } from "./new_ids.ts";
import type {
  Json,
  OperationContext,
  PreparedWrite,
  ReadOperation,
  WriteOperation,
} from "./operation.ts";
import { loggedNouns, type OperationParts } from "./parts.ts";
import { UndoneError } from "./undone_error.ts";
import { HAS_CHANGED } from "../../ground/sql/mod.ts";

/**
 * Carries out a read.
 *
 * @throws {OperationError} If the input is invalid, or the actor may not do it.
 */
export async function performRead(
  parts: OperationParts,
  { actor, origin }: By,
  operation: ReadOperation,
  input: unknown,
): Promise<Json> {
  return await operation.run(contextOf(parts, { actor, origin }, new NewIds()), input);
}

/**
 * Carries out a read whose reply is CSV.
 *
 * @param kind One of those that the operation has.
 * @throws {OperationError} If the kind or the input is invalid, or the actor may not do it.
 */
export async function performCsv(
  parts: OperationParts,
  { actor, origin }: By,
  operation: ReadOperation,
  { input, kind }: { readonly input: unknown; readonly kind: string },
): Promise<string | AsyncGenerator<string>> {
  const write = operation.csv.get(kind);
  if (write !== undefined) {
    return await write(contextOf(parts, { actor, origin }, new NewIds()), input);
  }
  const kinds = [...operation.csv.keys()].join(", ");
  throw new OperationError("invalid_request", `csv: must be one of ${kinds}.`, { param: "csv" });
}

/**
 * Carries out a write: checks the permission (P12), validates, writes, and records it in the log, in the same transaction as the
 * change (P13). A write that fails is recorded as failed.
 *
 * @throws {OperationError} If the input is invalid or the actor may not do it.
 * @throws {AccountError} If it cannot be carried out.
 */
export async function perform(
  parts: OperationParts,
  by: By,
  operation: WriteOperation,
  input: unknown,
): Promise<Json> {
  const c = contextOf(parts, by, new NewIds());
  return await new Write(c, operation, await operation.prepare(c, input), c.ids.id("op"))
    .carryOut();
}

/**
 * Carries out a write with an `Idempotency-Key`. Repeated, it changes nothing and has the same reply, byte for byte (P2).
 *
 * @param key The key, of the actor's account.
 * @returns The reply, also of a write that failed for a mistake of the client.
 * @throws {OperationError} If the input is invalid, the actor may not do it, or the key was used otherwise or is in use.
 */
export async function performOnce(
  parts: OperationParts,
  by: By,
  operation: WriteOperation,
  { input, key }: { readonly input: unknown; readonly key: string },
): Promise<StoredReply> {
  const { requests } = parts.gateway!;
  const { account } = by.actor;
  // the permission first: who has lost it does not get the secrets of an earlier reply
  const { outsideMs } = await operation.prepare(contextOf(parts, by, new NewIds()), input);
  const request = { operation: operation.name, input };
  const claimed = await requests.begin({ accountId: account!.id, key, outsideMs }, request);
  if ("body" in claimed) return claimed;
  const c = contextOf(parts, by, new NewIds(claimed.seed));
  let isUnknown = false;
  try {
    const write = new Write(c, operation, await operation.prepare(c, input), claimed.id);
    return await once(write, claimed, operation.status);
  } catch (error) {
    isUnknown = error instanceof DatabaseError && error.outcomeUnknown ||
      await isBegun(parts.database, claimed, error);
    throw error;
  } finally {
    // A reply was kept, or nothing was changed. What may have been changed is not forgotten.
    if (!isUnknown) await requests.release(claimed).catch(() => {});
  }
}

/** Whether a write that has no reply was carried out, and lacks what is outside of the database: it can be finished. */
async function isBegun(
  database: Database,
  { id }: ClaimedRequest,
  error: unknown,
): Promise<boolean> {
  if (asOperationError(error) !== undefined) return false;
  return await logEntry(database, id).then((entry) => entry?.outcome === "done", () => false);
}

/** Carries out a claimed write, or finds that it was carried out before a crash. */
async function once(write: Write, claimed: ClaimedRequest, status: number): Promise<StoredReply> {
  const { database, gateway } = write.c.parts;
  const requests = gateway!.requests;
  const earlier = await logEntry(database, claimed.id);
  if (earlier !== undefined && earlier.atMs < claimed.createdAtMs) throw reused();
  let reply: StoredReply;
  if (earlier?.outcome === "failed") reply = failedReply(earlier);
  else {
    const kept = (made: Json) => [
      requests.replyStatement(claimed, { status, body: JSON.stringify(made) }),
    ];
    try {
      const body = earlier === undefined
        ? await write.carryOut(kept)
        : await write.completed(undefined, kept);
      reply = { status, body: JSON.stringify(body) };
    } catch (error) {
      const failure = asOperationError(error);
      // what is not in the log may succeed when it is repeated
      if (failure === undefined || await logEntry(database, claimed.id) === undefined) throw error;
      reply = errorReply(failure);
    }
  }
  await database.batch([requests.replyStatement(claimed, reply)]);
  return await requests.replyOf(claimed) ?? reply;
}

/** The reply to a write that failed before a crash: the log has its code and its message as `code: message`. */
function failedReply({ error }: LogEntry): StoredReply {
  const [code = "", ...rest] = (error ?? "").split(": ");
  const known = Object.entries(OPERATION_ERRORS).find(([name]) => name === code);
  const failure = new OperationError(
    (known?.[0] ?? "conflict") as keyof typeof OPERATION_ERRORS,
    rest.join(": "),
  );
  return errorReply(failure);
}

function errorReply(failure: OperationError): StoredReply {
  return { status: failure.status, body: JSON.stringify(errorBody(failure)) };
}

/** An error as a body: the chat shape. */
export function errorBody({ message, code, param }: OperationError): Json {
  return { error: { message, type: OPERATION_ERRORS[code].type, code, param } };
}

type MoreStatements = (reply: Json) => Parameters<Database["batch"]>[0];

/**
 * One write on its way. What became of it, by what the log has:
 *
 * | outcome                                  | the log has                    | the caller gets | a repetition with its key gets         |
 * | ---------------------------------------- | ------------------------------ | --------------- | -------------------------------------- |
 * | rejected before: input, permission       | nothing                        | the error       | the same check again                   |
 * | done                                     | it as done, before and after   | the reply       | the same reply, byte for byte          |
 * | failed: a guard, a rule of a noun        | it as failed, with the error   | the error       | the same error                         |
 * | done without a reply                     | it as done, `after.refused`    | the error       | the same error                         |
 * | undone: what was outside failed          | it as done, another as failed  | the error       | the same error                         |
 * | a fault of the gateway's                 | another as failed              | 500             | it is tried again                      |
 * | crashed, or the outcome is not known     | it as done, or nothing         | 503, or nothing | it is finished, or carried out         |
 */
class Write {
  readonly c: OperationContext;
  readonly #operation: WriteOperation;
  readonly #prepared: PreparedWrite;
  readonly #id: string;

  constructor(c: OperationContext, operation: WriteOperation, prepared: PreparedWrite, id: string) {
    this.c = c;
    this.#operation = operation;
    this.#prepared = prepared;
    this.#id = id;
  }

  /** @param also Statements for the transaction that notes how the object looks afterwards. */
  async carryOut(also: MoreStatements = () => []): Promise<Json> {
    const { parts, actor } = this.c;
    const before = await this.#prepared.state();
    const entry = this.#entry(before);
    const log = logStatement(entry);
    const authority = authorityOf(actor, this.#prepared.about);
    const notYet = isLogged(this.#id);
    const guards = [
      ...(authority === undefined ? [] : [guardStatement(stillHas(authority))]),
      guardStatement({ sql: `not ${notYet.sql}`, args: notYet.args }),
    ];
    const nouns = loggedNouns(parts, {
      guards,
      log: logStatement(entry, { sql: HAS_CHANGED, args: [] }),
    });
    let result: Json | void = undefined;
    try {
      if (this.#prepared.outsideMs !== undefined) await nouns.database.batch([log]);
      const logIf = (condition: Condition) => logStatement(entry, condition);
      result = await this.#prepared.run(nouns, { guards, logIf });
    } catch (error) {
      // A write that was lost on the way, or carried out by another gateway, is in the log.
      if (!await this.#isDone()) throw await this.#failed(error, before);
      if (error instanceof UndoneError) throw await this.#undone(error, before);
    }
    return await this.completed({ before, result: result ?? undefined }, also);
  }

  /** Notes how the object looks now, and makes the reply. */
  async completed(
    known: { readonly before: Json | null; readonly result: Json | undefined } | undefined,
    also: MoreStatements = () => [],
  ): Promise<Json> {
    const { database } = this.c.parts;
    const before = known === undefined
      ? (await logEntry(database, this.#id))?.before as Json | null
      : known.before;
    const after = await this.#prepared.state();
    let reply: Json;
    try {
      reply = await this.#prepared.reply({ before, after, result: known?.result });
    } catch (error) {
      throw await this.#refused(error, { before, after });
    }
    // a reply that is made again may have finished what was begun
    const seen = (known === undefined ? await this.#prepared.state() : after) ?? known?.result ??
      null;
    await database.batch([
      // what changed nothing is in the log as well
      logStatement({ ...this.#entry(before), after: seen }),
      ...(seen === null ? [] : [afterStatement(this.#id, seen)]),
      ...also(reply),
    ]);
    return reply;
  }

  /** Notes why a write has no reply. What may succeed when it is repeated is not noted. @returns The error to throw. */
  async #refused(
    error: unknown,
    { before, after }: { readonly before: Json | null; readonly after: Json | null },
  ): Promise<unknown> {
    const failure = asOperationError(error);
    if (failure === undefined) return error;
    if (!await this.#isDone()) return await this.#failed(error, before);
    const { database } = this.c.parts;
    await database.batch([
      afterStatement(this.#id, { ...after, refused: failure.message }),
    ]);
    return error;
  }

  async #isDone(): Promise<boolean> {
    const entry = await logEntry(this.c.parts.database, this.#id);
    return entry?.outcome === "done";
  }

  /** Records a write that failed. @returns The error to throw. */
  async #failed(error: unknown, before: Json | null): Promise<unknown> {
    const failure = asOperationError(error) ?? await this.#refusal();
    const id = failure === undefined ? new NewIds().id("op") : this.#id;
    const text = failure === undefined
      ? `internal_error: ${error instanceof Error ? error.name : "unknown"}`
      : `${failure.code}: ${failure.message}`;
    const { database } = this.c.parts;
    // a database that cannot be written keeps no log
    await database.batch([logStatement({ ...this.#entry(before), id, error: text })])
      .catch(() => {});
    return asOperationError(error) === undefined && failure !== undefined ? failure : error;
  }

  /** Records that a write, which is in the log, has left nothing changed. @returns The error to throw. */
  async #undone(error: UndoneError, before: Json | null): Promise<UndoneError> {
    const { database } = this.c.parts;
    const id = new NewIds().id("op");
    const after = await this.#prepared.state().catch(() => null);
    await database.batch([
      ...(after === null ? [] : [afterStatement(this.#id, after)]),
      logStatement({ ...this.#entry(before), id, error: `${error.code}: ${error.message}` }),
    ]).catch(() => {});
    return error;
  }

  /** Why a guard refused the write: the actor has lost the permission meanwhile. */
  async #refusal(): Promise<OperationError | undefined> {
    const authority = authorityOf(this.c.actor, this.#prepared.about);
    if (authority === undefined) return undefined;
    const { sql, args } = stillHas(authority);
    const row = await this.c.parts.database.one(`select ${sql} as holds`, args).catch(() => {});
    return row?.holds !== 0 ? undefined : new OperationError(
      "permission_denied",
      "Your permission was taken away meanwhile, or the key was revoked.",
    );
  }

  #entry(before: Json | null): NewEntry {
    const { actor, origin, nowMs } = this.c;
    const { about } = this.#prepared;
    return {
      id: this.#id,
      atMs: nowMs,
      operation: this.#operation.name,
      actor,
      origin,
      about,
      before,
    };
  }
}

function contextOf(parts: OperationParts, { actor, origin }: By, ids: NewIds): OperationContext {
  return { parts, actor, origin, ids, nowMs: parts.now() };
}
