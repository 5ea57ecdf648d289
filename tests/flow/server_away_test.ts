/** Gateways whose database does not answer for a while, under load: a real libSQL server, or a file. */

import DatabaseConstructor from "libsql";
import type { SettingsInput } from "../../src/settings/config/mod.ts";
import { audit, lentToGateways } from "../../src/money/ledger/mod.ts";
import { outboxFiles } from "../../src/ground/database/outbox.ts";
import { assert, assertEquals, assertMatch } from "../assert.ts";
import { startCommand } from "../fake/command.ts";
import { customer } from "../fake/customer.ts";
import { startGateway, type TestGateway, WIDE_TIERS } from "../fake/gateway.ts";
import { type SharedServer, sharedServer } from "../fake/shared_server.ts";
import { sleep, tempDir, until } from "../fake/temp.ts";
import { completion, fakeUpstream } from "../fake/upstream.ts";
import { PROOF, sized } from "../tier.ts";

/** How long the server is away: longer than whatever is waited for without it. */
const AWAY_MS = sized(2_500, 25_000);
/** Pause of a client between two requests. */
const PAUSE_MS = sized(150, 20);
/** Replies of each client that were admitted from a loan before the server goes away. */
const WARM = 4;

/** A request as its client knows it. */
interface Asked {
  /** Undefined while there is no reply, and when the gateway has died meanwhile. */
  status?: number;
  credits: number;
  text: string;
}

/** What asks one gateway with one key, one request after the other. */
class Client {
  readonly asked: Asked[] = [];
  readonly #over: Promise<void>;
  #isOver = false;

  constructor(address: () => string | undefined, key: string) {
    this.#over = this.#run(address, key);
  }

  get replies(): readonly Asked[] {
    return this.asked.filter(({ status }) => status !== undefined);
  }

  async end(): Promise<void> {
    this.#isOver = true;
    await this.#over;
  }

  async #run(address: () => string | undefined, key: string): Promise<void> {
    for (; !this.#isOver; await sleep(PAUSE_MS)) {
      const url = address();
      if (url === undefined) continue;
      const one: Asked = { credits: 0, text: "" };
      this.asked.push(one);
      try {
        const reply = await fetch(`${url}/v1/chat/completions`, {
          method: "POST",
          headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
          body: JSON.stringify({ model: "svc-k2", messages: [{ role: "user", content: "Hi" }] }),
        });
        one.text = await reply.text();
        one.credits = Number(reply.headers.get("x-sluice-credits"));
        one.status = reply.status;
      } catch {
        // its gateway was killed
      }
    }
  }
}

async function scene(more: SettingsInput = {}) {
  const stack = new AsyncDisposableStack();
  const { path } = stack.use(await tempDir());
  let server = await sharedServer(`${path}/server`);
  stack.defer(() => server[Symbol.asyncDispose]());
  const upstream = stack.use(fakeUpstream(() => completion("ok")));
  const settings = {
    database: { url: server.url },
    upstream: { url: upstream.url, discover: false },
    tiers: WIDE_TIERS,
    ...more,
  };
  const clients: Client[] = [];
  return {
    clients: clients as readonly Client[],
    gateway: async () => stack.use(await startGateway({ settings })),
    /** Starts a gateway in a process of its own, each time on the same data directory. */
    process: async () => {
      const directory = `${path}/killed`;
      await Deno.mkdir(directory, { recursive: true });
      await Deno.writeTextFile(
        `${directory}/sluice.jsonc`,
        JSON.stringify({ ...settings, port: 0 }),
      );
      const process = stack.use(startCommand([], { directory }));
      const [, url] = await process.waitFor(/listening on (http:\S+)/);
      return { process, url };
    },
    /** Starts a client; resolves when what is lent covers its requests. */
    client: async (address: () => string | undefined, key: string) => {
      const client = new Client(address, key);
      clients.push(client);
      await until(() => client.replies.length > WARM, { what: "replies" });
      return client;
    },
    /** Has the server away for a while. */
    away: async (
      goes: (server: SharedServer) => Promise<() => Promise<SharedServer>>,
      work = () => sleep(AWAY_MS),
    ) => {
      const comesBack = await goes(server);
      await work();
      server = await comesBack();
    },
    async killed(gone: SharedServer) {
      await gone[Symbol.asyncDispose]();
      return () => sharedServer(`${path}/server`, { port: gone.port });
    },
    /** Ends all clients; returns what they asked. */
    async end() {
      await Promise.all(clients.map((client) => client.end()));
      return clients.flatMap(({ asked }) => asked);
    },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

async function stopped(server: SharedServer) {
  await server.signal("SIGSTOP");
  return async () => {
    await server.signal("SIGCONT");
    return server;
  };
}

/** What the books say of all requests, once the server has what was kept. */
async function booked(gateways: readonly TestGateway[]) {
  const [{ gateway: { database } }] = gateways as [TestGateway];
  await until(() => gateways.every(({ gateway }) => gateway.database.outbox?.kept === 0), {
    what: "the end of the outboxes",
  });
  assertEquals((await audit(database)).mismatches, []);
  // one that failed after it was admitted may be noted, at no charge
  const row = await database.one(
    `select sum(charged_credits) as credits, count(*) as n from usage_records
      where charged_credits > 0`,
  );
  return { credits: Number(row!.credits), requests: Number(row!.n) };
}

function paid(asked: readonly Asked[]) {
  const replies = asked.filter(({ status }) => status === 200);
  return {
    credits: replies.reduce((sum, { credits }) => sum + credits, 0),
    requests: replies.length,
  };
}

// Proves P2, P4.
Deno.test("a server that is killed, then stopped, under load: no request with lent credits fails, and each is charged once", async () => {
  await using at = await scene();
  const both = [await at.gateway(), await at.gateway()];
  const { keys } = await customer(both[0]!, 1_000_000, { keys: 2 });
  for (const { url } of both) await Promise.all(keys.map((key) => at.client(() => url, key)));
  for (const goes of [at.killed, stopped]) {
    await at.away(goes, async () => {
      const counts = at.clients.map(({ replies }) => replies.length);
      await sleep(AWAY_MS);
      await until(() => at.clients.every(({ replies }, n) => replies.length > counts[n]! + WARM), {
        what: "replies to all clients without the server",
      });
      for (const { url } of both) {
        const metrics = await (await fetch(`${url}/metrics`)).text();
        assertMatch(metrics, /^sluice_detached 1\n[^]*^sluice_settlements_kept [1-9]/m);
      }
    });
    await sleep(AWAY_MS / 5);
  }
  const asked = await at.end();
  const failed = asked.filter(({ status }) => status !== 200);
  assertEquals(failed.length, 0, failed[0]?.text);
  assertEquals(await booked(both), paid(asked));
  for (const gateway of both) {
    const log = gateway.log();
    assert(log.includes("the database cannot be used") && log.includes("can be used again"), log);
  }
});

// Proves P2.
// two processes of their own; the gate has tests/ground/database/server_outbox_test.ts
Deno.test(
  "a gateway that is killed and started while its server is away charges what it had kept before it serves",
  PROOF,
  async () => {
    await using at = await scene();
    const beside = await at.gateway();
    const { keys: [key], accountId } = await customer(beside, 1_000_000);
    const { keys: [otherKey] } = await customer(beside, 1_000_000);
    const first = await at.process();
    let url: string | undefined = first.url;
    let starting: ReturnType<typeof at.process> | undefined;
    const client = await at.client(() => url, key!);
    const other = await at.client(() => beside.url, otherKey!);
    await at.away(at.killed, async () => {
      const before = client.replies.length;
      await sleep(AWAY_MS / 2);
      await until(() => client.replies.length > before + WARM, {
        what: "replies without the server",
      });
      first.process.signal("SIGKILL");
      await first.process.status;
      url = undefined;
      starting = at.process();
      await sleep(AWAY_MS / 2);
    });
    const { length } = other.replies;
    await until(() => other.replies.length > length + WARM, { what: "replies with the server" });
    const again = await starting!;
    const charged = await beside.gateway.database.one(
      "select requests as n from balances where account_id = ?",
      [accountId],
    );
    assert(
      Number(charged!.n) >= client.replies.length,
      "what it had kept is charged before it listens",
    );
    ({ url } = again);
    const before = client.replies.length;
    await until(() => client.replies.length > before + WARM, { what: "replies of the new one" });
    const asked = await at.end();
    const failed = asked.filter(({ status }) => status !== 200 && status !== undefined);
    assertEquals(failed.length, 0, failed[0]?.text);
    const cut = asked.filter(({ status }) => status === undefined).length;
    const [books, told] = [await booked([beside]), paid(asked)];
    const more = books.requests - told.requests;
    assert(more >= 0 && more <= cut, `${more} more than clients got, ${cut} were cut`);
    assertEquals(books.credits - told.credits, more); // each costs one
  },
);

// Proves P2, P4.
// two processes of their own; the gate has tests/money/ledger/lapsed_loans_test.ts and tests/assemble/ended_gateways_test.ts
Deno.test(
  "what a killed gateway had sold without its server is nobody else's after its lease, until it is started again",
  PROOF,
  async () => {
    await using at = await scene({ limits: { holdLeaseMs: 4_000 }, outage: { patienceMs: 4_000 } });
    const beside = await at.gateway();
    const { database, admission } = beside.gateway;
    const { keys: [key, otherKey], accountId } = await customer(beside, 500, { keys: 2 });
    const first = await at.process();
    let url: string | undefined = first.url;
    const client = await at.client(() => url, key!);
    await at.away(at.killed, async () => {
      const before = client.replies.length;
      await until(() => client.replies.length > before + 5 * WARM, {
        what: "replies without the server",
      });
      first.process.signal("SIGKILL");
      await first.process.status;
      url = undefined;
    });
    const lapsed = async () =>
      (await lentToGateways(database)).reduce((sum, one) => sum + one.lapsedCredits, 0);
    await until(async () => await lapsed() > 0, { what: "the end of its lease" });
    for (let times = 0; times < 5; times++) await admission.keep();
    const held = await lapsed();
    assert(held > 0, "time alone frees nothing");
    assertEquals((await audit(database)).unreturned, { gateways: 1, credits: held });
    // others spend all that they can get
    let refused: Response;
    do {
      refused = await beside.chat("Hi", {}, { key: otherKey! });
      if (refused.status === 200) await refused.text();
    } while (refused.status === 200);
    assertEquals(refused.status, 503);
    assertMatch(await refused.text(), /sluice credits write-off/);
    ({ url } = await at.process());
    assertEquals(await lapsed(), 0);
    const { length } = client.replies;
    await until(() => client.replies.length > length + WARM, { what: "replies of the new one" });
    const asked = await at.end();
    const failed = asked.filter(({ status }) => status !== 200 && status !== undefined);
    assertEquals(failed.length, 0, failed[0]?.text);
    const { uncollected } = await audit(database);
    assertEquals(uncollected.requests, 0, "what it had sold was charged whole");
    const row = await database.one("select consumed from balances where account_id = ?", [
      accountId,
    ]);
    assert(Number(row!.consumed) >= paid(asked).credits, `${row!.consumed}`);
  },
);
// a process of its own: it listens before it can start
Deno.test("a gateway whose server is away when it starts waits, and says so at its port", async () => {
  await using dir = await tempDir();
  const { url: databaseUrl, port, [Symbol.asyncDispose]: kill } = await sharedServer(
    `${dir.path}/server`,
  );
  await kill();
  const database = { url: databaseUrl };
  await Deno.writeTextFile(`${dir.path}/sluice.jsonc`, JSON.stringify({ port: 0, database }));
  await using process = startCommand([], { directory: dir.path });
  await until(() => /"?port"?[=:]\s*\d+/.test(process.err()), { what: "the waiting port" });
  const url = `http://127.0.0.1:${/"?port"?[=:]\s*(\d+)/.exec(process.err())![1]}`;
  const ask = async (path: string, init?: RequestInit) => {
    const reply = await fetch(`${url}${path}`, init);
    return [reply.status, await reply.json()];
  };
  assertEquals(await ask("/healthz"), [200, { status: "ok" }]);
  // a server may be given time first
  const isAway = async () => (await ask("/readyz"))[1].faults[0] !== "the database is being opened";
  await until(isAway, { what: "the end of its patience" });
  assertEquals(await ask("/readyz"), [503, {
    status: "not ready",
    faults: ["the database does not answer"],
  }]);
  const [status, body] = await ask("/v1/messages", { method: "POST", body: "{}" });
  assertEquals([status, body.type, body.error.type], [503, "error", "api_error"]);
  assertMatch(body.error.message, /is starting: the database does not answer\. Please/);
  await using _server = await sharedServer(`${dir.path}/server`, { port });
  const [, listening] = await process.waitFor(/listening on (http:\S+)/);
  assertEquals(listening, url);
  assertEquals(await ask("/readyz"), [200, { status: "ready" }]);
});

// Proves P2, P5.
Deno.test("a server that is away while nothing can be kept: what a client was told has failed is not charged later", async () => {
  await using at = await scene();
  const gateway = await at.gateway();
  const { keys: [key] } = await customer(gateway, 1_000_000);
  const client = await at.client(() => gateway.url, key!);
  const data = gateway.gateway.config.settings.data;
  await at.away(at.killed, async () => {
    await Deno.rename(data, `${data}-away`); // files cannot be made there any more
    for (const path of await outboxFiles(`${data}-away/gateway.server`)) await Deno.remove(path);
    await sleep(AWAY_MS);
    await Deno.rename(`${data}-away`, data);
  });
  const { length } = client.replies;
  await until(
    () => client.replies.slice(length).filter(({ status }) => status === 200).length > WARM,
    {
      what: "replies with the server",
    },
  );
  const asked = await at.end();
  assertEquals(await booked([gateway]), paid(asked));
});

/** A disk of its own, small enough to be filled; undefined where that is not allowed. */
async function smallDisk(path: string): Promise<AsyncDisposable | undefined> {
  const run = async (program: string, args: string[]) =>
    (await new Deno.Command(program, { args, stderr: "null" }).output().catch(() => undefined))
      ?.success;
  if (!await run("mount", ["-t", "tmpfs", "-o", "size=24m", "tmpfs", path])) return undefined;
  return { [Symbol.asyncDispose]: async () => void await run("umount", ["--lazy", path]) };
}

// Proves P2, P4.
Deno.test("a server that is away while the disk of the outbox is full: no request with lent credits fails", async () => {
  await using dir = await tempDir();
  await using disk = await smallDisk(dir.path);
  if (disk === undefined) return; // only root may
  await using at = await scene({ data: dir.path });
  const gateway = await at.gateway();
  const { keys: [key] } = await customer(gateway, 1_000_000);
  const client = await at.client(() => gateway.url, key!);
  const filler = await Deno.open(`${dir.path}/filler`, { write: true, create: true });
  const piece = new Uint8Array(65_536);
  while (await filler.write(piece).then(() => true, () => false));
  filler.close();
  await at.away(at.killed, async () => {
    const { length } = client.replies;
    await sleep(AWAY_MS);
    await until(() => client.replies.length > length + sized(4, 10) * WARM, {
      what: "replies without the server",
    });
  });
  const asked = await at.end();
  const failed = asked.filter(({ status }) => status !== 200);
  assertEquals(failed.length, 0, failed[0]?.text);
  assertEquals(await booked([gateway]), paid(asked));
});

// Proves P2, P4.
Deno.test("a file that does not answer under load: no request with lent credits fails, and each is charged once", async () => {
  await using upstream = fakeUpstream(() => completion("ok"));
  await using gateway = await startGateway({
    looksInside: true,
    settings: { upstream: { url: upstream.url } },
  });
  const { keys: [key] } = await customer(gateway, 1_000_000);
  const clients = [1, 2].map(() => new Client(() => gateway.url, key!));
  const moreReplies = (what: string) => {
    const counts = clients.map(({ replies }) => replies.length);
    return until(() => clients.every(({ replies }, n) => replies.length > counts[n]! + WARM), {
      what,
    });
  };
  const { database } = gateway.gateway;
  await until(async () => (await audit(database)).lentCredits > 0, { what: "a loan" });
  await moreReplies("requests from the loan");
  // each write waits for it, and so does all that is asked after that
  const other = new DatabaseConstructor(database.place) as unknown as {
    exec(sql: string): void;
    close(): void;
  };
  other.exec("pragma busy_timeout = 60000"); // the gateway may be writing just now
  other.exec("begin immediate");
  await sleep(AWAY_MS);
  await moreReplies("replies without the file");
  other.exec("rollback");
  other.close();
  await moreReplies("replies with the file");
  await Promise.all(clients.map((client) => client.end()));
  const asked = clients.flatMap(({ asked }) => asked);
  const failed = asked.filter(({ status }) => status !== 200);
  assertEquals(failed.length, 0, failed[0]?.text);
  assertEquals(await booked([gateway]), paid(asked));
});
