/** Gateways that are processes of their own, at a real libSQL server: one is stopped for longer than its lease. */

import { Accounts, Keys } from "../../src/people/accounts/mod.ts";
import { openDatabase } from "../../src/ground/database/mod.ts";
import { CLOCK_MS } from "../../src/ground/sql/mod.ts";
import { audit, grantStatements, newLotId, RULES } from "../../src/money/ledger/mod.ts";
import { assert, assertEquals } from "../assert.ts";
import { startCommand } from "../fake/command.ts";
import { serveHere } from "../fake/shell.ts";
import { sharedServer } from "../fake/shared_server.ts";
import { sleep, tempDir, until } from "../fake/temp.ts";
import { completion, fakeUpstream } from "../fake/upstream.ts";
import { PROOF } from "../tier.ts";

async function scene(credits: number) {
  const stack = new AsyncDisposableStack();
  const dir = stack.use(await tempDir());
  const server = stack.use(await sharedServer(`${dir.path}/server`));
  const upstream = stack.use(fakeUpstream(async ({ body }) => {
    const [, tokens, delayMs] = /tokens=(\d+) delay=(\d+)/.exec(body.messages[0].content)!;
    await sleep(Number(delayMs));
    const n = Math.min(Number(tokens), body.max_tokens);
    return completion("ok", {
      usage: { prompt_tokens: 5, completion_tokens: n, total_tokens: 5 + n },
    });
  }));
  const settings = {
    port: 0,
    limits: { holdLeaseMs: 2_000 },
    outage: { patienceMs: 0 },
    tiers: [{ above: 0, minute: 1e9, hour: 1e9, day: 1e9 }],
    database: { url: server.url },
    upstream: { url: upstream.url, discover: false },
    routes: {
      token: {
        context: 100_000,
        maxOutput: 50_000,
        minimum: 1,
        prices: { input: 0, cached: 0, output: 1_000_000 },
      },
    },
  };
  let number = 0;
  const gateway = async (start = serveHere) => {
    const directory = `${dir.path}/gw${number++}`;
    await Deno.mkdir(directory);
    await Deno.writeTextFile(`${directory}/sluice.jsonc`, JSON.stringify(settings));
    const process = stack.use(start([], { directory }));
    const [, url] = await process.waitFor(/listening on (http:\S+)/);
    return {
      process,
      async ask(key: string, tokens: number, delayMs = 0): Promise<string> {
        const reply = await fetch(`${url}/v1/chat/completions`, {
          method: "POST",
          headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
          body: JSON.stringify({
            model: "token",
            max_tokens: tokens,
            messages: [{ role: "user", content: `tokens=${tokens} delay=${delayMs}` }],
          }),
        });
        const text = await reply.text();
        return reply.status === 200 ? "200" : `${reply.status} ${text}`;
      },
    };
  };
  return {
    gateway,
    server,
    async open() {
      const database = await openDatabase({
        file: undefined,
        server: { url: server.url, token: undefined },
        durability: "full",
        rules: RULES,
        now: Date.now,
      });
      stack.defer(() => database.close());
      return database;
    },
    async account(database: Awaited<ReturnType<typeof openDatabase>>) {
      const made = await new Accounts(database, Date.now).create({ email: "a@example.com" });
      await database.batch(
        grantStatements({
          lotId: newLotId(),
          accountId: made.id,
          source: "grant",
          credits,
          expiresAtMs: null,
          atMs: Date.now(),
        }),
      );
      return { accountId: made.id, key: (await new Keys(database, Date.now).issue(made)).secret };
    },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

// with gateways in this process, tests/requests/admission/attack_loans_test.ts has it in the gate
Deno.test(
  "a gateway that was stopped for longer than its lease spends no credit twice",
  PROOF,
  async () => {
    await using at = await scene(10_000);
    const one = await at.gateway(startCommand);
    const two = await at.gateway();
    const database = await at.open();
    const { key } = await at.account(database);
    // often enough: each look takes the server a while
    const lent = async () => {
      await sleep(100);
      return Number((await database.one("select sum(credits) as n from loans"))?.n ?? 0);
    };
    /** Whether credits are lent to a gateway that is asked for much at once. */
    const busy = async () => {
      await Promise.all(Array.from({ length: 20 }, () => one.ask(key, 1)));
      return await lent() > 0;
    };
    await until(busy, { what: "a loan" });
    one.process.signal("SIGSTOP");
    const waiting = Promise.allSettled(Array.from({ length: 30 }, () => one.ask(key, 1)));
    const lapsed = `select sum(credits) as n from loans where lease_until_ms < ${CLOCK_MS}`;
    await until(async () => await lent() === Number((await database.one(lapsed))?.n ?? 0), {
      what: "the end of its leases",
    });
    // its outbox may hold what it sold: its loan is held, whatever others do meanwhile
    assertEquals(await two.ask(key, 100), "200");
    assert(Number((await database.one(lapsed))?.n ?? 0) > 0);
    one.process.signal("SIGCONT");
    await waiting;
    await until(busy, { what: "a loan" });
    await sleep(1_000); // its leases are renewed
    const all = Array.from({ length: 90 }, () => one.ask(key, 100, 3_000));
    await sleep(500);
    const other = two.ask(key, 4_900);
    await Promise.all([...all, other]);
    const { uncollected, mismatches } = await audit(database);
    assertEquals([uncollected, mismatches], [{ requests: 0, credits: 0 }, []]);
  },
);
