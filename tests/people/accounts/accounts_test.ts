import {
  AccountError,
  Accounts,
  type Caller,
  KeyRing,
  Keys,
  Teams,
} from "../../../src/people/accounts/mod.ts";
import { randomText } from "../../../src/ground/platform/ids.ts";
import { type Database, keepFileThreads, openDatabase } from "../../../src/ground/database/mod.ts";
import { RULES } from "../../../src/money/ledger/mod.ts";
import { Refusal } from "../../../src/ground/refusal.ts";
import {
  assert,
  assertEquals,
  assertMatch,
  assertNotEquals,
  assertRejects,
  assertStringIncludes,
} from "../../assert.ts";
import { writeEmptyDatabase } from "../../fake/empty_database.ts";
import { tempDir, until } from "../../fake/temp.ts";

keepFileThreads(4); // each test opens a database of its own

const NOON = Date.UTC(2026, 0, 1, 12);

async function open() {
  const stack = new AsyncDisposableStack();
  const dir = stack.use(await tempDir());
  const file = `${dir.path}/sluice.db`;
  await writeEmptyDatabase(file);
  const clock = { now: NOON };
  const now = () => clock.now;
  const database = stack.adopt(
    await openDatabase({ file, durability: "full", rules: RULES, now }),
    (one) => one.close(),
  );
  return {
    stack,
    file,
    clock,
    now,
    database,
    accounts: new Accounts(database, now),
    keys: new Keys(database, now),
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

/** A database that counts its reads. */
function counting(database: Database): { database: Database; reads: () => number } {
  let reads = 0;
  const counted = Object.create(database, {
    one: {
      value: (sql: string, args?: readonly string[]) => {
        if (sql.includes("digest")) reads++;
        return database.one(sql, args);
      },
    },
  });
  return { database: counted, reads: () => reads };
}

Deno.test("Accounts.create refuses bad and used addresses; case does not matter", async () => {
  await using all = await open();
  const made = await all.accounts.create({ email: "Ada@Example.com", name: "Ada" });
  assertEquals(made.email, "ada@example.com");
  await assertRejects(
    () => all.accounts.create({ email: "ADA@example.COM" }),
    AccountError,
    "already",
  );
  for (
    const email of [
      "",
      "ada",
      "ada@",
      "@example.com",
      "a b@example.com",
      "a'; drop table accounts;--@x",
    ]
  ) {
    await assertRejects(
      () => all.accounts.create({ email }),
      AccountError,
      "Invalid email address",
    );
  }
  assertEquals((await all.accounts.get("ADA@EXAMPLE.COM")).id, made.id);
  await assertRejects(() => all.accounts.get("bob@example.com"), AccountError, "not found");
});

Deno.test("Accounts.page: each filter finds its accounts, alone and with the others, in pages", async () => {
  await using all = await open();
  const { accounts, database, clock, now } = all;
  const kinds = ["person", "service", "pool"] as const;
  const made = [];
  for (const [at, kind] of [...kinds, ...kinds].entries()) {
    clock.now += 1;
    const email = `${kind}${at}@example.com`;
    const { poolId } = kind === "pool"
      ? await new Teams(database, now).create({ name: `Team ${at}`, pool: true })
      : { poolId: null };
    made.push(poolId ?? (await accounts.create({ email, kind: kind as "person" })).id);
    if (at < 3 && kind !== "pool") await accounts.setRole(email, "operator");
    if (at % 2 === 1 && kind !== "pool") await accounts.disable(email);
  }
  const known = await Promise.all(made.map(async (id) => (await accounts.byId(id))!));
  for (const role of [undefined, "none", "operator", "owner"] as const) {
    for (const kind of [undefined, ...kinds]) {
      for (const disabled of [undefined, true, false]) {
        const found: string[] = [];
        let after: string | undefined;
        do {
          const page = await accounts.page({ role, kind, disabled, after, limit: 2 });
          found.push(...page.map(({ email }) => email));
          after = page.at(-1)?.id;
        } while (after !== undefined);
        const wanted = known.filter((one) =>
          (role ?? one.role) === one.role &&
          (kind === undefined ? one.kind !== "pool" : one.kind === kind) &&
          (disabled === undefined || disabled === (one.disabledAtMs !== null))
        );
        assertEquals(
          found,
          wanted.map(({ email }) => email),
          JSON.stringify({ role, kind, disabled }),
        );
      }
    }
  }
});

Deno.test("Accounts.setRole says why an account cannot have a role", async () => {
  await using all = await open();
  const { accounts, database, now } = all;
  const { poolId } = await new Teams(database, now).create({ name: "Team", pool: true });
  await accounts.create({ email: "owner@example.com", role: "owner" });
  await accounts.create({ email: "program@example.com", kind: "service" });
  await accounts.create({ email: "gone@example.com" });
  await accounts.disable("gone@example.com");
  const cases = [
    [
      (await accounts.byId(poolId!))!.email,
      "finance",
      "is the pool of a team: it cannot have a role",
    ],
    ["program@example.com", "owner", "is not a person: only people can be owners"],
    ["gone@example.com", "owner", "is disabled: enable it first"],
    ["owner@example.com", "none", "is the last owner: make another account an owner first"],
  ] as const;
  for (const [email, role, why] of cases) {
    await assertRejects(() => accounts.setRole(email, role), AccountError, `${email} ${why}`);
  }
});

Deno.test("Keys.issue shows the key once and keeps only its digest", async () => {
  await using all = await open();
  const account = await all.accounts.create({ email: "ada@example.com" });
  const { secret, ...key } = await all.keys.issue(account, {
    name: "laptop",
    models: ["svc-k2"],
    budgetCredits: 5,
  });
  assertMatch(secret, /^sk-[A-Za-z0-9]{43}$/);
  assertEquals(await all.keys.list(account), [key]);
  const dump = JSON.stringify(await all.database.all("select * from keys"));
  assert(!dump.includes(secret) && !dump.includes(secret.slice(8, 30)));
  await assertRejects(
    () => all.keys.issue(account, { expiresAtMs: NOON }),
    AccountError,
    "must be in the future",
  );
  await assertRejects(() => all.keys.revoke("key_none"), AccountError, "not found");
});

Deno.test("Keys.adopt makes the environment's key the only one of its kind", async () => {
  await using all = await open();
  const owner = await all.accounts.create({ email: "owner@example.com", role: "owner" });
  const ring = all.stack.adopt(new KeyRing(all.database, { now: all.now }), (one) => one.close());
  const [first, second] = [`sk-first-${"1".repeat(32)}`, `sk-second-${"2".repeat(32)}`];
  for (const secret of [first, first, second]) await all.keys.adopt(owner, secret);
  await ring.refresh();
  assertEquals((await ring.identify([second])).accountId, owner.id);
  const refusal = await assertRejects(async () => await ring.identify([first]), Refusal);
  assertStringIncludes(refusal.message, "revoked");
  await assertRejects(() => all.keys.adopt(owner, first), AccountError, "revoked");
});

/** One that nothing keeps from polling: what it holds never grows stale. */
function ringOf(database: Database, { now }: { now: () => number }): KeyRing {
  return new KeyRing(database, { now, tick: () => 0 });
}

Deno.test("KeyRing: a known key costs no database read", async () => {
  await using all = await open();
  const account = await all.accounts.create({ email: "ada@example.com" });
  const { secret } = await all.keys.issue(account);
  const { database, reads } = counting(all.database);
  const ring = all.stack.adopt(ringOf(database, all), (one) => one.close());
  await ring.refresh();
  await ring.identify([secret]);
  for (let index = 0; index < 100; index++) assert(!(ring.identify([secret]) instanceof Promise));
  assertEquals(reads(), 1);
  await ring.refresh(); // nothing has changed
  assert(!(ring.identify([secret]) instanceof Promise));
  // nor does one that comes behind what is no key
  for (let index = 0; index < 3; index++) {
    assertEquals((await ring.identify(["no key", secret])).accountId, account.id);
  }
  assertEquals(reads(), 1);
});

Deno.test("KeyRing: an unknown key is asked for once until something changes", async () => {
  await using all = await open();
  const { database, reads } = counting(all.database);
  const ring = all.stack.adopt(ringOf(database, all), (one) => one.close());
  await ring.refresh();
  const unknown = `sk-${randomText(43)}`;
  for (let index = 0; index < 5; index++) {
    await assertRejects(async () => await ring.identify([unknown]), Refusal, "Unknown API key");
  }
  assertEquals(reads(), 1);
});

const ENDS: Readonly<
  Record<string, (all: Awaited<ReturnType<typeof open>>, caller: Caller) => Promise<unknown>>
> = {
  "the key was revoked": (all, { keyId }) => all.keys.revoke(keyId),
  "the account was disabled": (all, { email }) => all.accounts.disable(email),
};

for (const [what, end] of Object.entries(ENDS)) {
  Deno.test(`KeyRing refuses soon when ${what} by another process`, async () => {
    await using all = await open();
    const account = await all.accounts.create({ email: "ada@example.com" });
    const { secret } = await all.keys.issue(account);
    const ring = all.stack.adopt(new KeyRing(all.database, { now: all.now }), (one) => one.close());
    const caller = await ring.identify([secret]);
    // another connection to the same file, as the command line opens one
    const other = await openDatabase({
      file: all.file,
      durability: "full",
      rules: RULES,
      now: all.now,
    });
    await end(
      { ...all, keys: new Keys(other, all.now), accounts: new Accounts(other, all.now) },
      caller,
    );
    await other.close();
    await until(async () => {
      try {
        await ring.identify([secret]);
        return false;
      } catch {
        return true;
      }
    }, { what: "the refusal" });
  });
}

Deno.test("KeyRing refuses a key from the instant it expires", async () => {
  await using all = await open();
  const account = await all.accounts.create({ email: "ada@example.com" });
  const { secret } = await all.keys.issue(account, { expiresAtMs: NOON + 1_000 });
  const ring = all.stack.adopt(new KeyRing(all.database, { now: all.now }), (one) => one.close());
  all.clock.now = NOON + 999;
  await ring.identify([secret]);
  all.clock.now = NOON + 1_000;
  await assertRejects(async () => await ring.identify([secret]), Refusal, "expired");
});

Deno.test("KeyRing never reads the database for what is no key", async () => {
  await using all = await open();
  const { database, reads } = counting(all.database);
  const ring = all.stack.adopt(ringOf(database, all), (one) => one.close());
  for (
    const secret of [
      "",
      "sk-",
      "sk-short",
      "hello",
      `sk-${"x".repeat(300)}`,
      `sk-${"ü".repeat(40)}`,
      "sk-' or 1=1 --",
    ]
  ) {
    await assertRejects(async () => await ring.identify([secret]), Refusal, "Malformed");
  }
  await assertRejects(async () => await ring.identify([]), Refusal, "Missing API key");
  assertEquals(reads(), 0);
});

Deno.test("randomText is long, random and plain", () => {
  assertMatch(randomText(1_000), /^[A-HJ-NP-Za-km-z2-9]{1000}$/);
  assertNotEquals(randomText(43), randomText(43));
});
