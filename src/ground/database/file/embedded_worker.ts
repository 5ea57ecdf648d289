/// <reference no-default-lib="true" />
/// <reference lib="deno.worker" />
/**
 * The thread that owns the embedded database file.
 *
 * The driver is synchronous: here it holds up nobody who is serving sockets. Statements are prepared
 * once and run by `run()` and `get()`, which are flat in memory; `all()` leaves about 50 bytes behind
 * per call in this driver, so it serves cold paths only.
 */

import { DatabaseError, type FileState, type Row } from "../database.ts";
import { EmbeddedFile } from "./embedded_file.ts";
import type { Answer, Ask, Connecting, Numbered } from "./embedded_protocol.ts";
import { WritesBehind } from "./writes_behind.ts";
import {
  collectGarbage,
  collectGarbageWhenIdle,
  collectYoungGarbage,
  lowerPriority,
} from "../../platform/mod.ts";

/** Intervals of attempts to open a file again: the first is soon, since one failed read may be all. */
const FIRST_REOPEN_MS = 20;
const LONGEST_REOPEN_MS = 1_000;

/** How long writes are gathered that nobody waits for, and after what time they are tried again. */
const GATHER_MS = 100;
const RETRY_MS = 250;

let file: EmbeddedFile | undefined;
/** Where the last one is. */
let place = "";
let behind = new WritesBehind();
let gathering: ReturnType<typeof setTimeout> | undefined;
/** Since when the file cannot be used, and what waits for the first attempt to open it again. */
let away: {
  readonly sinceTick: number;
  afterMs: number;
  /** `undefined` once an attempt has failed: then nothing waits. */
  waiting: (() => void)[] | undefined;
} | undefined;

/** How often something was passed on to be written behind. */
let passedOn = 0;
/** Asks of what was passed on before them and has not arrived, and all that came after them. */
const early: { readonly after: number; readonly take: () => void }[] = [];
/** How long they wait at most: a thread that has died may have taken with it what it passed on. */
const EARLY_MS = 1_000;
let arrival: ReturnType<typeof setTimeout> | undefined;

/** Since when the path of the file leads elsewhere. */
let elsewhereSinceTick: number | undefined;

/** Asks between two looks of an idle gateway, which looks for changed keys now and then. */
const IDLE_ASKS = 5;
let asks = 0;
let earlierAsks = 0;

collectGarbageWhenIdle(() => {
  const isIdle = asks - earlierAsks <= IDLE_ASKS;
  earlierAsks = asks;
  return isIdle;
});

type Question = Exclude<Ask, { readonly type: "behind" }>;

function handle(ask: Question): Row[][] {
  if (ask.type === "open") {
    const { path, readOnly, beside } = ask;
    passedOn = 0;
    if (readOnly) lowerPriority(); // requests do not wait for what only reads
    place = path;
    file = new EmbeddedFile({ path, readOnly, beside });
    return [];
  }
  if (ask.type === "close") {
    file?.close();
    file = undefined;
    away = undefined;
    behind = new WritesBehind();
    return [];
  }
  if (ask.type === "forget") {
    behind = new WritesBehind();
    return [];
  }
  if (file === undefined) throw new DatabaseError("SQLITE_CANTOPEN", "the database is not open");
  const { type } = ask;
  writeAllBehind(file, type === "one" || type === "all" || type === "flush" && !ask.durable);
  switch (ask.type) {
    case "one": {
      const row = file.one(ask.sql, ask.args);
      return row === undefined ? [] : [[row]];
    }
    case "all":
      return [file.all(ask.sql, ask.args)];
    case "commit": {
      const rows = file.commit(ask.statements, ask);
      if (ask.durable) behind.synced();
      return rows;
    }
    case "flush":
      if (ask.durable) behind.sync(file);
      return [];
    case "identify":
      return [[{ id: file.identify() ?? null }]];
  }
}

/**
 * Writes what is to be found by what is asked next.
 *
 * @param reads Whether that only reads: while the disk is full, it goes without.
 */
function writeAllBehind(to: EmbeddedFile, reads: boolean): void {
  try {
    behind.writeAll(to);
  } catch (error) {
    if (!reads || !to.isOpen) throw error;
  }
}

/** Writes a set of what nobody waits for, then the next one, after whatever was asked meanwhile. */
function writeBehind(): void {
  gathering = undefined;
  if (file === undefined || away !== undefined) return;
  let afterMs = behind.isDue ? 0 : GATHER_MS;
  try {
    behind.writeSet(file);
  } catch (error) {
    afterMs = RETRY_MS;
    if (isGivenUp()) return heal(error);
  }
  if (isGivenUp()) return heal(new Error("a checkpoint failed"));
  if (behind.count > 0) gather(afterMs);
}

function gather(afterMs: number): void {
  gathering ??= setTimeout(writeBehind, afterMs);
}

/** Notes that the file was given up, and tries to open it again. */
function heal(error: unknown): void {
  if (away !== undefined) return;
  behind.again();
  away = { sinceTick: performance.now(), afterMs: FIRST_REOPEN_MS, waiting: [] };
  say({ isUsable: false, code: codeOf(error), message: textOf(error) });
  collectGarbage(); // closes the connection that was given up, statements and all, in the next turn
  setTimeout(reopen, away.afterMs);
}

function reopen(): void {
  const gone = away;
  if (file === undefined || gone === undefined) return;
  const waiting = gone.waiting ?? [];
  try {
    file.reopen();
    away = undefined;
    if (behind.count > 0) gather(0);
    say({ isUsable: true, awayMs: Math.round(performance.now() - gone.sinceTick) });
  } catch (error) {
    gone.waiting = undefined; // what comes now is answered at once
    collectGarbage(); // this attempt's connection holds its locks until the driver closes it
    gone.afterMs = Math.min(2 * gone.afterMs, LONGEST_REOPEN_MS);
    setTimeout(reopen, gone.afterMs);
    say({ isUsable: false, code: codeOf(error), message: textOf(error) });
  }
  for (const take of waiting) take();
}

function say(state: FileState): void {
  self.postMessage(state);
}

type Reply = (answer: Answer) => void;

self.onmessage = ({ data }: MessageEvent<Numbered | Connecting>) => {
  if ("port" in data) connect(data.port);
  else take(data, (answer) => self.postMessage(answer));
};

/** Questions of all threads are taken in the order in which they arrive; each commit is one of them, whole. */
function connect(port: MessagePort): void {
  const reply: Reply = (answer) => port.postMessage(answer);
  port.onmessage = ({ data }: MessageEvent<Numbered>) => take(data, reply);
}

function take({ id, ask, after }: Numbered, reply: Reply): void {
  if (ask.type === "behind") {
    asks++;
    behind.add(ask, (refused) => reply({ id, refused }));
    gather(behind.isDue ? 0 : GATHER_MS);
    passedOn = (passedOn + 1) | 0;
    takeArrived();
    return;
  }
  if (early.length > 0 || !hasArrived(after)) {
    if (early.length === 0) awaitArrival();
    early.push({ after, take: () => answer(id, ask, reply) });
    return;
  }
  answer(id, ask, reply);
}

/** Whether all that was passed on has arrived, up to a count that may have wrapped around. */
function hasArrived(count: number): boolean {
  return ((count - passedOn) | 0) <= 0;
}

/** Takes what waited for what has arrived now; what goes on waiting has its whole time before it again. */
function takeArrived(): void {
  if (early.length === 0 || !hasArrived(early[0]!.after)) return;
  clearTimeout(arrival);
  while (early.length > 0 && hasArrived(early[0]!.after)) early.shift()!.take();
  if (early.length > 0) awaitArrival();
}

function awaitArrival(): void {
  arrival = setTimeout(takeEarly, EARLY_MS);
}

function takeEarly(): void {
  const last = early.at(-1);
  if (last !== undefined && !hasArrived(last.after)) passedOn = last.after; // nobody else waits for it
  for (const { take } of early.splice(0)) take();
}

function answer(id: number, ask: Question, reply: Reply): void {
  asks++;
  if (away?.waiting !== undefined && ask.type !== "close") {
    away.waiting.push(() => answer(id, ask, reply));
    return;
  }
  try {
    const rows = handle(ask);
    if (ask.type === "close") afterCollection(() => reply({ id, ok: true, rows }));
    else reply({ id, ok: true, rows });
    if (elsewhereSinceTick !== undefined) sayItIsBack(elsewhereSinceTick);
  } catch (error) {
    const { outcomeUnknown } = error as { outcomeUnknown?: unknown };
    const failed: Answer = {
      id,
      ok: false,
      code: codeOf(error),
      message: textOf(error),
      outcomeUnknown: outcomeUnknown === true,
    };
    if (file === undefined) afterCollection(() => reply(failed));
    else reply(failed);
    if (isGivenUp()) heal(error);
    else if (codeOf(error) === "SLUICE_REPLACED" && elsewhereSinceTick === undefined) {
      elsewhereSinceTick = performance.now();
      say({ isUsable: false, code: codeOf(error), message: textOf(error) });
    }
    return;
  }
  if (isGivenUp()) heal(new Error("a checkpoint failed"));
}

/** Turns in which native objects are let go of after a collection. */
const TURNS_TO_LET_GO = 2;

/**
 * Does something once what was closed is let go of. The driver closes a connection when its statements are collected: a thread that ends
 * before leaves it open for as long as the process lives, with its descriptors, its locks and, if that could not be opened for
 * writing, an index that all other connections of the process share.
 */
function afterCollection(then: () => void): void {
  const afterAll = () => {
    collectGarbage();
    afterTurns(then);
  };
  if (collectYoungGarbage()) afterTurns(() => isOpen(place) ? afterAll() : then());
  else afterAll();
}

function afterTurns(then: () => void, turns = TURNS_TO_LET_GO): void {
  if (turns === 0) then();
  else setTimeout(() => afterTurns(then, turns - 1), 0);
}

/** Whether this process has a file open, or one beside it, for all that the system tells. */
function isOpen(path: string): boolean {
  try {
    const real = Deno.realPathSync(path);
    return [...Deno.readDirSync("/proc/self/fd")].some(({ name }) => {
      try {
        return Deno.readLinkSync(`/proc/self/fd/${name}`).startsWith(real);
      } catch {
        return false; // it was closed meanwhile
      }
    });
  } catch {
    return true;
  }
}

function sayItIsBack(sinceTick: number): void {
  elsewhereSinceTick = undefined;
  say({ isUsable: true, awayMs: Math.round(performance.now() - sinceTick) });
}

function isGivenUp(): boolean {
  return file !== undefined && !file.isOpen;
}

function codeOf(error: unknown): string {
  const { code } = error as { code?: unknown };
  return typeof code === "string" ? code : "SQLITE_ERROR";
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
