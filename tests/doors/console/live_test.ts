import { PageSource } from "../../../src/doors/console/live_pages.ts";
import { LiveStreams, type Viewer } from "../../../src/doors/console/live_streams.ts";
import { BasePath } from "../../../src/ground/web/mod.ts";
import { ROLE_NONE } from "./live_fakes.ts";
import { assert, assertEquals, assertMatch, assertStringIncludes } from "../../assert.ts";
import { customer } from "../../fake/customer.ts";
import { startGateway, statusOf } from "../../fake/gateway.ts";
import { DEADLINE_MS, inTime, sleep, until } from "../../fake/temp.ts";
import { heldUpstream } from "../../fake/upstream.ts";
import { PlainBrowser, signedIn } from "../../fake/visitor.ts";
import { linesOf } from "../../streams.ts";

const OWNER = "owner@localhost";
const LIVE = "/console/operator/live";
const EVENTS = { accept: "text/event-stream", "sec-fetch-site": "same-origin" };

function eventsOf(...parts: readonly string[]): string {
  return `/console/events?${new URLSearchParams(parts.map((part) => ["part", part]))}`;
}

interface Event {
  readonly part: string;
  readonly id: string;
  readonly data: string;
}

/** The events of a stream; iterating over them waits for them. */
async function* events(reply: Response): AsyncGenerator<Event, "ended"> {
  let event = { part: "", id: "", data: "" };
  for await (const line of linesOf(reply.body!)) {
    const [, field, value] = /^(\w+): (.*)$/.exec(line) ?? [];
    if (field === "event") event.part = value!;
    else if (field === "id") event.id = value!;
    else if (field === "data") event.data += value;
    else if (line === "" && event.part !== "") {
      yield event;
      event = { part: "", id: "", data: "" };
    }
  }
  return "ended";
}

/** The next event of a part in which a text is. */
async function nextOf(
  all: AsyncGenerator<Event, "ended">,
  part: string,
  text: RegExp,
): Promise<Event> {
  const found = async () => {
    for (let next = await all.next(); !next.done; next = await all.next()) {
      if (next.value.part === part && text.test(next.value.data)) return next.value;
    }
    return undefined;
  };
  const event = await inTime(found(), DEADLINE_MS, undefined);
  assert(event !== undefined, `no event of ${part}: ${text}`);
  return event;
}

async function open(
  browser: PlainBrowser,
  ...parts: readonly string[]
): Promise<AsyncGenerator<Event, "ended">> {
  const reply = await browser.get(eventsOf(...parts), EVENTS);
  assertEquals([reply.status, reply.headers.get("content-type")], [200, "text/event-stream"]);
  assertEquals(reply.headers.get("cache-control"), "no-store, no-transform");
  assertStringIncludes(reply.headers.get("content-security-policy")!, "default-src 'none'");
  return events(reply);
}

async function ended(all: AsyncGenerator<Event, "ended">): Promise<void> {
  const rest = async () => {
    while (!(await all.next()).done);
  };
  assertEquals(await inTime(rest(), DEADLINE_MS, "still open"), undefined);
}

Deno.test("operators' live pages: whole for browsers, their part again by the event stream", async () => {
  await using upstream = heldUpstream();
  await using gateway = await startGateway({ settings: upstream.settings });
  const operator = await signedIn(gateway, OWNER);
  const page = await (await operator.get(LIVE)).text();
  assertStringIncludes(page, `<div data-part="${LIVE}"`);
  const all = await open(operator, LIVE);
  await nextOf(all, LIVE, /No requests in flight/);
  const asked = gateway.chat("Hi", { model: "held-model" });
  const { data } = await nextOf(all, LIVE, /held-model/);
  assertMatch(data, /^<p class="quiet">1 request .*<\/table>/);
  await all.return("ended"); // disconnects
  upstream.release();
  assertEquals(await statusOf(asked), 200);
});

Deno.test("the message on a page is no part of the name by which it stays live", async () => {
  await using gateway = await startGateway();
  const browser = await signedIn(gateway, OWNER);
  const page = async (query: string) =>
    await (await browser.get(`/console/operator/upstreams${query}`)).text();
  assertStringIncludes(await page("?done=upstream"), 'data-part="/console/operator/upstreams"');
  assertStringIncludes(
    await page("?a=b&done=upstream"),
    'data-part="/console/operator/upstreams?a=b"',
  );
});

Deno.test("events are for the session's own account and for what it may see", async () => {
  await using gateway = await startGateway();
  const ada = await customer(gateway, 10);
  const user = await signedIn(gateway, ada.email);
  const operator = await signedIn(gateway, OWNER);
  await statusOf(operator.get(LIVE)); // the part is there, for the operator
  const status = (browser: PlainBrowser, path: string, headers: Record<string, string> = EVENTS) =>
    statusOf(browser.get(path, headers));
  assertEquals(await status(new PlainBrowser(gateway.url), eventsOf("balance")), 303);
  assertEquals(await status(user, eventsOf(LIVE)), 404);
  assertEquals(await status(user, eventsOf("balance", LIVE)), 404);
  assertEquals(await status(operator, eventsOf("/console/operator/upstreams")), 404); // not opened
  assertEquals(await status(user, eventsOf()), 400);
  for (const site of ["cross-site", "same-site"]) {
    const headers = { ...EVENTS, "sec-fetch-site": site };
    assertEquals(await status(user, eventsOf("balance"), headers), 403);
  }
  const headers = { accept: EVENTS.accept, origin: "https://elsewhere.example" };
  assertEquals(await status(user, eventsOf("balance"), headers), 403);
});

Deno.test("a part that was opened is nobody's any more when the role is gone", async () => {
  await using gateway = await startGateway();
  const { accounts } = gateway.gateway;
  const account = await accounts.create({ email: "operator@example.com", role: "operator" });
  const browser = await signedIn(gateway, account.email);
  await statusOf(browser.get(LIVE));
  const all = await open(browser, LIVE);
  await nextOf(all, LIVE, /No requests in flight/);
  await all.return("ended");
  await accounts.setRole(account.email, "none");
  assertEquals(await statusOf(browser.get(eventsOf(LIVE), EVENTS)), 404);
});

Deno.test("viewers of one page get what is rendered for their own account, once for all of its viewers", async () => {
  const source = new PageSource();
  const rendered: string[] = [];
  const got: [string, string][] = [];
  const ids = ["acc_a", "acc_b"];
  for (const id of ids) {
    source.offer(id, LIVE, {
      action: "live.read",
      everyMs: 1_000,
      render: ({ account }) => {
        rendered.push(account.id);
        return Promise.resolve(`page of ${account.id}`);
      },
    });
  }
  const viewers: Viewer[] = [...ids, "acc_a", "acc_without"].map((accountId) => ({
    accountId,
    session: { ...ROLE_NONE, account: { ...ROLE_NONE.account, id: accountId } },
    parts: new Set([LIVE]),
    seenMs: undefined,
    sent: new Map(),
    send: ({ html }) => got.push([accountId, html]),
  }));
  await source.tick(viewers);
  assertEquals(rendered, ids);
  assertEquals(got, ["acc_a", "acc_b", "acc_a"].map((id) => [id, `page of ${id}`]));
});

Deno.test("balance, today, requests and requests in flight of one account, without those of a thief", async () => {
  await using upstream = heldUpstream();
  await using gateway = await startGateway({ settings: upstream.settings });
  const [ada, eve] = [await customer(gateway, 100), await customer(gateway, 77)];
  const own = await open(
    await signedIn(gateway, ada.email),
    ...["balance", "today", "requests", "in-flight", "in-flight-words"],
  );
  const thief = await signedIn(gateway, eve.email);
  const stolen = await thief.get(
    `${
      eventsOf("balance", "today", "requests", "in-flight", "in-flight-words")
    }&account=${ada.accountId}`,
    { ...EVENTS, "last-event-id": "0" },
  );
  const seen: Event[] = [];
  const watching = (async () => {
    for await (const event of events(stolen)) seen.push(event);
  })();
  await nextOf(own, "balance", />100</);
  const asked = gateway.chat("Hi", { model: "held-model" }, { key: ada.keys[0]! });
  await nextOf(own, "in-flight", />1</);
  upstream.release();
  assertEquals(await statusOf(asked), 200);
  await nextOf(own, "in-flight", />0</); // a second before its row
  const id = (await nextOf(own, "requests", /<tr data-row="req_/)).data;
  assertStringIncludes(id, "held-model");
  await own.return("ended");
  // what she is sent of her own comes after all that there was of the other's
  const { accounts, sales } = gateway.gateway;
  await sales.grant(await accounts.get(eve.email), { credits: 11 });
  await until(() => seen.some(({ part, data }) => part === "balance" && data.includes(">88<")), {
    what: "the grant on the other stream",
  });
  await accounts.disable(eve.email);
  assertEquals(await inTime(watching, DEADLINE_MS, "goes on"), undefined);
  assert(seen.length > 0);
  for (const { part, data } of seen) {
    assert(part !== "requests" && !/req_|held-model|>100<|>1</.test(data), `${part} ${data}`);
  }
  assert(seen.some(({ part, data }) => part === "balance" && data.includes(">77<")));
});

Deno.test("a stream ends within seconds of its session, and of the role that it needs", async () => {
  await using gateway = await startGateway();
  const { accounts } = gateway.gateway;
  const operator = await signedIn(gateway, OWNER);
  await statusOf(operator.get(LIVE));
  const all = await open(operator, LIVE);
  await operator.post("/console/sign-out", {}, { from: LIVE });
  await ended(all);
  const helper = await accounts.create({ email: "helper@example.com", role: "operator" });
  const browser = await signedIn(gateway, helper.email);
  await statusOf(browser.get(LIVE));
  const [live, balance] = [await open(browser, LIVE), await open(browser, "balance")];
  await gateway.gateway.database.batch([{
    sql: "update accounts set role = 'none' where id = ?",
    args: [helper.id],
  }]);
  await ended(live);
  await nextOf(balance, "balance", /Balance/);
  await balance.return("ended");
});

Deno.test("streams hold up no stop", async () => {
  const gateway = await startGateway({ settings: { limits: { drainMs: 5 * DEADLINE_MS } } });
  const operator = await signedIn(gateway, OWNER);
  const all = await open(operator, "balance", "in-flight");
  await nextOf(all, "in-flight", />0</);
  // a stop that waited for the stream would wait for longer
  const stopped = Promise.resolve(gateway[Symbol.asyncDispose]());
  assertEquals(await inTime(stopped, DEADLINE_MS, "waits"), undefined);
  await ended(all);
});

Deno.test("a reload of the settings ends streams, and another is opened", async () => {
  await using gateway = await startGateway();
  const operator = await signedIn(gateway, OWNER);
  const all = await open(operator, "balance");
  await nextOf(all, "balance", /Balance/);
  assertEquals((await gateway.reload({ limits: { drainMs: 4_000 } })).fault, null);
  await ended(all);
  const again = await open(operator, "balance");
  await nextOf(again, "balance", /Balance/);
  await again.return("ended");
});

Deno.test("an account has up to ten streams; one that ends makes room", async () => {
  await using gateway = await startGateway();
  const browser = await signedIn(gateway, OWNER);
  const streams = [];
  for (let at = 0; at < 10; at++) streams.push(await open(browser, "balance"));
  const refused = await browser.get(eventsOf("balance"), EVENTS);
  assertEquals([refused.status, refused.headers.get("retry-after")], [429, "30"]);
  await refused.body?.cancel();
  const other = await signedIn(gateway, (await customer(gateway, 1)).email);
  streams.push(await open(other, "balance"));
  for (const one of streams) await nextOf(one, "balance", /Balance/);
  await streams[0]!.return("ended");
  await until(async () => {
    const reply = await browser.get(eventsOf("balance"), EVENTS);
    if (reply.status === 200) streams.push(events(reply));
    else await reply.body?.cancel();
    return reply.status === 200;
  }, { what: "room for another stream" });
  await nextOf(streams.at(-1)!, "balance", /Balance/);
  for (const one of streams) await one.return("ended");
});

Deno.test("what a page has seen is not sent again; one that comes back gets what it missed", async () => {
  await using gateway = await startGateway();
  const ada = await customer(gateway, 100);
  const ask = () => statusOf(gateway.chat("Hi", {}, { key: ada.keys[0]! }));
  await ask();
  const browser = await signedIn(gateway, ada.email);
  const rowsSince = async (headers: Record<string, string>, query = "") => {
    // what is in flight comes after the requests
    const path = `${eventsOf("requests", "in-flight")}${query}`;
    const all = events(await browser.get(path, { ...EVENTS, ...headers }));
    const rows = new Set<string>();
    for await (const { part, data } of all) {
      if (part === "in-flight") break;
      for (const [, id] of data.matchAll(/data-row="(\w+)"/g)) rows.add(id!);
    }
    return rows.size;
  };
  const later = Date.now() + 60_000;
  assertEquals(await rowsSince({}), 1);
  assertEquals(await rowsSince({}, `&seen=${later}`), 0);
  assertEquals(await rowsSince({ "last-event-id": String(later) }), 0);
  assertEquals(await rowsSince({ "last-event-id": "1" }, `&seen=${later}`), 1);
  assertEquals(await rowsSince({ "last-event-id": "nonsense" }), 1);
});

Deno.test("nothing runs while nobody looks, and many viewers cost one tick a second", async () => {
  const ticks: number[] = [];
  /** When sources or sessions were asked. */
  const asked: number[] = [];
  const closing = new AbortController();
  const streams = new LiveStreams({
    sessions: {
      findAll: () => {
        asked.push(Date.now());
        return Promise.resolve(new Map([["token", ROLE_NONE]]));
      },
    },
    log: { debug() {}, info() {}, warn() {}, error() {} },
    closing: closing.signal,
    base: new BasePath(undefined),
  }, [{
    tick: (viewers: readonly Viewer[]) => {
      ticks.push(viewers.length);
      asked.push(Date.now());
      for (const viewer of viewers) viewer.send({ part: "x", html: "a\nevent: y\r\rb" });
      return Promise.resolve();
    },
  }]);
  assert(streams.isIdle);
  const session = (id: number) => ({
    ...ROLE_NONE,
    account: { ...ROLE_NONE.account, id: `acc_${id}` },
  });
  const options = { token: "token", parts: new Set(["x"]), actions: [], seenMs: undefined };
  const bodies = Array.from(
    { length: 40 },
    (_, at) => streams.open({ ...options, session: session(at) })!,
  );
  await until(() => asked.length >= 4, { what: "four ticks" });
  assertEquals(ticks, ticks.map(() => 40), "a tick is for all viewers");
  for (const [at, ms] of asked.slice(1).entries()) {
    assert(ms - asked[at]! > 900, `ticks at ${asked}`);
  }
  const reader = bodies[0]!.getReader();
  const first = new TextDecoder().decode((await reader.read()).value);
  assertEquals(first, "retry: 2000\n\n");
  await reader.read(); // a comment
  assertEquals(
    new TextDecoder().decode((await reader.read()).value),
    "event: x\ndata: a\ndata: event: y\ndata: \ndata: b\n\n",
  );
  reader.releaseLock();
  for (const body of bodies) await body.cancel();
  assertEquals([streams.size, streams.isIdle], [0, true]);
  const before = ticks.length;
  await sleep(1_200);
  assertEquals(ticks.length, before);

  // who does not read is disconnected, instead of what waits for it growing
  const slow = streams.open({ ...options, session: session(1) })!;
  const big = new LiveStreams({
    sessions: { findAll: () => Promise.resolve(new Map([["token", ROLE_NONE]])) },
    log: { debug() {}, info() {}, warn() {}, error() {} },
    closing: closing.signal,
    base: new BasePath(undefined),
  }, [{
    tick: (viewers: readonly Viewer[]) => {
      for (let at = 0; at < 9; at++) {
        for (const viewer of viewers) viewer.send({ part: "x", html: "x".repeat(100_000) });
      }
      return Promise.resolve();
    },
  }]);
  const stuck = big.open({ ...options, session: session(1) })!;
  await until(() => big.size === 0, { what: "the end of the stream that nobody reads" });
  await stuck.cancel();
  closing.abort();
  assertEquals([streams.size, streams.isIdle], [0, true]);
  assertEquals(streams.open({ ...options, session: session(1) }), undefined);
  await slow.cancel();
});
