/** What a delivery that fails says: why, in words, and never where to; and the checks before any is made. */

import { checkReceiver, sendAlerts } from "../../../src/operating/alerts/send.ts";
import type { Resolve } from "../../../src/requests/images/mod.ts";
import { assert, assertEquals } from "../../assert.ts";
import { alertReceiver } from "../../fake/alert_receiver.ts";
import { DEADLINE_MS } from "../../fake/temp.ts";
import { rawServer, readRequest } from "../../fake/upstream.ts";

const to = (...addresses: string[]): Resolve => () => Promise.resolve(addresses);
const failing: Resolve = () => Promise.reject(new Error("no DNS at 10.1.2.3"));

interface Options {
  readonly allow?: readonly string[];
  readonly resolve?: Resolve;
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
}

const optionsOf = (
  { allow = [], resolve = to(), timeoutMs = DEADLINE_MS }: Options,
) => ({ allowPrivateHosts: allow, timeoutMs, resolve });

/** Posts no alerts. */
const send = (url: string, options: Options = {}) =>
  sendAlerts({ url, kind: "webhook", secret: undefined, alerts: [] }, [], {
    ...optionsOf(options),
    nowMs: 0,
    deliveryId: "d",
    signal: options.signal ?? new AbortController().signal,
  });

/** A port of this machine that nothing listens on. */
function closedPort(): number {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const { port } = listener.addr;
  listener.close();
  return port;
}

Deno.test("why a delivery failed is said in words, and names no address", async () => {
  const port = closedPort();
  const host = `127.0.0.1:${port}`;
  const cases: readonly (readonly [url: string, options: Options, error: RegExp])[] = [
    // what is not allowed says so
    ["http://127.0.0.1/x", {}, /^has a URL that is not allowed: its host is not public$/],
    ["ftp://hooks.example.com/x", {}, /its scheme must be http or https$/],
    ["http://u:p@hooks.example.com/x", {}, /it contains a user name or password$/],
    ["http://hooks.example.com/x", { resolve: to("10.0.0.1") }, /public/],
    // what was allowed and not reached says what the network says
    [`http://${host}/x`, { allow: [host] }, /refused/],
    ["http://hooks.example.com/x", { resolve: failing }, /^(?!.*10\.1).+$/],
    ["http://hooks.example.com/x", { resolve: to() }, /^.+$/],
  ];
  for (const [url, options, expected] of cases) {
    const { status, error } = await send(url, options);
    assertEquals(status, null, url);
    assert(error !== null && expected.test(error), `${url}: ${error}`);
    assert(!/hooks\.example|127\.0\.0\.1|10\.[01]|\/x/.test(error), error);
    const checked = await checkReceiver({ url }, optionsOf(options));
    assertEquals(checked, error, `${url}: the check says the same`);
  }
});

Deno.test("every status but those from 200 to 299 is a failure, a redirect among them", async () => {
  let said = 0;
  await using receiver = rawServer(async (connection) => {
    await readRequest(connection);
    const head = `HTTP/1.1 ${String(said).padStart(3, "0")} x\r\ncontent-length: 0\r\n`;
    await connection.write(new TextEncoder().encode(`${head}connection: close\r\n\r\n`));
  });
  const allow = [new URL(receiver.url).host];
  for (
    said of [
      1,
      99,
      100,
      101,
      150,
      199,
      200,
      204,
      299,
      300,
      304,
      308,
      399,
      400,
      499,
      500,
      599,
      600,
      999,
    ]
  ) {
    const { status, error } = await send(receiver.url, { allow });
    const isDelivered = said >= 200 && said <= 299;
    assertEquals(error === null, isDelivered, `${said}: ${error}`);
    assertEquals(error?.includes("redirects") ?? false, said >= 300 && said <= 399, `${said}`);
    assert(status === said || status === null && said < 200, `${said}: ${status}`);
  }
});

Deno.test("a status is a delivery from 200 to 299 only; what takes too long says how long it was waited for", async () => {
  await using receiver = alertReceiver();
  const { url, host } = receiver;
  const allow = [host];
  assertEquals(await send(url, { allow }), { status: 200, error: null });
  receiver.behave(["error", "redirect", "hang up"]);
  assertEquals(await send(url, { allow }), { status: 500, error: "status 500" });
  const redirect = await send(url, { allow });
  assertEquals(redirect.error, `status ${redirect.status}: redirects are not followed`);
  const { status, error } = await send(url, { allow });
  assertEquals(status, null);
  assert(error !== null && !error.includes(host), String(error));
  receiver.behave(["held"]);
  assertEquals(await send(url, { allow, timeoutMs: 50 }), {
    status: null,
    error: "no reply within 50 ms",
  });
  // a gateway that stops is not a receiver that is late
  const stopped = await send(url, { allow, signal: AbortSignal.abort() });
  assert(stopped.error !== null && !stopped.error.startsWith("no reply within"), stopped.error!);
  assertEquals(await checkReceiver({ url }, optionsOf({ allow })), undefined);
  receiver.release();
});
