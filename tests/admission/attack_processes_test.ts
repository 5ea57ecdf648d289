// deno-lint-ignore-file no-console
/** Attacks on loans of gateways that are processes of their own, at a real libSQL server. */

import { Accounts, Keys } from "../../src/accounts/mod.ts";
import { openDatabase } from "../../src/database/mod.ts";
import { audit, grantStatements, newLotId, RULES } from "../../src/ledger/mod.ts";
import { assertEquals } from "../assert.ts";
import { PROGRAM, sluice, startCommand } from "../fake/command.ts";
import { sqldServer } from "../fake/sqld.ts";
import { sleep, tempDir, until } from "../fake/temp.ts";
import { completion, fakeUpstream } from "../fake/upstream.ts";

/** Code from before there were loans; that test is left out without it. */
const OLD = Deno.env.get("SLUICE_OLD_SOURCE");

async function scene(credits: number) {
  const stack = new AsyncDisposableStack();
  const dir = stack.use(await tempDir());
  const server = stack.use(await sqldServer(`${dir.path}/sqld`));
  const upstream = stack.use(fakeUpstream(async ({ body }) => {
    const [, tokens, delayMs] = /tokens=(\d+) delay=(\d+)/.exec(body.messages[0].content)!;
    await sleep(Number(delayMs));
    const n = Number(tokens);
    return completion("ok", {
      usage: { prompt_tokens: 5, completion_tokens: n, total_tokens: 5 + n },
    });
  }));
  const settings = {
    port: 0,
    limits: { holdLeaseMs: 2_000 },
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
  const gateway = async (programArgs = PROGRAM) => {
    const directory = `${dir.path}/gw${number++}`;
    await Deno.mkdir(directory);
    await Deno.writeTextFile(`${directory}/sluice.jsonc`, JSON.stringify(settings));
    const process = stack.use(startCommand([], { directory, programArgs }));
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

Deno.test("a gateway that was stopped for longer than its lease spends no credit twice", async () => {
  await using at = await scene(10_000);
  const one = await at.gateway();
  const two = await at.gateway();
  const database = await at.open();
  const { key } = await at.account(database);
  const lent = async () =>
    Number((await database.one("select sum(credits) as n from loans"))?.n ?? 0);
  await until(async () => {
    await one.ask(key, 1);
    return await lent() > 0;
  }, { withinMs: 20_000 });
  await sleep(300);
  one.process.signal("SIGSTOP");
  const waiting = Array.from({ length: 30 }, () => one.ask(key, 1));
  await until(async () => await lent() === 0, { withinMs: 30_000, what: "the reaping" });
  one.process.signal("SIGCONT");
  await Promise.all(waiting);
  await until(async () => {
    await one.ask(key, 1);
    return await lent() > 0;
  }, { withinMs: 20_000 });
  await sleep(1_000); // its leases are renewed
  console.log(
    `lent ${await lent()} of ${
      (await database.one("select balance from balances where balance > 5000 and balance < 10001"))
        ?.balance
    }`,
  );
  const all = Array.from({ length: 90 }, () => one.ask(key, 100, 3_000));
  await sleep(500);
  console.log(
    await database.one(
      "select balance, held, (select sum(credits) from loans) as lent, (select count(*) from holds) as holds from balances where balance > 5000 and balance < 10001",
    ),
  );
  const other = two.ask(key, 4_900);
  const statuses = await Promise.all([...all, other]);
  console.log(
    statuses.filter((s) => s === "200").length,
    statuses.filter((s) => s !== "200").slice(0, 2),
  );
  const { uncollected, mismatches } = await audit(database);
  assertEquals([uncollected, mismatches], [{ requests: 0, credits: 0 }, []]);
});

Deno.test({
  name: "a gateway of the version before goes on beside one that lends",
  ignore: OLD === undefined,
  fn: async () => {
    await using at = await scene(10_000);
    const program = PROGRAM.map((arg) =>
      arg.startsWith("--config=")
        ? `--config=${OLD}/deno.json`
        : arg.endsWith("main.ts")
        ? `${OLD}/main.ts`
        : arg
    );
    const old = await at.gateway(program);
    const fresh = await at.gateway();
    const database = await at.open();
    const { key } = await at.account(database);
    console.log("old, before:", await old.ask(key, 100));
    await until(async () => {
      await fresh.ask(key, 1);
      return await database.one("select 1 as found from loans") !== undefined;
    }, { withinMs: 20_000 });
    const status = await old.ask(key, 9_000);
    console.log("old, with a loan:", status);
    assertEquals(status, "200");
  },
});

Deno.test("a handover with loans, and commands beside it (file)", async () => {
  await using dir = await tempDir();
  await using upstream = fakeUpstream(async ({ body }) => {
    const [, tokens, delayMs] = /tokens=(\d+) delay=(\d+)/.exec(body.messages[0].content)!;
    await sleep(Number(delayMs));
    const n = Number(tokens);
    return completion("ok", {
      usage: { prompt_tokens: 5, completion_tokens: n, total_tokens: 5 + n },
    });
  });
  await Deno.writeTextFile(
    `${dir.path}/sluice.jsonc`,
    JSON.stringify({
      port: 0,
      tiers: [{ above: 0, minute: 1e9, hour: 1e9, day: 1e9 }],
      upstream: { url: upstream.url, discover: false },
      routes: {
        token: {
          context: 1_000_000,
          maxOutput: 500_000,
          minimum: 1,
          prices: { input: 0, cached: 0, output: 1_000_000 },
        },
      },
    }),
  );
  const key = `sk-${"k".repeat(40)}`;
  const options = { directory: dir.path, env: { SLUICE_OWNER_KEY: key } };
  await using first = startCommand([], options);
  const [, url] = await first.waitFor(/listening on (http:\S+)/);
  const ask = async (tokens: number, delayMs = 0) => {
    const tick = performance.now();
    const reply = await fetch(`${url}/v1/chat/completions`, {
      method: "POST",
      headers: {
        authorization: `Bearer ${key}`,
        "content-type": "application/json",
        connection: "close",
      },
      body: JSON.stringify({
        model: "token",
        max_tokens: tokens,
        messages: [{ role: "user", content: `tokens=${tokens} delay=${delayMs}` }],
      }),
    });
    const text = await reply.text();
    return `${reply.status} ${reply.headers.get("x-credits-remaining")} ${
      reply.status === 200 ? "" : text
    } ${Math.round(performance.now() - tick)} ms`;
  };
  for (let times = 0; times < 10; times++) await ask(10);
  await sleep(300);
  const credits = async () => {
    const reply = await fetch(`${url}/user/credits`, {
      headers: { authorization: `Bearer ${key}` },
    });
    const { credits_remaining, credits_held } = await reply.json();
    return { credits_remaining, credits_held };
  };
  console.log(await ask(1), await credits());
  const hung = Array.from({ length: 5 }, () => ask(100, 12_000));
  await sleep(500);
  console.log("5 requests of 100 in flight:", await credits());
  for (const args of [["credits", "audit"], ["doctor"], ["credits", "--help"]]) {
    const { code, out, err } = await sluice(args, options);
    console.log(args.join(" "), code, out.slice(0, 700), err.slice(0, 300));
  }
  await using second = startCommand(["serve", "--takeover"], options);
  await second.waitFor(/listening on (http:\S+)/);
  await sleep(500);
  const { credits_remaining } = await credits();
  console.log("after the handover", await credits());
  for (let times = 0; times < 10; times++) await ask(10);
  console.log("95 %:", await ask(Math.min(500_000, Math.floor(credits_remaining * 0.95))));
  console.log(await Promise.all(hung));
  await sleep(4_000);
  const { out } = await sluice(["credits", "audit"], options);
  console.log(out.slice(0, 700), await credits());
});

Deno.test({
  name: "chaos: stopped servers, stopped and killed gateways, all the time under load",
  ignore: Deno.env.get("SLUICE_CHAOS") === undefined,
  fn: async () => {
    await using at = await scene(1_000_000);
    const gateways = [await at.gateway(), await at.gateway()];
    const database = await at.open();
    const { key, accountId } = await at.account(database);
    const seen = new Map<string, number>();
    let charged = 0;
    let isOver = false;
    const note = (text: string) => seen.set(text, (seen.get(text) ?? 0) + 1);
    const clients = Array.from({ length: 12 }, async (_, client) => {
      while (!isOver) {
        const tokens = client === 0 ? 40_000 : 1 + Math.floor(Math.random() * 30);
        const delayMs = client === 1 ? 3_000 : Math.floor(Math.random() * 5);
        try {
          const status = await gateways[client % 2]!.ask(
            key,
            tokens === 40_000 ? 7 : tokens,
            delayMs,
          );
          note(status.slice(0, 160));
          if (status === "200") charged += tokens === 40_000 ? 7 : tokens;
        } catch (error) {
          note(String(error).slice(0, 60));
          await sleep(100);
        }
      }
    });
    for (let round = 0; round < 10; round++) {
      await sleep(1_500);
      const chance = round % 4;
      if (chance === 0) {
        at.server.signal("SIGSTOP");
        await sleep(1_500 + Math.random() * 2_000);
        at.server.signal("SIGCONT");
      } else if (chance === 1) {
        const { process } = gateways[round % 2]!;
        process.signal("SIGSTOP");
        await sleep(4_000);
        process.signal("SIGCONT");
      } else if (chance === 2) {
        gateways[1]!.process.signal("SIGKILL");
        gateways[1] = await at.gateway();
      } else {
        at.server.signal("SIGSTOP");
        await sleep(12_000);
        at.server.signal("SIGCONT");
      }
    }
    await sleep(3_000);
    isOver = true;
    await Promise.all(clients);
    await sleep(15_000); // loans are returned, holds and loans of the dead are reaped
    const row = await database.one(
      `select balance, held, consumed, (select count(*) from holds) as holds,
        (select count(*) from loans) as loans from balances where account_id = ?`,
      [accountId],
    );
    console.log(row, { charged }, Object.fromEntries(seen));
    const { uncollected, mismatches } = await audit(database);
    assertEquals([uncollected, mismatches], [{ requests: 0, credits: 0 }, []]);
    assertEquals([row?.held, row?.holds, row?.loans], [0, 0, 0]);
  },
});
