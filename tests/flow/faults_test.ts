import DatabaseConstructor from "libsql";
import { DatabaseError, openDatabase } from "../../src/ground/database/mod.ts";
import { audit, RULES } from "../../src/money/ledger/mod.ts";
import { dirname } from "../../src/ground/std/mod.ts";
import { assert, assertEquals, assertRejects, assertStringIncludes } from "../assert.ts";
import { startCommand } from "../fake/command.ts";
import { assertLedgerClean } from "../fake/customer.ts";
import { guardedDatabase } from "../fake/guarded_database.ts";
import { startGateway, statusOf, type TestGateway, usageRecords } from "../fake/gateway.ts";
import { sleep, tempDir, until } from "../fake/temp.ts";
import { chunk, completion, eventStream, fakeUpstream, sse } from "../fake/upstream.ts";
import { isProof, PROOF, sized } from "../tier.ts";

/** The part of the driver that another process would use. */
interface OtherProcess {
  exec(sql: string): void;
  close(): void;
}

function fileOf({ directory }: TestGateway): string {
  return `${directory}/data/sluice.db`;
}

/** A refusal says that it is worth another try; nothing was sent, nothing is charged. */
async function assertUnavailable(reply: Response): Promise<void> {
  const { error } = await reply.json();
  assertEquals([reply.status, error.code], [503, "service_unavailable"]);
  assert(Number(reply.headers.get("retry-after")) >= 1);
}

/** Waits until what was refused, but written afterwards, has given its hold back; the books agree all the while. */
function untilHoldsEnd({ gateway }: TestGateway): Promise<void> {
  return until(async () => {
    const { mismatches, holds } = await audit(gateway.database);
    assertEquals(mismatches, []);
    return holds === 0;
  }, { what: "the end of all holds" });
}

/** For how long the database waits for a lock before it gives up. */
const BUSY_MS = 5_000;

Deno.test(
  "the database is locked by another process: 503 after five seconds, then all is well",
  PROOF,
  async () => {
    await using gateway = await startGateway({ lendFrom: Infinity });
    assertEquals(await statusOf(gateway.chat("Hi")), 200);
    // the driver's own types do not know its methods under Deno
    const other = new DatabaseConstructor(fileOf(gateway)) as unknown as OtherProcess;
    other.exec("begin immediate");
    const startMs = Date.now();
    let turns = 0;
    const ticking = setInterval(() => turns++, 10);
    await assertUnavailable(await gateway.chat("Hi"));
    clearInterval(ticking);
    assert(Date.now() - startMs > 0.9 * BUSY_MS);
    assert(turns > 10, "the sockets' thread stood still");
    other.exec("rollback");
    other.close();
    const statuses = await Promise.all(
      Array.from({ length: 100 }, () => statusOf(gateway.chat("Hi"))),
    );
    assertEquals(new Set(statuses), new Set([200]));
    assertEquals((await usageRecords(gateway)).length, 101);
    await untilHoldsEnd(gateway);
    await assertLedgerClean(gateway);
  },
);

/** More than how long a database may be silent while credits are lent. */
const SILENT_MS = 1_500;

Deno.test("the database is locked while credits are lent: no more is sent upstream than until it is noticed", async () => {
  let sent = 0;
  let admissions = 0;
  await using upstream = fakeUpstream(() => (sent++, completion("Hi")));
  await using gateway = await startGateway({
    settings: { upstream: { url: upstream.url } },
    wrapDatabase: (database) =>
      guardedDatabase(database, (use) => void (use === "admission" && admissions++)),
  });
  await until(async () => {
    assertEquals(await statusOf(gateway.chat("Hi")), 200);
    return (await audit(gateway.gateway.database)).lentCredits > 0;
  }, { what: "a loan" });
  const [sentBefore, admissionsBefore] = [sent, admissions];
  const other = new DatabaseConstructor(fileOf(gateway)) as unknown as OtherProcess;
  other.exec("begin immediate");
  const first = gateway.chat("Hi");
  await sleep(SILENT_MS);
  const later = Array.from({ length: 20 }, () => gateway.chat("Hi"));
  const unpaid = () => sent - sentBefore;
  await until(() => admissions - admissionsBefore >= later.length || unpaid() > 1, {
    what: "all requests at the database",
  });
  if (isProof) { // it takes the caller of the first half a minute
    await Promise.all(later.map(async (reply) => assertUnavailable(await reply)));
    await assertUnavailable(await first);
  }
  // none, if the machine was as busy as to notice before
  assert(unpaid() <= 1, `${unpaid()} were sent`);
  const failures = isProof ? unpaid() : 0;
  other.exec("rollback");
  other.close();
  await until(async () => await statusOf(gateway.chat("Hi")) === 200, { what: "a response" });
  if (!isProof) {
    // those that came while it was locked may have been refused
    for (const reply of [first, ...later]) assert([200, 503].includes(await statusOf(reply)));
  }
  // one that was sent has failed for its client, and costs nothing
  const failed = async () =>
    (await usageRecords(gateway)).filter(({ ending }) => ending !== "complete");
  await until(async () => (await failed()).length >= failures, { what: "its record" });
  const credits = (await failed()).map(({ charged_credits: credits }) => credits);
  assertEquals(credits, Array(failures).fill(0));
  await assertLedgerClean(gateway);
});

Deno.test("the database is locked while an answer is settled: the caller waits, and is charged once", async () => {
  const arrived = Promise.withResolvers<void>();
  const locked = Promise.withResolvers<void>();
  await using upstream: ReturnType<typeof fakeUpstream> = fakeUpstream(async ({ body }) => {
    if (upstream.received.length === 2) arrived.resolve();
    await locked.promise;
    return body.stream
      ? eventStream(sse(chunk({ content: "Hi" }), chunk({}, "stop"), "[DONE]"))
      : completion("Hi");
  });
  await using gateway = await startGateway({ settings: { upstream: { url: upstream.url } } });
  const replies = Promise.all([false, true].map(async (stream) => {
    const reply = await gateway.chat("Hi", { stream });
    return [reply.status, await reply.text()] as const;
  }));
  await arrived.promise;
  const other = new DatabaseConstructor(fileOf(gateway)) as unknown as OtherProcess;
  other.exec("begin immediate");
  locked.resolve();
  // the first attempt has failed
  await until(() => gateway.log().includes("a request is not settled yet"), { what: "a failure" });
  other.exec("rollback");
  other.close();
  for (const [status, text] of await replies) {
    assertEquals([status, text.includes("error")], [200, false], text);
  }
  assertEquals((await usageRecords(gateway)).map(({ ending }) => ending), ["complete", "complete"]);
  await assertLedgerClean(gateway);
});

Deno.test("a settlement that fails for good is made void: told 503, it costs nothing, later too", async () => {
  let away = false;
  await using gateway = await startGateway({
    wrapDatabase: (database) =>
      guardedDatabase(database, (use) => {
        if (away && use === "settlement") {
          throw new DatabaseError("SQLITE_IOERR", "the disk is gone");
        }
      }),
  });
  away = true;
  await assertUnavailable(await gateway.chat("Hi"));
  away = false;
  await until(async () => (await usageRecords(gateway)).length === 1, { what: "the record" });
  const [record] = await usageRecords(gateway);
  assertEquals([record!.ending, record!.status, record!.charged_credits], [
    "refused", // it was the gateway that failed
    503,
    0,
  ]);
  await assertLedgerClean(gateway);
});

Deno.test("another process reads for long: writes go on meanwhile", async () => {
  await using gateway = await startGateway();
  const other = new DatabaseConstructor(fileOf(gateway)) as unknown as OtherProcess;
  other.exec("begin; select count(*) from accounts");
  // far more than after which the log is copied, which such a reader forbids
  for (let round = 0; round < sized(15, 30); round++) {
    const statuses = await Promise.all(
      Array.from({ length: 20 }, () => statusOf(gateway.chat("Hi", { max_tokens: 1 }))),
    );
    assertEquals(new Set(statuses), new Set([200]));
  }
  other.exec("rollback");
  other.close();
  await assertLedgerClean(gateway);
});

Deno.test("the database file is deleted, then put back: nothing is answered unpaid in between", async () => {
  await using gateway = await startGateway({ lendFrom: Infinity });
  assertEquals(await statusOf(gateway.chat("Hi")), 200);
  const [path, away] = [fileOf(gateway), `${gateway.directory}/away`];
  for (const end of ["", "-wal", "-shm"]) await Deno.rename(`${path}${end}`, `${away}${end}`);
  for (let times = 0; times < 3; times++) await assertUnavailable(await gateway.chat("Hi"));
  const ready = await fetch(`${gateway.url}/readyz`);
  assertStringIncludes(await ready.text(), "the database is not writable");
  for (const end of ["", "-wal", "-shm"]) await Deno.rename(`${away}${end}`, `${path}${end}`);
  await until(async () => await statusOf(gateway.chat("Hi")) === 200, { what: "a response" });
  await untilHoldsEnd(gateway);
});

Deno.test(
  "the database file is deleted while credits are lent, then put back: what was answered is charged once",
  PROOF,
  async () => {
    await using gateway = await startGateway({ lendFrom: 0 });
    let answered = 0;
    const chat = async () => {
      const status = await statusOf(gateway.chat("Hi"));
      if (status === 200) answered++;
      else assertEquals(status, 503);
      return status;
    };
    await until(async () => {
      assertEquals(await chat(), 200);
      return (await audit(gateway.gateway.database)).lentCredits > 0;
    }, { what: "a loan" });
    const [path, away] = [fileOf(gateway), `${gateway.directory}/away`];
    for (const end of ["", "-wal", "-shm"]) await Deno.rename(`${path}${end}`, `${away}${end}`);
    for (let times = 0; times < 20; times++) await chat();
    for (const end of ["", "-wal", "-shm"]) await Deno.rename(`${away}${end}`, `${path}${end}`);
    await until(async () => await chat() === 200, { what: "a response" });
    await assertLedgerClean(gateway);
    assertEquals((await usageRecords(gateway)).length, answered);
  },
);

Deno.test("the lock of the data directory is another's: nothing is answered until its own is back", async () => {
  await using gateway = await startGateway({ lendFrom: Infinity });
  assertEquals(await statusOf(gateway.chat("Hi")), 200);
  const headers = { authorization: `Bearer ${gateway.key}` };
  const report = () => fetch(`${gateway.url}/user/credits`, { headers });
  assertEquals(await statusOf(report()), 200);
  const lock = `${dirname(fileOf(gateway))}/gateway.id`;
  await Deno.rename(lock, `${lock}.away`);
  await Deno.copyFile(`${lock}.away`, lock); // as in a copy of the directory
  await assertUnavailable(await report());
  await assertUnavailable(await gateway.chat("Hi"));
  await Deno.rename(`${lock}.away`, lock);
  await until(async () => await statusOf(gateway.chat("Hi")) === 200, { what: "a response" });
  await assertLedgerClean(gateway);
});

Deno.test("the database file is replaced by a backup: it is used from then on", async () => {
  await using gateway = await startGateway({ lendFrom: Infinity });
  const [path, backup] = [fileOf(gateway), `${gateway.directory}/backup.db`];
  await gateway.gateway.database.all("vacuum into ?", [backup]);
  assertEquals(await statusOf(gateway.chat("Hi")), 200);
  assertEquals((await usageRecords(gateway)).length, 1);
  const other = new DatabaseConstructor(backup) as unknown as OtherProcess;
  other.exec("delete from tiers"); // as in a gateway's with other settings
  other.close();
  for (const end of ["-wal", "-shm"]) await Deno.remove(`${path}${end}`);
  await Deno.rename(backup, path);
  await until(async () => await statusOf(gateway.chat("Hi")) === 403, { what: "the backup" });
  await gateway.gateway.admission.keep(); // as it does every 15 seconds
  await until(async () => await statusOf(gateway.chat("Hi")) === 200, { what: "a response" });
  const records = await usageRecords(gateway);
  assertEquals(records.length, 1, "the record of before the backup is gone with the file");
  await assertLedgerClean(gateway);
});

Deno.test("the database file is replaced by a damaged one: nothing is answered from it", async () => {
  await using gateway = await startGateway();
  const [path, good] = [fileOf(gateway), `${gateway.directory}/good.db`];
  const damaged = `${gateway.directory}/damaged.db`;
  await gateway.gateway.database.all("vacuum into ?", [good]);
  const bytes = await Deno.readFile(good);
  bytes.fill(0x55, 3 * 4_096, 12 * 4_096);
  await Deno.writeFile(damaged, bytes);
  const replace = async (from: string) => {
    for (const end of ["-wal", "-shm"]) await Deno.remove(`${path}${end}`).catch(() => {});
    await Deno.rename(from, path);
  };
  await replace(damaged);
  for (let times = 0; times < 3; times++) await assertUnavailable(await gateway.chat("Hi"));
  await replace(good);
  await until(async () => await statusOf(gateway.chat("Hi")) === 200, { what: "a response" });
  await assertLedgerClean(gateway);
});

Deno.test("a damaged database is not started with: the check is named, once, and the exit is 1", async () => {
  await using dir = await tempDir();
  const path = `${dir.path}/data/sluice.db`;
  {
    const database = await openDatabase({
      file: path,
      durability: "full",
      rules: RULES,
      now: () => 1,
    });
    await database.all("pragma wal_checkpoint(truncate)");
    await database.close();
  }
  const bytes = await Deno.readFile(path);
  bytes.fill(0x5a, 8_192, 40_000); // schema pages and a root or two
  await Deno.writeFile(path, bytes);
  await assertRejects(
    () => openDatabase({ file: path, durability: "full", rules: RULES, now: () => 1 }),
    Error,
    "Cannot open the database",
  );
  await using gateway = startCommand(["--port", "0"], { directory: dir.path });
  assertEquals((await gateway.status).code, 1);
  assertStringIncludes(gateway.err(), "Cannot open the database");
  assertStringIncludes(gateway.err(), path);
});

Deno.test("a page is damaged while running: refused with 503, never a crash", async () => {
  await using gateway = await startGateway();
  for (let times = 0; times < 5; times++) await statusOf(gateway.chat("Hi"));
  await gateway.gateway.database.all("pragma wal_checkpoint(truncate)");
  const file = await Deno.open(fileOf(gateway), { write: true });
  const { size } = await file.stat();
  await file.seek(4_096, Deno.SeekMode.Start);
  await file.write(new Uint8Array(size - 4_096).fill(0x5a));
  file.close();
  const statuses = [];
  for (let times = 0; times < 5; times++) statuses.push(await statusOf(gateway.chat("Hi")));
  // pages in the cache may still serve; whatever was answered was recorded
  for (const status of statuses) assert(status === 503 || status === 200, `${statuses}`);
  assertEquals(await statusOf(fetch(`${gateway.url}/healthz`)), 200);
});

Deno.test("two gateways on one data directory: the second is told so", async () => {
  await using first = await startGateway();
  await using second = startCommand(["--port", "0"], { directory: first.directory });
  assertEquals((await second.status).code, 1);
  assertStringIncludes(second.err(), "A gateway is already running at");
});

/** A disk of its own, if this system lets us have one. */
async function smallDisk(path: string, size: string): Promise<AsyncDisposable | undefined> {
  await Deno.mkdir(path);
  const mount = async (...args: string[]) =>
    (await new Deno.Command(args[0]!, { args: args.slice(1), stderr: "null" }).output()).success;
  const mounted = await mount("mount", "-t", "tmpfs", "-o", `size=${size}`, "tmpfs", path)
    .catch(() => false);
  if (!mounted) return undefined;
  return { [Symbol.asyncDispose]: async () => void await mount("umount", "-l", path) };
}

Deno.test("the disk is full: 503, nothing is answered unpaid; with room again all is well", async () => {
  await using dir = await tempDir();
  await using disk = await smallDisk(`${dir.path}/disk`, "6m");
  if (disk === undefined) {
    await Deno.stderr.write(new TextEncoder().encode("skipped: no disk can be mounted here\n"));
    return;
  }
  await using gateway = await startGateway({ settings: { data: `${dir.path}/disk/data` } });
  assertEquals(await statusOf(gateway.chat("Hi")), 200);
  const filler = `${dir.path}/disk/filler`;
  const file = await Deno.open(filler, { write: true, create: true });
  try {
    while (true) await file.write(new Uint8Array(4_096));
  } catch {
    // full
  }
  file.close();
  let answered = 1;
  let refused = 0;
  for (let times = 0; times < 400 && refused < 5; times++) {
    const status = await statusOf(gateway.chat("Hi", { max_tokens: 5 }));
    if (status === 200) answered++;
    else {
      assertEquals(status, 503);
      refused++;
    }
  }
  assertEquals(refused, 5, "the disk was never full");
  assertEquals(
    (await usageRecords(gateway)).filter(({ ending }) => ending === "complete").length,
    answered,
  );
  await Deno.remove(filler);
  await until(async () => await statusOf(gateway.chat("Hi")) === 200, { what: "a response" });
  await sleep(50);
  assertEquals((await audit(gateway.gateway.database)).mismatches, []);
});
