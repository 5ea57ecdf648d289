import * as fc from "fast-check";
import { byTurns } from "../../../src/ground/ways_out/connect_tcp.ts";
import { checkConnection, ProxyFault, readProxy } from "../../../src/ground/ways_out/mod.ts";
import { networkErrorWords } from "../../../src/ground/platform/mod.ts";
import { assert, assertEquals, assertRejects } from "../../assert.ts";
import { DEADLINE_MS, until } from "../../fake/temp.ts";

const SERVER = "127.0.0.1";
/** Nobody listens at these, unless a test does. */
const OTHERS = ["127.0.0.2", "127.0.0.3"] as const;
const MAX_BACKLOG = 20_000;

/** A server that keeps what connects to it, and reads to its end. */
function listening(hostname: string, port = 0) {
  const listener = Deno.listen({ hostname, port });
  const counts = { accepted: 0, open: 0 };
  const serving = (async () => {
    for await (const connection of listener) {
      counts.accepted++;
      counts.open++;
      connection.read(new Uint8Array(1)).catch(() => {}).finally(() => {
        counts.open--;
        connection.close();
      });
    }
  })();
  return {
    port: listener.addr.port,
    counts,
    async [Symbol.asyncDispose]() {
      await until(() => counts.open === 0, { what: "the end of all connections" });
      listener.close();
      await serving;
    },
  };
}

/** An address that does not reply: as many wait there as the system keeps. */
async function silent(hostname: string, port: number) {
  const listener = Deno.listen({ hostname, port });
  const waiting: Deno.Conn[] = [];
  // one attempt may be late by chance
  for (let lateInTurn = 0; lateInTurn < 4;) {
    assert(waiting.length < MAX_BACKLOG);
    const ending = new AbortController();
    const timer = setTimeout(() => ending.abort(), 100);
    await Deno.connect({ hostname, port, signal: ending.signal }).then((connection) => {
      waiting.push(connection);
      lateInTurn = 0;
    }, () => lateInTurn++);
    clearTimeout(timer);
  }
  return {
    [Symbol.dispose]() {
      for (const connection of waiting) connection.close();
      listener.close();
    },
  };
}

interface Check {
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
  readonly proxy?: string;
}

function check(
  port: number,
  addresses: readonly string[],
  { timeoutMs = DEADLINE_MS, signal, proxy: named }: Check = {},
): Promise<void> {
  const proxy = named === undefined ? undefined : readProxy(named);
  assert(proxy === undefined || !("fault" in proxy));
  return checkConnection({
    url: new URL(`http://both.test:${port}`),
    lookup: () => Promise.resolve(addresses),
    timeoutMs,
    signal,
    proxy,
  });
}

Deno.test("the next address is tried when one refuses or is silent, and nothing stays open", async () => {
  await using server = listening(SERVER);
  const [first, second] = OTHERS;
  await check(server.port, [first, second, SERVER]);
  assertEquals(server.counts.accepted, 1);
  await check(server.port, [SERVER, first]);
  {
    using _silent = await silent(first, server.port);
    await check(server.port, [first, SERVER]);
    await check(server.port, [first, second, SERVER]);
  }
  assertEquals(server.counts.accepted, 4);
  await check(9, [first, second, SERVER], { proxy: `both.test:${server.port}` });
  assertEquals(server.counts.accepted, 5);
});

Deno.test("a host that no address connects to fails with words, in time, or when its caller leaves", async () => {
  const { port } = new URL(`http://${SERVER}:${free()}`);
  const words = async (attempt: Promise<void>) =>
    networkErrorWords(await assertRejects(() => attempt, Error));
  assertEquals(await words(check(+port, [...OTHERS, SERVER])), "the connection was refused");
  assertEquals(await words(check(+port, [])), "the host name is unknown");
  const fault = await assertRejects(() => check(9, [SERVER], { proxy: `x.test:${port}` }), Error);
  assert(fault instanceof ProxyFault);
  assertEquals(fault.message, "the proxy cannot be reached: the connection was refused");

  const [first, second] = OTHERS;
  using _first = await silent(first, +port);
  using _second = await silent(second, +port);
  const late = check(+port, [first, second], { timeoutMs: 300 });
  assertEquals(await words(late), "no connection in time");
  const leaving = new AbortController();
  const left = check(+port, [first, second], { signal: leaving.signal });
  leaving.abort(new Error("left"));
  assertEquals((await assertRejects(() => left, Error)).message, "left");
  const gone = check(+port, [first, second], { signal: leaving.signal });
  assertEquals((await assertRejects(() => gone, Error)).message, "left");
});

Deno.test("names are looked up by the system, and its faults have words", async () => {
  const url = new URL("http://no-such-host.invalid");
  for (const proxy of [undefined, readProxy("no-such-host.invalid")]) {
    assert(proxy === undefined || !("fault" in proxy));
    const fault = await assertRejects(
      () => checkConnection({ url, timeoutMs: DEADLINE_MS, proxy }),
      Error,
    );
    const words = networkErrorWords(fault) ?? "";
    const [, why = words] = /^the proxy cannot be reached: (.*)$/.exec(words) ?? [];
    // without any network nothing can be looked up
    assert(/^the host name (is unknown|could not be looked up)$/.test(why), words);
  }
  await using server = listening(SERVER);
  await checkConnection({
    url: new URL(`http://localhost:${server.port}`),
    timeoutMs: DEADLINE_MS,
  });
  await checkConnection({
    url: new URL(`http://both.test:${server.port}`),
    address: SERVER,
    lookup: () => Promise.reject(new Error("a checked address is looked up")),
    timeoutMs: DEADLINE_MS,
  });
});

Deno.test("a server that closes the connection instead of speaking TLS is not said to fail in TLS", async () => {
  using listener = Deno.listen({ hostname: SERVER, port: 0 });
  const closing = listener.accept().then((connection) => connection.close());
  const url = new URL(`https://localhost:${listener.addr.port}`);
  const fault = await assertRejects(() => checkConnection({ url, timeoutMs: DEADLINE_MS }), Error);
  assertEquals(networkErrorWords(fault), "the connection was closed early");
  await closing;
});

Deno.test("addresses of the two families are tried by turns, each in the system's order", () => {
  const family = (address: string) => address.includes(":") ? 6 : 4;
  fc.assert(
    fc.property(fc.uniqueArray(fc.oneof(fc.ipV4(), fc.ipV6())), (addresses) => {
      const turns = byTurns(addresses);
      assertEquals(turns[0], addresses[0]);
      for (const which of [4, 6]) {
        const ofFamily = (list: readonly string[]) =>
          list.filter((address) => family(address) === which);
        assertEquals(ofFamily(turns), ofFamily(addresses));
      }
      const families = turns.map(family);
      const last = families.at(-1);
      const firstRepeat = families.findIndex((one, at) => at > 0 && one === families[at - 1]);
      assert(firstRepeat < 0 || families.slice(firstRepeat).every((one) => one === last));
    }),
  );
});

/** A port where nobody listens. */
function free(): number {
  using listener = Deno.listen({ hostname: SERVER, port: 0 });
  return listener.addr.port;
}
