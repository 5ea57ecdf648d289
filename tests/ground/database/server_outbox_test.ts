/** What is kept while a server is away, and how it is noticed that it is. */

import fc from "fast-check";
import {
  DatabaseError,
  type RefusedItem,
  ServerDatabase,
} from "../../../src/ground/database/mod.ts";
import { keptItems, outboxFiles } from "../../../src/ground/database/outbox.ts";
import { ServerOutbox } from "../../../src/ground/database/server/server_outbox.ts";
import { Presence } from "../../../src/ground/database/presence.ts";
import { assert, assertEquals, assertRejects } from "../../assert.ts";
import { sqldServer } from "../../fake/sqld.ts";
import { tempDir, until } from "../../fake/temp.ts";
import { ADD, THINGS } from "../../fake/things.ts";
import { sized } from "../../tier.ts";

const TABLES = [
  { sql: THINGS },
  { sql: "create table database_identity (only_row integer primary key, id text)" },
  { sql: "insert into database_identity values (1, 'the-database')" },
];
/** Files that have something. */
async function filled(path: string): Promise<string[]> {
  const files = await outboxFiles(path);
  const kept = await Promise.all(
    files.map(async (file) =>
      file.includes("refused") || (await keptItems(file, "db"))?.length !== 0
    ),
  );
  return files.filter((_, at) => kept[at]);
}

const COUNT = "select count(*) as n, sum(n) as sum from things";

Deno.test("what was kept is at the server before anything else is written, once, and what it refuses is named", async () => {
  await using dir = await tempDir();
  const path = `${dir.path}/gateway.server`;
  let server = await sqldServer(`${dir.path}/sqld`);
  await using _server = { [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() };
  const { url, port } = server;
  const connect = () => ServerDatabase.connect({ url, token: undefined, durability: "full" });
  const refused: RefusedItem[] = [];
  const faults: unknown[] = [];
  const keep = (database: ServerDatabase) =>
    database.keepOutbox({
      path,
      gatewayId: "gw",
      writes: [ADD],
      onState() {},
      onFault: (fault) => faults.push(fault),
      onRefused: (item) => refused.push(item),
    });
  const database = await connect();
  try {
    await database.batch(TABLES);
    await keep(database);
    await database.writeBehind!(ADD, { id: "straight", n: 1 });
    assertEquals([(await database.one(COUNT))?.n, database.outbox?.kept], [1, 0]);

    await server[Symbol.asyncDispose]();
    await Promise.all(
      Array.from({ length: 20 }, (_, n) => database.writeBehind!(ADD, { id: `${n}`, n })),
    );
    assert(database.outbox!.isDetached);
    assertEquals(database.outbox!.kept, 20);

    server = await sqldServer(`${dir.path}/sqld`, { port });
    const [, [row]] = await database.batch([{ sql: "select 1" }, { sql: COUNT }]) as [
      [],
      [{ n: number }],
    ];
    assertEquals(row.n, 20); // all but 13
    assertEquals(refused.map(({ item }) => ({ ...item })), [{ id: "13", n: 13 }]);
    assertEquals(await database.refused!(), refused);
    await until(async () => (await filled(path)).length === 1, {
      what: "the end of all files but that of the refused item",
    });
    assertEquals(faults, []);
  } finally {
    await database.close();
  }
});

Deno.test("what a gateway had kept when it ended is at the server before the next one does anything", async () => {
  await using dir = await tempDir();
  let server = await sqldServer(`${dir.path}/sqld`);
  await using _server = { [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() };
  const { url, port } = server;
  const begin = async (tables: typeof TABLES) => {
    const database = await ServerDatabase.connect({ url, token: undefined, durability: "full" });
    if (tables.length > 0) await database.batch(tables);
    await database.keepOutbox({
      path: `${dir.path}/gateway.server`,
      gatewayId: "gw",
      writes: [ADD],
      onState() {},
      onFault() {},
      onRefused() {},
    });
    return database;
  };
  const first = await begin(TABLES);
  await server[Symbol.asyncDispose]();
  await first.writeBehind!(ADD, { id: "kept", n: 1 });
  await first.close();
  server = await sqldServer(`${dir.path}/sqld`, { port });
  const next = await begin([]);
  try {
    assertEquals((await next.one(COUNT))?.n, 1);
    assertEquals(await filled(`${dir.path}/gateway.server`), []);
  } finally {
    await next.close();
  }
});

Deno.test("what could not be kept is not written when the server is back", async () => {
  await using dir = await tempDir();
  let server = await sqldServer(`${dir.path}/sqld`);
  await using _server = { [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() };
  const { url, port } = server;
  const database = await ServerDatabase.connect({ url, token: undefined, durability: "full" });
  try {
    await database.batch(TABLES);
    await Deno.mkdir(`${dir.path}/data`);
    const faults: unknown[] = [];
    await database.keepOutbox({
      path: `${dir.path}/data/gateway.server`,
      gatewayId: "gw",
      writes: [ADD],
      onState() {},
      onFault: (fault) => faults.push(fault),
      onRefused() {},
    });
    await Deno.remove(`${dir.path}/data`, { recursive: true });
    await server[Symbol.asyncDispose]();
    await assertRejects(() => database.writeBehind!(ADD, { id: "lost", n: 1 }), DatabaseError);
    assertEquals([database.outbox?.isUsable, database.outbox?.kept, faults.length], [false, 0, 1]);
    await Deno.mkdir(`${dir.path}/data`);
    server = await sqldServer(`${dir.path}/sqld`, { port });
    await until(() => database.outbox!.isUsable, { what: "that it can keep again" });
    const [[row]] = await database.batch([{ sql: COUNT }]) as [[{ n: number }]];
    assertEquals([row.n, faults.at(-1)], [0, undefined]);
  } finally {
    await database.close();
  }
});

/** Steps of a server's life, and how long each takes. */
const STEPS = fc.array(
  fc.record({
    step: fc.constantFrom("ask", "answer", "fail", "wait"),
    ms: fc.integer({ min: 0, max: 700 }),
  }),
  { maxLength: 30 },
);

Deno.test("a server is away after a failure, and when nothing has been answered for a second", () => {
  fc.assert(
    fc.property(STEPS, (steps) => {
      let tick = 0;
      const presence = new Presence({ silentMs: 1_000, code: "GONE", now: () => tick });
      const asked: { tick: number; one: ReturnType<Presence["ask"]> }[] = [];
      let [answeredTick, hasFailed] = [0, false];
      for (const { step, ms } of steps) {
        tick += ms;
        if (step === "ask") asked.push({ tick, one: presence.ask() });
        const first = step === "answer" || step === "fail" ? asked.shift() : undefined;
        if (step === "answer" && first !== undefined) {
          first.one.answered();
          [answeredTick, hasFailed] = [tick, false];
        } else if (first !== undefined) {
          first.one.failed(new Error("away"));
          hasFailed ||= first.tick >= answeredTick;
        }
        const sinceTick = Math.max(answeredTick, asked[0]?.tick ?? tick);
        assertEquals(presence.isAway, hasFailed || tick - sinceTick > 1_000);
      }
    }),
    { numRuns: sized(200, 5_000) },
  );
});

Deno.test("files are emptied also if the server had all that was in them before anybody looked", async () => {
  await using dir = await tempDir();
  const path = `${dir.path}/gateway.server`;
  const outbox = new ServerOutbox({
    path,
    gatewayId: "gw",
    database: "db",
    durable: false,
    commit: () => Promise.resolve([]),
    onRefused() {},
    onFault() {},
  });
  assertEquals(outbox.isToEmpty, false);
  await outbox.keepItem(ADD, { id: "a", n: 1 });
  await outbox.taken();
  assertEquals([outbox.count, outbox.isToEmpty], [0, true]);
  await outbox.empty();
  await until(() => !outbox.isToEmpty, { what: "the emptying" });
  assertEquals(await filled(path), []);
  await outbox.close();
});
