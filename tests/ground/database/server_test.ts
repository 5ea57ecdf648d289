import { assert, assertEquals, assertRejects, assertStringIncludes } from "../../assert.ts";
import { DatabaseError, openDatabase } from "../../../src/ground/database/mod.ts";
import { postgresEngine } from "../../../src/ground/database/postgres/engine.ts";
import { ServerDatabase } from "../../../src/ground/database/server/server.ts";
import { audit, RULES } from "../../../src/money/ledger/mod.ts";
import { ledgerBench, possible, settlePrice } from "../../fake/ledger.ts";
import { sqldServer } from "../../fake/sqld.ts";
import { DEADLINE_MS, inTime, tempDir, until } from "../../fake/temp.ts";

const WRITE = [{ sql: "create table if not exists marks (mark integer) strict" }];

Deno.test("a server that does not wait for the disk is not charged on, unless that is wanted", async () => {
  await using dir = await tempDir();
  await using server = await sqldServer(dir.path, { durable: false });
  const open = (durability: "full" | "normal") =>
    openDatabase({
      file: undefined,
      server: { url: server.url, token: undefined },
      durability,
      rules: RULES,
      now: () => 1,
    });
  const error = await assertRejects(() => open("full"), DatabaseError);
  assertEquals(error.code, "SLUICE_NOT_DURABLE");
  assertStringIncludes(error.message, `durability_mode to "strong"`);
  assertStringIncludes(error.message, `"durability": "normal"`);
  await (await open("normal")).close();
});

Deno.test("a server that comes back less durable is noticed by the next write", async () => {
  await using dir = await tempDir();
  const before = await sqldServer(dir.path);
  const database = await ServerDatabase.connect({
    url: before.url,
    token: undefined,
    durability: "full",
  });
  try {
    await database.batch(WRITE);
    await before[Symbol.asyncDispose]();
    await using _after = await sqldServer(dir.path, { durable: false, port: before.port });
    const error = await assertRejects(
      () => database.batch([{ sql: "insert into marks (mark) values (1)" }]),
      DatabaseError,
    );
    assertEquals(error.code, "SLUICE_NOT_DURABLE");
    assertEquals(await database.all("select mark from marks"), [], "nothing was written");
  } finally {
    await database.close();
  }
});

Deno.test("a server that says nothing is not waited for longer than its patience", async () => {
  await using dir = await tempDir();
  await using server = await sqldServer(dir.path);
  let database: ServerDatabase | undefined;
  // its patience is short: on a busy machine it ends also while the server works
  const open = async () => {
    database = await ServerDatabase.connect({
      url: server.url,
      token: undefined,
      durability: "full",
      patienceMs: 500,
    });
    return true;
  };
  await until(() => open().catch(() => false), { what: "the connection" });
  const write = () => database!.batch(WRITE).then(() => undefined, (error: unknown) => error);
  try {
    await until(async () => await write() === undefined, { what: "a write" });
    server.signal("SIGSTOP");
    let error: unknown;
    // a process that is running just now stops a moment later
    while (error === undefined) error = await inTime(write(), DEADLINE_MS, "it never ends");
    assert(error instanceof DatabaseError, String(error));
    assert(error.outcomeUnknown, error.message);
    server.signal("SIGCONT");
    await until(async () => await write() === undefined, { what: "a write after it goes on" });
  } finally {
    await database!.close();
  }
});

for (const kind of possible(["server", "postgres"])) {
  Deno.test(`a settlement whose answer is lost is charged once (${kind})`, async () => {
    await using bench = await ledgerBench(kind);
    const { accountId, keyId } = await bench.account();
    await bench.grant(accountId, 100);
    await using way = kind === "server"
      ? losingProxy(bench.serverUrl!)
      : losingLine(bench.serverUrl!);
    const { url } = way;
    const database = kind === "server"
      ? await ServerDatabase.connect({ url, token: undefined, durability: "full" })
      : await postgresEngine(url, { durability: "normal" }).open();
    try {
      way.loseNext();
      const settled = await settlePrice(database, {
        requestId: "req_1",
        accountId,
        keyId,
        price: 7,
        nowMs: 1,
      });
      assertEquals(way.lost, 1);
      assertEquals(settled, { charged: 7, balance: 93 });
    } finally {
      await database.close();
    }
    const { mismatches, records } = await audit(bench.database);
    assertEquals([mismatches, records], [[], 1]);
  });
}

/** Passes requests on, and the answers back, but for one. */
function losingProxy(target: string) {
  let losing = false;
  let lost = 0;
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, async (request) => {
    const { pathname } = new URL(request.url);
    const reply = await fetch(`${target}${pathname}`, {
      method: request.method,
      headers: { "content-type": request.headers.get("content-type") ?? "" },
      body: request.method === "POST" ? await request.arrayBuffer() : null,
    });
    const body = await reply.arrayBuffer();
    if (losing && request.method === "POST") {
      losing = false;
      lost++;
      return new Response("the way back is gone", { status: 502 });
    }
    return new Response(body, {
      status: reply.status,
      headers: { "content-type": reply.headers.get("content-type") ?? "" },
    });
  });
  return {
    url: `http://127.0.0.1:${server.addr.port}`,
    loseNext: () => void (losing = true),
    get lost() {
      return lost;
    },
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
}

/** Passes connections on to PostgreSQL, of which one ends before the answer to a write, which comes when that is committed. */
function losingLine(target: string) {
  let losing = false;
  let lost = 0;
  const { hostname, port } = new URL(target);
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const pass = async (near: Deno.Conn) => {
    using _near = near;
    using far = await Deno.connect({ hostname, port: Number(port) });
    near.readable.pipeTo(far.writable, { preventCancel: true }).catch(() => {});
    const writer = near.writable.getWriter();
    for await (const bytes of far.readable) {
      if (losing && new TextDecoder("latin1").decode(bytes).includes("INSERT 0 ")) {
        losing = false;
        lost++;
        return;
      }
      await writer.write(bytes);
    }
  };
  const passing: Promise<void>[] = [];
  const accepting = (async () => {
    for await (const near of listener) passing.push(pass(near).catch(() => {}));
  })();
  const { port: own } = listener.addr as Deno.NetAddr;
  return {
    url: target.replace(`:${port}/`, `:${own}/`),
    loseNext: () => void (losing = true),
    get lost() {
      return lost;
    },
    async [Symbol.asyncDispose]() {
      listener.close();
      await accepting;
      await Promise.all(passing);
    },
  };
}
