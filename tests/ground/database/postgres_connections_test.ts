/** Which of its hosts a PostgreSQL is used at. */

import { postgresEngine } from "../../../src/ground/database/postgres/engine.ts";
import { ask, Connections } from "../../../src/ground/database/postgres/connections.ts";
import { placeOf } from "../../../src/ground/database/postgres/place.ts";
import { DatabaseError } from "../../../src/ground/database/mod.ts";
import { containing, isLike } from "../../../src/ground/sql/mod.ts";
import { assert, assertEquals, assertRejects } from "../../assert.ts";
import { postgresServer, whyNoPostgres } from "../../fake/postgres.ts";
import { Random, testSeed } from "../../fake/random.ts";
import { DEADLINE_MS, inTime, tempDir, until } from "../../fake/temp.ts";
import { PostgresCluster } from "../../fake/postgres_cluster.ts";

const why = await whyNoPostgres();
const ignore = why !== undefined;
const skipped = why === undefined ? "" : ` (skipped: ${why})`;

/** What a server says once it has let somebody in, and waits for queries. */
const IS_READY = Uint8Array.of(0x52, 0, 0, 0, 8, 0, 0, 0, 0, 0x5a, 0, 0, 0, 5, 0x49);

/** A host that accepts connections and says no more than this, as one that hangs does. */
function silentHost(says: Uint8Array) {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const connections: Deno.Conn[] = [];
  const serve = async (connection: Deno.Conn) => {
    await connection.read(new Uint8Array(1_024)); // who it is
    await connection.write(says);
  };
  const serving = (async () => {
    for await (const connection of listener) {
      connections.push(connection);
      serve(connection).catch(() => {}); // who has left
    }
  })();
  return {
    port: (listener.addr as Deno.NetAddr).port,
    /** Connections so far. */
    get accepted() {
      return connections.length;
    },
    async [Symbol.asyncDispose]() {
      listener.close();
      for (const connection of connections) connection.close();
      await serving;
    },
  };
}

for (
  const [name, says] of [
    ["says nothing", new Uint8Array()],
    ["lets everybody in and answers nothing", IS_READY],
  ] as const
) {
  Deno.test(`a host that ${name} is passed over, and asked no more${skipped}`, {
    ignore,
  }, async () => {
    await using server = await postgresServer();
    await using silent = silentHost(says);
    const hosts = `127.0.0.1:${silent.port},127.0.0.1:${server.port}`;
    const url = `postgres://postgres@${hosts}/postgres?sslmode=disable`;
    const database = await postgresEngine(url, { durability: "normal" }).open();
    await using _ = { [Symbol.asyncDispose]: () => database.close() };
    const connections = await Promise.all(
      Array.from(
        { length: 4 },
        () => database.one("select pg_backend_pid() as pid, pg_sleep(0.2)"),
      ),
    );
    assertEquals(new Set(connections.map((row) => row?.pid)).size, 4);
    assertEquals(silent.accepted, 1);
  });
}

/** What may become of a host. */
const SPOILT = {
  "falls silent": (one: PostgresCluster) => one.signal("SIGSTOP"),
  "takes no writes any more": (one: PostgresCluster) =>
    one.run(
      "alter system set default_transaction_read_only = on;\nselect pg_reload_conf(), pg_sleep(0.2);\n",
    ),
};

for (const [name, spoil] of Object.entries(SPOILT)) {
  Deno.test(`once a host ${name}, no other connection to it is tried${skipped}`, {
    ignore,
  }, async () => {
    await using stack = new AsyncDisposableStack();
    const [one, other] = [await running(stack), await running(stack)];
    const url = `postgres://postgres@127.0.0.1:${one.port},127.0.0.1:${other.port}/postgres`;
    const database = await postgresEngine(url, { durability: "normal" }).open();
    stack.defer(() => database.close());
    const port = async () =>
      Number((await database.one("select current_setting('port') as port, pg_sleep(0.2)"))?.port);
    const write = () => database.batch([{ sql: "create table things (id bigint)" }]);
    assertEquals(await Promise.all(Array.from({ length: 4 }, port)), Array(4).fill(one.port));
    await spoil(one);
    await assertRejects(write, DatabaseError);
    assertEquals(await port(), other.port);
    await write();
  });
}

Deno.test(`of the servers that a name stands for, the one that takes writes is used${skipped}`, {
  ignore: ignore || Deno.build.os !== "linux", // which has all of 127.0.0.0/8
}, async () => {
  await using stack = new AsyncDisposableStack();
  const [primary, standby] = [await running(stack), await running(stack)];
  await SPOILT["takes no writes any more"](standby);
  const { port } = primary;
  let asked = 0;
  const listener = Deno.listen({ hostname: "127.0.0.3", port });
  stack.defer(() => listener.close());
  (async () => {
    for await (const connection of listener) {
      asked++;
      const server = await Deno.connect({ hostname: "127.0.0.1", port: standby.port });
      connection.readable.pipeTo(server.writable).catch(() => {});
      server.readable.pipeTo(connection.writable).catch(() => {});
    }
  })();
  const lookup = (name: string) => {
    assertEquals(name, "db.example");
    return Promise.resolve(
      ["127.0.0.3", "127.0.0.3", "127.0.0.1"].map((address) => ({ address })),
    );
  };
  const url = `postgres://postgres@db.example:${port}/postgres?sslmode=disable`;
  const connections = new Connections(placeOf(url), {
    patienceMs: DEADLINE_MS,
    durable: false,
    lookup,
  });
  stack.defer(() => connections.close());
  const portUsed = () =>
    connections.use(async (client) => {
      const text = "select current_setting('port') as port, pg_sleep(0.2)";
      const [[row]] = await ask(client, [{ text }]) as [[{ port: string }]];
      return Number(row.port);
    });
  assertEquals(await portUsed(), port);
  assertEquals(await Promise.all([portUsed(), portUsed()]), [port, port]);
  assertEquals(asked, 1, "what was connected to last is tried first");
});

Deno.test(`a password in ~/.pgpass may change while a gateway runs${skipped}`, {
  ignore,
}, async () => {
  await using stack = new AsyncDisposableStack();
  const cluster = await running(stack);
  await using folder = await tempDir();
  const passwords = `${folder.path}/pgpass`;
  Deno.env.set("PGPASSFILE", passwords);
  stack.defer(() => Deno.env.delete("PGPASSFILE"));
  const setPassword = async (password: string) => {
    await cluster.run(`alter role rotating password '${password}';\n`);
    await cluster.run(
      "select pg_terminate_backend(pid) from pg_stat_activity where usename = 'rotating';\n",
    );
  };
  const noteDown = (password: string) =>
    Deno.writeTextFile(passwords, `127.0.0.1:${cluster.port}:*:rotating:${password}\n`, {
      mode: 0o600,
    });
  await cluster.run(
    "create role rotating login;\n" +
      "copy (values ('local all all trust'), ('host all postgres all trust'), ('host all all all scram-sha-256'))\n" +
      `  to '${cluster.folder}/data/pg_hba.conf';\nselect pg_reload_conf();\n`,
  );
  const url = `postgres://rotating@127.0.0.1:${cluster.port}/postgres?sslmode=disable`;
  const connections = new Connections(placeOf(url), { patienceMs: DEADLINE_MS, durable: false });
  stack.defer(() => connections.close());
  const use = () => connections.use((client) => ask(client, [{ text: "select 1 as one" }]));
  await noteDown("first");
  await setPassword("first");
  await use();
  await setPassword("second");
  await assertRejects(use, DatabaseError); // what was open has ended
  await assertRejects(use, DatabaseError, "password authentication failed");
  await noteDown("second");
  assertEquals(await use(), [[{ one: 1 }]]);
});

/** Connections of a gateway to a PostgreSQL. */
const MAX_CONNECTIONS = 8;

Deno.test(`where connections are ended, as many that wait get one as there is room for${skipped}`, {
  ignore,
}, async () => {
  await using server = await postgresServer();
  const place = placeOf(server.url);
  const connections = new Connections(place, { patienceMs: DEADLINE_MS, durable: false });
  await using _ = { [Symbol.asyncDispose]: () => connections.close() };
  const random = new Random(testSeed());
  for (let round = 0; round < 10; round++) {
    const before = Array.from({ length: random.integer(0, 40) }, () => {
      // who loses theirs ends those that are idle, too
      const sql = random.next() < 0.4
        ? "select pg_terminate_backend(pg_backend_pid())"
        : `select pg_sleep(${random.integer(0, 3)} / 1000.0)`;
      return connections.use((client) => ask(client, [{ text: sql }])).catch(() => {});
    });
    const allIn = Promise.withResolvers<true>();
    let inside = 0;
    const last = Array.from({ length: MAX_CONNECTIONS }, () =>
      connections.use(async () => {
        if (++inside === MAX_CONNECTIONS) allIn.resolve(true);
        await allIn.promise;
      }));
    for (const one of last) one.catch(() => {}); // awaited below, if all are in
    const areIn = await inTime(allIn.promise, DEADLINE_MS, false);
    assert(areIn, `round ${round}: ${inside} of ${MAX_CONNECTIONS} in use, and others wait`);
    await Promise.all([...before, ...last]);
  }
});

Deno.test(`where a server gives no more connections, those that there are serve all${skipped}`, {
  ignore,
}, async () => {
  await using server = await postgresServer();
  const refused = "create role gateway login connection limit 2;\n";
  assertEquals((await server.run(refused)).errors, []);
  await using pooler = passingHost(server.port, { max: 2 });
  for (const [port, user] of [[server.port, "gateway"], [pooler.port, "postgres"]]) {
    const place = placeOf(`postgres://${user}@127.0.0.1:${port}/postgres?sslmode=disable`);
    const connections = new Connections(place, { patienceMs: 3_000, durable: false });
    await using _ = { [Symbol.asyncDispose]: () => connections.close() };
    const use = (sql: string) => connections.use((client) => ask(client, [{ text: sql }]));
    const pids = new Set<unknown>();
    for (let round = 0; round < 3; round++) {
      const all = Array.from(
        { length: 40 },
        () => use("select pg_backend_pid() as pid, pg_sleep(0.02)"),
      );
      for (const [rows] of await Promise.all(all)) pids.add(rows![0]!.pid);
    }
    assertEquals(pids.size, 2);
  }
  // one that is away is another matter
  pooler.hangUp();
  const place = placeOf(`postgres://postgres@127.0.0.1:${pooler.port}/postgres?sslmode=disable`);
  const connections = new Connections(place, { patienceMs: 100, durable: false });
  await using _ = { [Symbol.asyncDispose]: () => connections.close() };
  const asked = Array.from({ length: 20 }, () =>
    assertRejects(
      () => connections.use((client) => ask(client, [{ text: "select 1" }])),
      DatabaseError,
    ));
  await Promise.all(asked);
});

Deno.test(`what nobody waits for any more ends at the server, and so do its locks${skipped}`, {
  ignore,
}, async () => {
  await using server = await postgresServer();
  const database = await postgresEngine(server.url, { durability: "normal" }).open();
  await using _ = { [Symbol.asyncDispose]: () => database.close() };
  const read = () => database.all("select pg_sleep(100000)", [], { patienceMs: 200 });
  for (let time = 0; time < 3; time++) await assertRejects(read, DatabaseError);
  const left =
    "select count(*) as n from pg_stat_activity where query like '%(100000)%' and pid <> pg_backend_pid()";
  await until(async () => (await database.one(left))?.n === 0, {
    what: "the end of what was asked",
  });
});

Deno.test(
  `what statements mean is not for a role's settings to say${skipped}`,
  { ignore },
  async () => {
    await using server = await postgresServer();
    const settings = [
      ...[
        "standard_conforming_strings = off",
        "transform_null_equals = on",
        "datestyle = 'German'",
      ],
      ...["default_transaction_isolation = 'serializable'", "client_min_messages = 'debug5'"],
      ...["client_encoding = 'latin1'", "extra_float_digits = -15", "bytea_output = 'escape'"],
      ...[
        "quote_all_identifiers = on",
        "plan_cache_mode = 'force_generic_plan'",
        "row_security = off",
      ],
    ].map((setting) => `alter role gateway set ${setting};\n`);
    const { errors } = await server.run(
      `create role gateway login;\ngrant all on schema public to gateway;\n${settings.join("")}`,
    );
    assertEquals(errors, []);
    const database = await postgresEngine(server.url.replace("postgres@", "gateway@"), {
      durability: "normal",
    }).open();
    await using _ = { [Symbol.asyncDispose]: () => database.close() };
    const name = "a.b\\c [d] é";
    assertEquals(
      await database.one(
        `select ${
          isLike("?1", "?2")
        } as is_like, ?1 as name, 1 = ?3 as is_null, current_setting('transaction_isolation') as isolation`,
        [name, containing(".B\\C ["), null],
      ),
      { is_like: 1, name, is_null: null, isolation: "read committed" },
    );
  },
);

Deno.test(`what is asked at the moment when an idle connection is ended is asked again${skipped}`, {
  ignore,
}, async () => {
  await using server = await postgresServer();
  const database = await postgresEngine(server.url, { durability: "normal" }).open();
  await using _ = { [Symbol.asyncDispose]: () => database.close() };
  await database.batch([{ sql: "create table things (id bigint)" }]);
  const blocked = new Int32Array(new SharedArrayBuffer(4));
  for (let id = 0; id < 20; id++) {
    await database.all("set idle_session_timeout = 1"); // of this connection
    Atomics.wait(blocked, 0, 0, 50); // its end arrives, and is not read yet
    await database.batch([{ sql: "insert into things values (?)", args: [id] }], { beside: true });
  }
  assertEquals(await database.all("select count(*) as n, count(distinct id) as ids from things"), [
    { n: 20, ids: 20 },
  ]);
});

Deno.test(`a PostgreSQL that has triggers off is not used${skipped}`, { ignore }, async () => {
  await using server = await postgresServer();
  await server.run("alter database postgres set session_replication_role = replica;\n");
  const error = await assertRejects(
    () => postgresEngine(server.url, { durability: "normal" }).open(),
    DatabaseError,
    "(session_replication_role is 'replica')",
  );
  assertEquals([error.code, error.isPassing], ["SLUICE_TRIGGERS", false]);
});

Deno.test(
  `a transaction that is undone ends with an error where the server falls silent before its end${skipped}`,
  {
    ignore,
  },
  async () => {
    await using server = await postgresServer();
    await using host = passingHost(server.port, { silentAt: "rollback" });
    const url = `postgres://postgres@127.0.0.1:${host.port}/postgres?sslmode=disable`;
    const database = await postgresEngine(url, { durability: "normal" }).open();
    await using _ = { [Symbol.asyncDispose]: () => database.close() };
    const done = database.batch([{ sql: "create table things (id bigint)" }], { undone: true })
      .catch((error) => error);
    assert(await inTime(done, DEADLINE_MS, "nothing") instanceof DatabaseError);
  },
);

/** A host that passes all on to a port, up to some number of connections, and up to a text that it is sent; or hangs up on everybody. */
function passingHost(
  port: number,
  { max = Infinity, silentAt }: { readonly max?: number; readonly silentAt?: string } = {},
) {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const connections = new Set<Deno.Conn>();
  let [accepted, passed, isOpen, isSilent] = [0, 0, true, false];
  const pass = async (caller: Deno.Conn) => {
    const isWithin = passed++ < max;
    connections.add(caller);
    if (!isWithin) return; // it waits, as at a pooler whose connections are all in use
    const server = await Deno.connect({ hostname: "127.0.0.1", port });
    connections.add(server);
    const heard = new TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>>({
      transform(bytes, controller) {
        isSilent ||= silentAt !== undefined && new TextDecoder().decode(bytes).includes(silentAt);
        if (!isSilent) controller.enqueue(bytes);
      },
    });
    await Promise.all([
      caller.readable.pipeThrough(heard).pipeTo(server.writable).catch(() => {}),
      server.readable.pipeTo(caller.writable).catch(() => {}),
    ]);
  };
  const serving = (async () => {
    const passing: Promise<void>[] = [];
    for await (const caller of listener) {
      accepted++;
      if (isOpen) passing.push(pass(caller));
      else caller.close();
    }
    await Promise.all(passing);
  })();
  const hangUp = () => {
    isOpen = false;
    for (const one of connections) {
      try {
        one.close();
      } catch (error) {
        if (!(error instanceof Deno.errors.BadResource)) throw error; // both sides have ended
      }
    }
    connections.clear();
  };
  return {
    port: (listener.addr as Deno.NetAddr).port,
    hangUp,
    answer: () => isOpen = true,
    /** Connections that were asked for during some work. */
    async asked(work: () => Promise<unknown>) {
      const before = accepted;
      await work();
      return accepted - before;
    },
    async [Symbol.asyncDispose]() {
      hangUp();
      listener.close();
      await serving;
    },
  };
}

Deno.test(`hosts that are away are given time once, and once more after they were back${skipped}`, {
  ignore,
}, async () => {
  await using server = await postgresServer();
  await using host = passingHost(server.port);
  const place = placeOf(`postgres://postgres@127.0.0.1:${host.port}/postgres?sslmode=disable`);
  const connections = new Connections(place, { patienceMs: 1_500, durable: false });
  await using _ = { [Symbol.asyncDispose]: () => connections.close() };
  const use = () => connections.use((client) => ask(client, [{ text: "select 1" }]));
  for (let time = 0; time < 2; time++) {
    await use();
    host.hangUp();
    const first = await host.asked(async () => {
      await assertRejects(use, DatabaseError); // may have been by the connection that was open
      await assertRejects(use, DatabaseError);
    });
    assert(first > 2, `${first} attempts`);
    assertEquals(await host.asked(() => assertRejects(use, DatabaseError)), 1);
    host.answer();
  }
});

/** A server that runs until its test ends. */
async function running(stack: AsyncDisposableStack): Promise<PostgresCluster> {
  const cluster = await PostgresCluster.create({ settings: ["fsync=off"] });
  await cluster.init();
  await cluster.start();
  stack.defer(() => cluster.end());
  return cluster;
}
