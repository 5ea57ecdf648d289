/** That a broken promise is found: books and witnesses that no gateway may leave, one fault each. */

import type { Database, Row } from "../../src/ground/database/mod.ts";
import type { Account, Key } from "../../src/people/accounts/mod.ts";
import { assertEquals, assertMatch } from "../assert.ts";
import type { Callers, Outcome } from "../file_faults/callers.ts";
import { Model, type Witnesses } from "./model.ts";

const ACCOUNT = { id: "acc_1" } as Account;
const MINUTE_MS = 60_000;
/** Begins an hour. */
const HOUR_AT_MS = Math.floor(performance.timeOrigin / 3_600_000) * 3_600_000;
const WINDOWS = { key: { minute: 2, hour: 3 }, account: { minute: 3, hour: 5 } };

/** A model of an account with two keys, and what it says of requests that were admitted at these times. */
async function found(
  requests: readonly (readonly [keyId: string, atMs: number])[],
  { mostAtOnce = () => 0, recent = [], spent = {} }: {
    /** Credits, by the key. */
    readonly spent?: Readonly<Record<string, number>>;
    readonly mostAtOnce?: Witnesses["mostAtOnce"];
    readonly recent?: readonly Outcome[];
  } = {},
): Promise<string[]> {
  const model = new Model();
  model.limits(ACCOUNT, WINDOWS);
  model.budgets("team_1", 10);
  for (const id of ["key_1", "key_2"]) {
    const key = { id, secret: `sk-${id}`, accountId: ACCOUNT.id } as Key & { secret: string };
    model.issued(key, { atOnce: 2, shares: ["team_1"] }, 1);
  }
  const rows = requests.map(([keyId, atMs], at): Row => ({
    request_id: `req_${at}`,
    key_id: keyId,
    account_id: ACCOUNT.id,
    at_ms: HOUR_AT_MS + atMs,
  }));
  const database = {
    all: (sql: string) =>
      Promise.resolve(
        sql.includes("admitted_at_ms")
          ? rows
          : sql.includes("as spent")
          ? Object.entries(spent).map(([id, spent]) => ({ id, spent }))
          : [],
      ),
  } as unknown as Database;
  const callers = [{ recent } as unknown as Callers];
  return await model.check(database, { callers, mostAtOnce, clocksOffMs: 0 });
}

Deno.test("windows: as many as allowed is fine, and one more in a minute or an hour is named, of a key and of an account", async () => {
  const full = [["key_1", 0], ["key_1", 1], ["key_2", 2], ["key_2", MINUTE_MS], [
    "key_2",
    MINUTE_MS + 1,
  ]] as const;
  assertEquals(await found(full), []);
  const next = [["key_1", 3_600_000], ["key_2", 3_600_000]] as const;
  assertEquals(await found([...full, ...next]), []);
  const named = async (more: readonly [string, number]) =>
    (await found([...full, more])).map((one) => one.replace(/\d{4,}/g, "N")).toSorted();
  assertEquals(await named(["key_1", 59_999]), [
    "acc_1 hour N: 6 requests, of at most 5",
    "acc_1 minute N: 4 requests, of at most 3",
    "key_1 minute N: 3 requests, of at most 2",
  ]);
  assertEquals(await named(["key_2", 2 * MINUTE_MS]), [
    "acc_1 hour N: 6 requests, of at most 5",
    "key_2 hour N: 4 requests, of at most 3",
  ]);
});

Deno.test("a request that is counted in a minute that is over is named", async () => {
  const startTick = 1_000;
  const recent: Outcome[] = [{
    kind: "acknowledged",
    requestId: "req_0",
    key: "sk-key_1",
    startTick,
    endTick: startTick + 1,
    isDatabase: false,
  }];
  const atMs = performance.timeOrigin + startTick - HOUR_AT_MS;
  assertEquals(await found([["key_1", atMs]], { recent }), []);
  for (const offMs of [-MINUTE_MS, MINUTE_MS]) {
    const [one] = await found([["key_1", atMs + offMs]], { recent });
    assertMatch(one!, /^req_0 was admitted at/);
  }
});

Deno.test("more requests of a key at once than it may have are named", async () => {
  const mostAtOnce = (secret: string) => secret === "sk-key_2" ? 3 : 2;
  assertEquals(await found([], { mostAtOnce }), ["key_2 had 3 requests at once, of at most 2"]);
});

Deno.test("a budget that keys share is for what they spend together", async () => {
  assertEquals(await found([], { spent: { key_1: 6, key_2: 4 } }), []);
  assertEquals(await found([], { spent: { key_1: 6, key_2: 5 } }), ["team_1 spent 11 of 10"]);
});
