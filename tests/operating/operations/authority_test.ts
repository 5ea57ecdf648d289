/** A caller who loses the right to a write while it runs has not carried it out: every write, whatever takes the right away. */

import * as z from "zod";
import type { Database } from "../../../src/ground/database/mod.ts";
import { createLog } from "../../../src/ground/telemetry/mod.ts";
import { Registration, Sales } from "../../../src/money/billing/mod.ts";
import { setBudget } from "../../../src/money/ledger/mod.ts";
import { Codes } from "../../../src/money/payments/mod.ts";
import { defineWrite } from "../../../src/operating/operations/operation.ts";
import * as operations from "../../../src/operating/operations/mod.ts";
import {
  type Account,
  Accounts,
  type Key,
  Keys,
  Members,
  Sessions,
  type Team,
  TeamKeys,
  Teams,
  UpstreamKeys,
} from "../../../src/people/accounts/mod.ts";
import {
  type Actor,
  keyActor,
  OperationError,
  sessionActor,
} from "../../../src/people/operation_log/mod.ts";
import { openPayments } from "../../../src/assemble/payments.ts";
import { digestOf } from "../../../src/ground/platform/mod.ts";
import { loadConfig } from "../../../src/settings/config/mod.ts";
import { assert, assertEquals } from "../../assert.ts";
import { alertReceiver } from "../../fake/alert_receiver.ts";
import { guardedDatabase } from "../../fake/guarded_database.ts";
import { ledgerBench } from "../../fake/ledger.ts";
import { Random, testSeed } from "../../fake/random.ts";
import { tempDir } from "../../fake/temp.ts";
import { fakeUpstream } from "../../fake/upstream.ts";
import { sized } from "../../tier.ts";
import { fakeStripe } from "../../money/payments/fake_stripe.ts";
import { shopSettings } from "../../money/payments/shop.ts";

/** Whom and what a write can be about; made for each. */
interface Subject {
  readonly ada: Account;
  /** A member of the team. */
  readonly bob: Account;
  readonly team: Team;
  readonly key: Key;
  /** The team's, which its pool pays for. */
  readonly poolKey: Key;
  readonly lotId: string;
  readonly orderId: string;
  readonly code: { readonly id: string; readonly code: string };
  readonly settingsText: string;
}

/** By what right somebody acts. */
type Right = "operator" | "lead" | "self";

/** What takes a right away, as SQL on the account, the key or the membership. */
const LOSSES: Readonly<Record<string, { of: readonly Right[]; by: keyof Ids; sql: string }>> = {
  "the account is disabled": {
    of: ["operator", "lead", "self"],
    by: "account",
    sql: "update accounts set disabled_at_ms = 1 where id = ?",
  },
  "the role is taken": {
    of: ["operator"],
    by: "account",
    sql: "update accounts set role = 'none' where id = ?",
  },
  "the key is revoked": {
    of: ["operator"],
    by: "key",
    sql: "update keys set revoked_at_ms = 1 where id = ?",
  },
  "the lead is stopped": {
    of: ["lead"],
    by: "account",
    sql: "update team_members set stopped_at_ms = 1 where account_id = ?",
  },
  "the lead is a member": {
    of: ["lead"],
    by: "account",
    sql: "update team_members set role = 'member' where account_id = ?",
  },
  "the lead is removed": {
    of: ["lead"],
    by: "account",
    sql: "delete from team_members where account_id = ?",
  },
};

interface Ids {
  readonly account: string;
  readonly key: string;
}

/** What a write is given, by its name; and the SQL on the subject that it needs before. */
interface Case {
  readonly by?: Right;
  readonly input: (subject: Subject) => Record<string, unknown>;
  readonly before?: (subject: Subject) => string;
  /** A budget that there is. */
  readonly budget?: "key" | "team";
}

const account = ({ ada }: Subject) => ({ account: ada.id });
const team = ({ team }: Subject) => ({ team: team.id });
const member = ({ team, bob }: Subject) => ({ team: team.id, account: bob.id });
const key = ({ key }: Subject) => ({ key: key.id });
const poolKey = ({ poolKey }: Subject) => ({ key: poolKey.id });
const budget = ({ key }: Subject) => ({ budget: `key:${key.id}:day` });
const teamBudget = ({ team }: Subject) => ({ budget: `team:${team.id}:day` });
const order = ({ orderId }: Subject) => ({ order: orderId });

const CASES: Readonly<Record<string, readonly Case[]>> = {
  "account.create": [{ input: ({ ada }) => ({ email: `new-${ada.email}` }) }],
  "account.update": [{ input: (one) => ({ ...account(one), name: "Other" }) }],
  "account.disable": [{ input: account }],
  "account.enable": [{
    input: account,
    before: ({ ada }) => `update accounts set disabled_at_ms = 1 where id = '${ada.id}'`,
  }],
  "account.role": [{ input: (one) => ({ ...account(one), role: "finance" }) }],
  "account.link": [{ input: account }],
  "team.create": [{ input: ({ ada }) => ({ name: `New ${ada.email}` }) }],
  "team.update": [{ input: (one) => ({ ...team(one), name: `Other ${one.team.name}` }) }],
  "team.disable": [{ input: team }],
  "team.enable": [{
    input: team,
    before: ({ team }) => `update teams set disabled_at_ms = 1 where id = '${team.id}'`,
  }],
  "member.add": both((one) => ({ ...team(one), account: one.ada.id })),
  "member.role": both((one) => ({ ...member(one), role: "lead" })),
  "member.stop": both(member),
  "member.start": both(
    member,
    ({ bob }) => `update team_members set stopped_at_ms = 1 where account_id = '${bob.id}'`,
  ),
  "member.remove": both(member),
  "team.own_keys": both((one) => ({ ...team(one), use: "only" })),
  "upstream_key.set": [
    { input: (one) => ({ ...team(one), upstream: "local", key: "sk-own", test: false }) },
    { input: (one) => ({ ...account(one), upstream: "local", key: "sk-own", test: false }) },
  ],
  "upstream_key.remove": both(
    ({ team }) => ({ upstream_key: `${team.id}:local` }),
    ({ team }) =>
      `insert or ignore into upstream_keys (id, team_id, upstream, sealed, hint, set_at_ms)
        values ('${team.id}:local', '${team.id}', 'local', 'x', '', 1)`,
  ),
  "key.create": [{ input: account }, { by: "lead", input: team }],
  "key.update": [
    { input: (one) => ({ ...key(one), name: "Other" }) },
    { by: "lead", input: (one) => ({ ...poolKey(one), name: "Other" }) },
  ],
  "key.rotate": [{ input: key }, { by: "lead", input: poolKey }],
  "key.revoke": [{ input: key }, { by: "lead", input: poolKey }],
  "budget.set": [
    { input: ({ key }) => ({ owner: "key", owner_id: key.id, period: "day", credits: 7 }) },
    {
      by: "lead",
      input: ({ team }) => ({ owner: "team", owner_id: team.id, period: "day", credits: 7 }),
    },
  ],
  "budget.raise": [
    {
      input: (one) => ({ ...budget(one), credits: 3, until: "2099-01-01T00:00:00Z" }),
      budget: "key",
    },
    {
      by: "lead",
      input: (one) => ({ ...teamBudget(one), credits: 3, until: "2099-01-01T00:00:00Z" }),
      budget: "team",
    },
  ],
  "budget.remove": [
    { input: budget, budget: "key" },
    { by: "lead", input: teamBudget, budget: "team" },
  ],
  "credits.grant": [{ input: (one) => ({ ...account(one), credits: 5 }) }],
  "credits.sell": [{ input: (one) => ({ ...account(one), package: "starter" }) }],
  "credits.take_back": [{
    input: (one) => ({ ...account(one), lot: one.lotId, credits: 5, note: "a mistake" }),
  }],
  "loan.write_off": [{
    input: ({ ada }) => ({ gateway: `gw_${ada.id}`, note: "disk lost" }),
    before: ({ ada }) =>
      `insert into loans (account_id, gateway_id, loan_id, credits, minute, hour, day, lease_until_ms)
        values ('${ada.id}', 'gw_${ada.id}', 'loan_${ada.id}', 1, 1, 1, 1, 1)`,
  }],
  "order.create": both((one) => ({ ...team(one), package: "starter" })),
  "order.refund": [{ input: order }],
  "order.dismiss": [{ input: order }],
  "code.create": [{ input: () => ({ credits: 3, count: 2 }) }],
  "code.revoke": [{ input: ({ code }) => ({ code: code.id }) }],
  "code.redeem": [{ by: "self", input: ({ code }) => ({ code: code.code }) }],
  "top_up.on": [{
    by: "self",
    input: () => ({ below_credits: 5, package: "starter", max_per_month: 1 }),
  }],
  "top_up.off": [{ by: "self", input: () => ({}) }],
  "upstream.test": [{ input: () => ({ upstream: "local" }) }],
  "alert.read": [{ input: () => ({ up_to: "2030-01-01T00:00:00Z" }) }],
  "alert.test": [{ input: () => ({}) }],
  "alert.retry": [{ input: () => ({}) }],
  "upstream.add": [{
    input: ({ settingsText }) => ({
      upstream: "added",
      settings: { url: "http://127.0.0.1:9/v1" },
      digest: digestOf(settingsText),
    }),
  }],
  "route.write": [{
    input: ({ settingsText }) => ({
      route: "own",
      settings: { targets: [{ upstream: "local", model: "m" }] },
      digest: digestOf(settingsText),
    }),
  }],
};

/** What is paid is what Stripe says, not what the actor wants. */
const EXEMPT = ["order.reconcile", "payments.reconcile"];

function both(input: Case["input"], before?: Case["before"]): Case[] {
  return (["operator", "lead"] as const).map((by) => ({
    by,
    input,
    ...(before === undefined ? {} : { before }),
  }));
}

const WRITES = Object.values<object>(operations).filter((one): one is operations.WriteOperation =>
  "kind" in one && one.kind === "write"
);

/** All operations on a database of their own, with what they act on outside of it. */
async function bench() {
  await using stack = new AsyncDisposableStack();
  const { path: directory } = stack.use(await tempDir());
  const stripe = stack.use(fakeStripe());
  const receiver = stack.use(alertReceiver());
  const upstream = stack.use(
    fakeUpstream(() => Response.json({ object: "list", data: [{ id: "m" }] })),
  );
  const ledger = stack.use(await ledgerBench("file"));
  const raw = ledger.database;
  let meanwhile: (() => Promise<void>) | undefined;
  /** Tables that were written, in the order of the statements. */
  const written: string[] = [];
  const database: Database = {
    ...guardedDatabase(raw, () => {}),
    async batch(statements) {
      await meanwhile?.();
      const rows = await raw.batch(statements);
      written.push(...statements.flatMap(({ sql }) => tableOf(sql) ?? []));
      return rows;
    },
    async write(write, item) {
      await meanwhile?.();
      const outcome = await raw.write(write, item);
      written.push(write.name);
      return outcome;
    },
  };
  const file = `${directory}/sluice.jsonc`;
  const settingsText = JSON.stringify({
    ...shopSettings(stripe),
    upstreams: { local: { url: upstream.url, key: "x" } },
    alerts: {
      receivers: { ops: { url: receiver.url, secret: "a secret of the tests" } },
      allowPrivateHosts: [receiver.host],
    },
  });
  await Deno.writeTextFile(file, settingsText);
  const config = await loadConfig({ env: {}, directory, file });
  const { settings } = config;
  const { now } = Date;
  const accounts = new Accounts(database, now);
  const nouns = {
    database,
    accounts,
    keys: new Keys(database, now),
    teams: new Teams(database, now),
    members: new Members(database, now),
    teamKeys: new TeamKeys(database, now),
    upstreamKeys: new UpstreamKeys(database, now),
    sessions: new Sessions(database, now),
    registration: new Registration(database, accounts, settings.credits),
    sales: new Sales(database, settings.packages, settings.credits, now),
    payments: openPayments(settings, {
      database,
      accounts,
      now,
      log: createLog({ format: "json", level: "error", now, write: () => {} }),
    }),
    codes: new Codes(database, now),
  };
  const parts: operations.OperationParts = {
    ...nouns,
    config,
    now,
    catalog: () => Promise.reject(new Error("no models are named")),
    address: () => Promise.resolve("https://sluice.example"),
    sealKey: () => Promise.resolve(new Uint8Array(32)),
    gateway: {
      settingsFile: {
        check: () => Promise.resolve(),
        reload: () => Promise.resolve({ fault: null, needRestart: [] }),
      },
    } as unknown as operations.GatewayParts,
  };
  const { accounts: people, keys, teams, members, teamKeys, sales, codes } = nouns;
  const owned = stack.move();
  let count = 0;
  const person = (role: Account["role"] = "none") =>
    people.create({ email: `person${++count}@example.com`, role });
  return {
    raw,
    parts,
    /** What there is outside of the database. */
    outside: async () => [
      stripe.calls.length,
      receiver.received.length,
      upstream.received.length,
      await Deno.readTextFile(file),
    ],
    async subject(): Promise<Subject> {
      const [ada, bob] = [await person(), await person()];
      const team = await teams.create({ name: `Team ${count}`, pool: true });
      await members.add(team, bob);
      const { lotId } = await sales.grant(ada, { credits: 20 });
      const sale = await sales.sell(ada, sales.package("starter"), { paid: true });
      const [code] = await codes.make({ credits: 3 });
      await Deno.writeTextFile(file, settingsText);
      return {
        ada,
        bob,
        team,
        key: await keys.issue(ada),
        poolKey: await teamKeys.issue(team, null),
        lotId,
        orderId: sale.lotId.replace("lot_", "ord_"),
        code: code!,
        settingsText,
      };
    },
    /** Somebody who may do it. */
    async actor(by: Right, { team }: Subject): Promise<{ actor: Actor; ids: Ids }> {
      const account = await person(by === "operator" ? "owner" : "none");
      if (by === "operator") {
        const { id } = await keys.issue(account, { scopes: ["admin"] });
        return { actor: keyActor(account, id), ids: { account: account.id, key: id } };
      }
      const ids = { account: account.id, key: "" };
      if (by === "lead") await members.add(team, account, "lead");
      const roles = new Map(by === "lead" ? [[team.id, "lead" as const]] : []);
      return { actor: sessionActor({ account, teams: roles }), ids };
    },
    /**
     * Does something right before one of the next writes to the database.
     *
     * @returns Whether there was that write, what came of all, and which tables were written from then on.
     */
    async atWrite(at: number, does: () => Promise<void>, work: () => Promise<unknown>) {
      let writes = 0;
      meanwhile = async () => {
        if (++writes !== at) return;
        await does();
        written.length = 0;
      };
      const result = await work().catch((error) => error as Error);
      meanwhile = undefined;
      const tables = written.filter((table) => !BESIDE.includes(table));
      return { isReached: writes >= at, result, tables };
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

/** What may be written all the same: the log, tries of codes, and that gateways are to return what they were lent. */
const BESIDE = ["operation_log", "code_tries", "loans"];

function tableOf(sql: string): string | undefined {
  return /^\s*(?:insert into|update|delete from)\s+(\w+)/i.exec(sql)?.[1];
}

Deno.test("every write is tried by somebody who loses the right to it", () => {
  const names = new Set(WRITES.map(({ name }) => name));
  assertEquals([...names].toSorted(), [...Object.keys(CASES), ...EXEMPT].toSorted());
  const rights = Object.values(CASES).flat().map(({ by = "operator" }) => by);
  for (const right of ["operator", "lead", "self"] as const) assert(rights.includes(right), right);
});

// Proves P12.
Deno.test("a right that is lost during a write is not used any more", async () => {
  const seed = testSeed();
  const random = new Random(seed);
  await using one = await bench();
  const { raw, parts } = one;
  const logged = async () => Number((await raw.one("select count(*) as n from operation_log"))!.n);
  for (const operation of WRITES) {
    for (const { by = "operator", input, before, budget } of CASES[operation.name] ?? []) {
      const subject = await one.subject();
      if (before !== undefined) await raw.batch([{ sql: before(subject) }]);
      if (budget !== undefined) {
        const ownerId = budget === "key" ? subject.key.id : subject.team.id;
        const terms = { owner: budget, ownerId, period: "day", credits: 7 } as const;
        await setBudget(raw, terms, { nowMs: Date.now() });
      }
      const perform = (actor: Actor) =>
        operations.perform(
          parts,
          { actor, origin: { door: actor.keyId === null ? "console" : "api", address: null } },
          operation,
          input(subject),
        );
      const losses = Object.entries(LOSSES).filter(([, { of }]) => of.includes(by));
      for (const [loss, { by: what, sql }] of sized([random.pick(losses)], losses)) {
        const text = `SLUICE_TEST_SEED=${seed}: ${operation.name} by ${by}: ${loss}`;
        const { actor, ids } = await one.actor(by, subject);
        const outside = await one.outside();
        const { isReached, result, tables } = await one.atWrite(1, async () => {
          await raw.batch([{ sql, args: [ids[what]] }]);
        }, () => perform(actor));
        assert(isReached, text);
        assert(result instanceof OperationError, `${text}: ${JSON.stringify(result)}`);
        assertEquals(result.code, "permission_denied", `${text}: ${result.message}`);
        assertEquals([tables, await one.outside()], [[], outside], text);
        const [row] = await raw.all(
          "select operation, outcome from operation_log order by rowid desc limit 1",
        );
        assertEquals({ ...row }, { operation: operation.name, outcome: "failed" }, text);
      }
      // later: what is not in the log by then is not done
      const { sql } = LOSSES["the account is disabled"]!;
      for (let at = 2;; at++) {
        const text = `${operation.name} by ${by}, at write ${at}`;
        const { actor, ids } = await one.actor(by, subject);
        const rows = await logged();
        let isLogged = false;
        const { isReached, result, tables } = await one.atWrite(at, async () => {
          isLogged = await logged() > rows;
          await raw.batch([{ sql, args: [ids.account] }]);
        }, () => perform(actor));
        if (!isReached || isLogged) {
          assert(!(result instanceof Error), `${text}: ${result}`);
          break;
        }
        assertEquals(tables, [], text);
      }
    }
  }
});

// Proves P12, P13.
Deno.test("a write that has changed nothing yet is not in the log: what follows is guarded", async () => {
  await using one = await bench();
  const { raw, parts } = one;
  const rename = (id: string) => ({
    sql: "update accounts set name = 'New' where id = ?",
    args: [id],
  });
  const { sql } = LOSSES["the account is disabled"]!;
  for (const isChange of [false, true]) {
    const subject = await one.subject();
    const operation = defineWrite({ input: z.strictObject({}), output: z.strictObject({}) }, {
      name: "account.rename",
      path: "/rename",
      summary: "Rename an account in two steps",
      action: "account.manage",
      find: () => Promise.resolve({ target: null }),
      async run({ database }) {
        await database.batch([rename(isChange ? subject.ada.id : "nobody")]);
        await database.batch([rename(subject.bob.id)]);
      },
    });
    const { actor, ids } = await one.actor("operator", subject);
    const by = { actor, origin: { door: "api", address: null } } as const;
    const { result } = await one.atWrite(2, async () => {
      await raw.batch([{ sql, args: [ids.account] }]);
    }, () => operations.perform(parts, by, operation, {}));
    assertEquals(
      result instanceof OperationError ? result.code : "done",
      isChange ? "done" : "permission_denied",
    );
    const bob = (await parts.accounts.byId(subject.bob.id))!;
    assertEquals(bob.name, isChange ? "New" : subject.bob.name);
    const logged = await raw.all("select outcome from operation_log where actor_id = ?", [
      ids.account,
    ]);
    assertEquals(logged.map(({ outcome }) => outcome), [isChange ? "done" : "failed"]);
  }
});
