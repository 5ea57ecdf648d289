/** What a request must have before it is let in: a host, one framing, a key, and what the key's account may do. */

import { Callers } from "../../../src/doors/http/callers.ts";
import { framingFault, presentedKeys, sameSecret } from "../../../src/doors/http/guard.ts";
import { keyFor } from "../../../src/doors/http/key_for.ts";
import { openRequestsFor } from "../../../src/doors/http/open_requests_limit.ts";
import { type Peer, peerFrom, peerOf, portOf } from "../../../src/doors/http/peer.ts";
import { takePlace } from "../../../src/doors/http/places.ts";
import { checkQuota } from "../../../src/doors/http/quota.ts";
import type { RequestState } from "../../../src/doors/http/request_state.ts";
import { FairShare } from "../../../src/ground/fair_share/mod.ts";
import { CoarseTimers } from "../../../src/ground/platform/mod.ts";
import { RateLimit } from "../../../src/ground/rate_limits/mod.ts";
import { Refusal } from "../../../src/ground/refusal.ts";
import {
  type Account,
  AccountDisabled,
  type Caller,
  CLAUDE_CODE,
  type Key,
  type Scope,
} from "../../../src/people/accounts/mod.ts";
import { OperationError } from "../../../src/people/operation_log/mod.ts";
import { assert, assertEquals, assertRejects, assertThrows } from "../../assert.ts";

Deno.test("a request has a host, unless it is a balancer's, and one framing that is known (table)", () => {
  for (
    const [headers, path, fault] of [
      [{ host: "h" }, "/v1/models", undefined],
      [{ host: "h:8787" }, "/", undefined],
      [{ host: "[::1]:8787" }, "/", undefined],
      [{}, "/v1/models", /Host/],
      [{}, "/healthz", undefined],
      [{}, "/readyz", undefined],
      [{}, "/metrics", undefined],
      [{ host: "x/admin?" }, "/healthz", /Host/],
      [{ host: "" }, "/healthz", /Host/],
      [{ host: "h:123456" }, "/", /Host/],
      [{ host: "h", "transfer-encoding": "chunked" }, "/", undefined],
      [{ host: "h", "transfer-encoding": " Chunked " }, "/", undefined],
      [{ host: "h", "transfer-encoding": "gzip" }, "/", /Unsupported Transfer-Encoding/],
      [{ host: "h", "transfer-encoding": "chunked", "content-length": "1" }, "/", /both sent/],
      [{ host: "h", "content-length": "1" }, "/", undefined],
    ] as const
  ) {
    const found = framingFault(new Headers(headers as Record<string, string>), path);
    assertEquals(found === undefined, fault === undefined, JSON.stringify([headers, path]));
    assert(fault === undefined || fault.test(found!), found);
  }
});

Deno.test("keys come as bearer tokens, bare, or in X-API-Key, in this order; empty ones are none (table)", () => {
  for (
    const [headers, keys] of [
      [{}, []],
      [{ authorization: "Bearer a" }, ["a"]],
      [{ authorization: "bearer   a  " }, ["a"]],
      [{ authorization: "a" }, ["a"]],
      [{ authorization: "Basic YTpi" }, ["Basic YTpi"]],
      [{ "x-api-key": " b " }, ["b"]],
      [{ "x-api-key": "" }, []],
      [{ authorization: "Bearer a", "x-api-key": "b" }, ["a", "b"]],
    ] as const
  ) {
    assertEquals(presentedKeys(new Headers(headers as Record<string, string>)), [...keys]);
  }
  assertEquals([sameSecret("a", "a"), sameSecret("a", "b"), sameSecret("a", "aa")], [
    true,
    false,
    false,
  ]);
});

/** A minute's limit by a clock that stands still. */
function limitOf(limit: number): RateLimit {
  return new RateLimit({ limit, windowMs: 60_000, now: () => 1_000_000 });
}

Deno.test("a key may do what its scopes and its account's role allow, as they are now, and so often (table)", async () => {
  const account = { id: "a", role: "owner", disabledAtMs: null } as unknown as Account;
  const key = { id: "k", scopes: ["admin"], revokedAtMs: null } as unknown as Key;
  const scim = { ...key, scopes: ["scim"] };
  const all = { ...key, scopes: ["inference", "read"] };
  const cases: readonly (readonly [
    what: string,
    account: object | undefined,
    key: object | undefined,
    scopes: readonly Scope[],
    expected: RegExp | undefined,
  ])[] = [
    ["it may", account, key, ["admin"], undefined],
    ["by one of its scopes", account, all, ["admin", "read"], undefined],
    ["by a directory's scope", account, scim, ["scim"], undefined],
    ["no account", undefined, key, ["admin"], /key_invalid: .*revoked/],
    ["no key", account, undefined, ["admin"], /key_invalid: .*revoked/],
    ["revoked", account, { ...key, revokedAtMs: 0 }, ["admin"], /key_invalid: .*revoked/],
    ["disabled", { ...account, disabledAtMs: 0 }, key, ["admin"], /permission_denied: .*disabled/],
    ["no such scope", account, key, ["read", "scim"], /the scope 'read' or 'scim': it has admin/],
    ["inference is for models", account, all, ["inference"], /does not have the scope/],
    ["no such role", { ...account, role: "none" }, key, ["admin"], /The role 'none'/],
    ["a role for less", { ...account, role: "finance" }, key, ["admin"], /The role 'finance'/],
    ["a role for that", { ...account, role: "finance" }, all, ["read"], undefined],
  ];
  const ask = async (
    [, account, key, scopes]: typeof cases[number],
    rate = limitOf(100),
    rateOf?: string,
  ) => {
    const options = {
      scopes,
      rate,
      keyRing: { identify: () => ({ accountId: "a", keyId: "k" }) },
      accounts: { byId: (id: string) => Promise.resolve(id === "a" ? account : undefined) },
      keys: { byId: (id: string) => Promise.resolve(id === "k" ? key : undefined) },
      ...(rateOf === undefined ? {} : { rateOf }),
    } as unknown as Parameters<typeof keyFor>[1];
    return await keyFor(new Request("http://h", { headers: { "x-api-key": "k" } }), options).then(
      (found) => (assertEquals(found, { account, key } as never), undefined),
      (error) => {
        if (error instanceof Refusal) return `${error.reason}: ${error.message}`;
        if (!(error instanceof OperationError)) throw error;
        return `${error.code}: ${error.message}`;
      },
    );
  };
  for (const one of cases) {
    const [what, , , , expected] = one;
    const said = await ask(one);
    assertEquals(said === undefined, expected === undefined, `${what}: ${said}`);
    assert(expected === undefined || expected.test(said!), `${what}: ${said}`);
  }
  const rate = limitOf(2);
  const [allowed] = cases;
  assertEquals([await ask(allowed!, rate), await ask(allowed!, rate)], [undefined, undefined]);
  assert(/^rate_exceeded: .* 2 per minute/.test(await ask(allowed!, rate) ?? ""));
  assertEquals(await ask(allowed!, rate, "scim "), undefined, "counted apart");
});

Deno.test("whose key a request came with is noted also if it may not be used; a balance only for who is shown it", async () => {
  const caller = (more: Partial<Caller> = {}) =>
    ({
      accountId: "a",
      keyId: "k",
      scopes: new Set(["inference"]),
      tool: null,
      hasBudget: false,
      teamId: null,
      disabledAtMs: null,
      ...more,
    }) as unknown as Caller;
  const stateOf = (): RequestState => ({ headers: { own: "1" } }) as unknown as RequestState;
  const callersOf = (found: () => Caller) => {
    const parts = {
      keyRing: { identify: found },
      admission: { accountStatus: () => Promise.resolve({ balance: 7, windows: [] }) },
      now: () => 0,
    } as unknown as ConstructorParameters<typeof Callers>[0];
    return new Callers(parts, { of: () => "granted" as never });
  };
  const request = new Request("http://h", { headers: { "x-api-key": "k" } });

  for (
    const [scopes, isLetIn] of [
      [["inference"], true],
      [["admin"], true],
      [["scim"], false],
      [["scim", "inference"], true],
      [["scim", "admin"], true],
    ] as const
  ) {
    const state = stateOf();
    const one = caller({ scopes: new Set(scopes) });
    const identified = callersOf(() => one).identify(request, state);
    if (isLetIn) assertEquals(await identified, one);
    else assertEquals((await assertRejects(() => identified, Refusal)).reason, "permission_denied");
    assertEquals(state.caller, isLetIn ? one : undefined, scopes.join());
  }
  for (
    const [more, isShown] of [
      [{ tool: CLAUDE_CODE }, true],
      [{ tool: CLAUDE_CODE, hasBudget: true }, false],
      [{ tool: CLAUDE_CODE, teamId: "t" }, false],
      [{ tool: "codex" }, false],
      [{}, false],
    ] as const
  ) {
    const state = stateOf();
    await callersOf(() => caller(more)).identify(request, state);
    assertEquals(state.granted !== undefined, isShown, JSON.stringify(more));
  }
  const disabled = caller({ disabledAtMs: 1 });
  for (
    const [error, noted] of [
      [new AccountDisabled(disabled), disabled],
      [new Refusal("key_invalid", ""), undefined],
    ] as const
  ) {
    const state = stateOf();
    const callers = callersOf(() => {
      throw error;
    });
    await assertRejects(() => callers.identify(request, state), Refusal);
    assertEquals(state.caller, noted);
    // what is public is so for a bad key, too
    const headers = await callers.publicHeaders(request, stateOf());
    assertEquals(headers["x-credits-remaining"], noted === undefined ? undefined : "7");
  }
  let asked = 0;
  const callers = callersOf(() => (asked++, caller()));
  assertEquals(await callers.publicHeaders(new Request("http://h"), stateOf()), { own: "1" });
  assertEquals(asked, 0);
  const headers = await callers.publicHeaders(request, stateOf());
  assertEquals([headers.own, headers["x-credits-remaining"], asked], ["1", "7", 1]);
});

Deno.test("a peer is a port and an IP address, however the platform writes it (table)", () => {
  const at = (hostname: string): Deno.Addr => ({ transport: "tcp", hostname, port: 80 });
  for (
    const [address, peer] of [
      [undefined, undefined],
      [{ transport: "unix", path: "/s" } as Deno.Addr, undefined],
      [at("10.0.0.1"), "80 10.0.0.1"],
      [at("::ffff:10.0.0.1"), "80 10.0.0.1"],
      [at("::1"), `80 ${"0.".repeat(15)}1`],
      [at("::fffe:a00:1"), `80 ${"0.".repeat(10)}255.254.10.0.0.1`],
      [at("0:0:0:0:1:ffff:a00:1"), `80 ${"0.".repeat(9)}1.255.255.10.0.0.1`],
      [at("localhost"), undefined],
    ] as readonly (readonly [Deno.Addr | undefined, Peer | undefined])[]
  ) {
    assertEquals(peerFrom(address), peer);
  }
  assertEquals(peerOf(1, new Uint8Array(4)), "1 0.0.0.0", "which begins as a mapped one does");
  assertEquals(portOf("8787 10.0.0.1"), 8_787);
});

Deno.test("places: the key's is given back if its account has none, all once, and the connection with them", () => {
  const timers = new CoarseTimers();
  const share = (capacity: number) =>
    new FairShare({ resource: "x", capacity, perAccount: capacity, waitMs: 0, timers });
  const occupied = new Set<Deno.Addr>();
  const connections = {
    occupy(peer: Deno.Addr) {
      occupied.add(peer);
      return () => void occupied.delete(peer);
    },
  };
  const peer: Deno.Addr = { transport: "tcp", hostname: "10.0.0.1", port: 1 };
  for (const at of [peer, undefined]) {
    const places = { accounts: share(1), keys: share(2) };
    const caller = { accountId: "a", keyId: "k" };
    let released = 0;
    const take = () =>
      takePlace(caller, places, { peer: at, connections, released: () => released++ });
    const over = take();
    assertEquals([occupied.size, places.keys.used], [at === undefined ? 0 : 1, 1]);
    assertThrows(take, Refusal);
    assertEquals([occupied.size, places.keys.used], [at === undefined ? 0 : 1, 1]);
    over();
    const next = take();
    over(); // it was given back, and is the next one's by now
    assertEquals([released, places.accounts.used, places.keys.used], [1, 1, 1]);
    next();
    assertEquals([released, places.accounts.used, places.keys.used, occupied.size], [2, 0, 0, 0]);
  }
  timers.close();
});

Deno.test("quotas are of a key and a minute; open requests are as many as there are descriptors for", () => {
  const quota = limitOf(10);
  checkQuota(quota, "k", "bytes");
  quota.add("k", 10);
  const { reason, retryAfterMs = 0, message } = assertThrows(
    () => checkQuota(quota, "k", "bytes"),
    Refusal,
  );
  assertEquals([reason, message.includes("Too many bytes: the limit is 10 per minute")], [
    "rate_exceeded",
    true,
  ]);
  assert(retryAfterMs > 0);
  checkQuota(quota, "other", "bytes");
  for (
    const [descriptors, requests] of [
      [undefined, 16_384],
      [1_000_000, 16_384],
      [1_128, 500],
      [1_129, 500],
      [160, 16],
      [0, 16],
    ] as const
  ) {
    assertEquals(openRequestsFor(descriptors), requests, `${descriptors}`);
  }
});
