/** Where a PostgreSQL is, and how a connection to it is encrypted. */

import { assertEquals, assertRejects, assertThrows } from "../../assert.ts";
import { DatabaseError } from "../../../src/ground/database/mod.ts";
import { placeOf, postgresEngine } from "../../../src/ground/database/postgres/engine.ts";
import { encrypt } from "../../fake/encrypted_postgres.ts";
import { postgresServer, whyNoPostgres } from "../../fake/postgres.ts";

const why = await whyNoPostgres();
const ignore = why !== undefined;
const skipped = why === undefined ? "" : ` (skipped: ${why})`;

Deno.test("a URL says hosts, user, password, database and how it is encrypted", () => {
  assertEquals(placeOf("postgres://a/d"), {
    hosts: [{ host: "a", port: 5432 }],
    user: undefined,
    password: undefined,
    database: "d",
    mustWrite: true,
    tls: "prefer",
    files: { ca: undefined, cert: undefined, key: undefined },
  });
  const long =
    "postgresql://u%40x:p%2Fw%3A@a:1,[::1]:2,%2Frun%2Fpg/d%20b?target_session_attrs=any" +
    "&sslmode=verify-ca&sslrootcert=/ca&sslcert=/c&sslkey=/k";
  assertEquals(placeOf(long, "other"), {
    hosts: [{ host: "a", port: 1 }, { host: "::1", port: 2 }, { host: "/run/pg", port: 5432 }],
    user: "u@x",
    password: "p/w:",
    database: "d b",
    mustWrite: false,
    tls: "verify-ca",
    files: { ca: "/ca", cert: "/c", key: "/k" },
  });
  assertEquals(placeOf("postgres://u@a/d", "kept").password, "kept");
  assertEquals(placeOf("postgres://u:@a/d", "kept").password, "kept");
  assertEquals(placeOf("postgres://u:a:b%25@a/d").password, "a:b%");
  assertEquals(placeOf("postgres://a/d?sslrootcert=/a+b%20c").files.ca, "/a+b c");
  assertEquals(placeOf("postgres://a/d?sslrootcert=system").tls, "verify-full");
});

Deno.test("what a URL must not be is said without what may be secret in it", () => {
  for (
    const [url, fault] of [
      ["postgres://", "must be postgres://[USER"],
      ["postgres://a", "must be postgres://[USER"],
      ["postgres:///d", "must be postgres://[USER"],
      ["postgres://u:hunter/2@a/d", "must be postgres://[USER"],
      ["postgres://u:hunter@2@a/d", "must be postgres://[USER"],
      ["postgres://u:hunter%2@a/d", "must be percent-encoded"],
      ["postgres://u:hunter2@a,,b/d", "must have a host between commas"],
      ["postgres://u:hunter2@a:x/d", "must have a host between commas"],
      ["postgres://u:hunter2@a:65536/d", "must have a host between commas"],
      ["postgres://u:hunter2@a/d?ssl=true", "must not have the parameter 'ssl'; known ones are"],
      ["postgres://u:hunter2@a/d?sslmode=allow", "must have as sslmode one of disable, prefer"],
      ["postgres://u:hunter2@a/d?target_session_attrs=primary", "one of read-write, any"],
      ["postgres://u:hunter2@a/d?sslrootcert=ca.pem", "absolute paths"],
      ["postgres://u:hunter2@a/d?sslcert=/c", "sslcert and sslkey together"],
    ] as const
  ) {
    const { message } = assertThrows(() => placeOf(url), TypeError, fault);
    assertEquals(/hunter/.test(message), false, message);
  }
});

Deno.test(`connections are encrypted as a URL says, and fail where they cannot be${skipped}`, {
  ignore,
}, async () => {
  await using server = await postgresServer();
  const { port } = server;
  const encrypted = async (host: string, parameters: string) => {
    const url = `postgres://postgres@${host}:${port}/postgres?${parameters}`;
    const database = await postgresEngine(url, { durability: "normal" })
      .open();
    const row = await database.one(
      "select ssl, client_dn from pg_stat_ssl where pid = pg_backend_pid()",
    );
    await database.close();
    return row;
  };
  const plain = { ssl: 0, client_dn: null };
  const secure = { ssl: 1, client_dn: null };
  const refused = (host: string, parameters: string) =>
    assertRejects(() => encrypted(host, parameters), DatabaseError, "Cannot use PostgreSQL at");
  assertEquals(await encrypted("127.0.0.1", "sslmode=prefer"), plain);
  await refused("127.0.0.1", "sslmode=require");

  const { ca, cert, key } = await encrypt(server);
  const known = `sslrootcert=${ca}`;
  assertEquals(await encrypted("127.0.0.1", ""), secure);
  assertEquals(await encrypted("127.0.0.1", "sslmode=require"), secure);
  assertEquals(await encrypted("127.0.0.1", "sslmode=disable"), plain);
  assertEquals(
    await encrypted(encodeURIComponent(server.socket), "sslmode=require"),
    { ssl: 0, client_dn: null },
    "a socket needs none",
  );
  await refused("localhost", "sslmode=verify-full");
  assertEquals(await encrypted("127.0.0.1", known), secure);
  await refused("127.0.0.2", known); // not in its certificate
  const withoutHost = () => encrypted("127.0.0.2", `sslmode=verify-ca&${known}`);
  if (Deno.version.deno.startsWith("2.4.")) {
    // as docs/scaling.md says: it checks the host, too, and sends no certificate
    await assertRejects(withoutHost, DatabaseError, "not valid for name");
    return;
  }
  assertEquals(await withoutHost(), secure);
  assertEquals(await encrypted("localhost", `${known}&sslcert=${cert}&sslkey=${key}`), {
    ssl: 1,
    client_dn: "/CN=localhost",
  });
});
