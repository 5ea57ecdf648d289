/** Which part of the gateway handles a request, by its method and path, and what each response has: the parts are the test's. */

import { App, type AppOptions, type AppParts } from "../../../src/doors/http/app.ts";
import { DatabaseError } from "../../../src/ground/database/mod.ts";
import { FairShare } from "../../../src/ground/fair_share/mod.ts";
import type { CoarseTimers } from "../../../src/ground/platform/mod.ts";
import { Refusal } from "../../../src/ground/refusal.ts";
import { NO_TRACING, SILENT } from "../../../src/ground/telemetry/mod.ts";
import { assert, assertEquals } from "../../assert.ts";
import { DEADLINE_MS } from "../../fake/temp.ts";

const LIMITS = {
  bodyBytes: 1_000_000,
  bodyDepth: 10,
  bodyValues: 100,
  bodyKeys: 10,
  bodyIdleMs: DEADLINE_MS,
  bodyMs: DEADLINE_MS,
  bodyMinBytesPerSecond: 1,
};
const PEER: Deno.Addr = { transport: "tcp", hostname: "10.0.0.1", port: 1_000 };
const APP = "https://app.example";

/** A gateway's door, and what came through it. */
function door(
  {
    isPressed = false,
    isFull = false,
    hasMemory = false,
    areLargeFull = false,
    identify,
    ...settings
  }: {
    readonly isPressed?: boolean;
    /** Whether requests to models are taken, and whether there is no more memory for large bodies. */
    readonly hasMemory?: boolean;
    readonly areLargeFull?: boolean;
    /** Whether there is no place for another connection, nor any figures. */
    readonly isFull?: boolean;
    readonly identify?: () => unknown;
    readonly publicUrl?: string;
    readonly signIn?: object;
  } = {},
) {
  const told: string[] = [];
  const logged: string[] = [];
  const thrown: string[] = [];
  const traced: string[] = [];
  const watched: (Deno.Addr | undefined)[] = [];
  const unbilled: [keyId: string, bytes: number][] = [];
  const timers = { after: () => () => {} } as unknown as CoarseTimers;
  const share = (capacity: number) =>
    new FairShare({ resource: "x", capacity, perAccount: capacity, waitMs: 0, timers });
  const places = { accounts: share(10), keys: share(10) };
  const memory = share(100_000);
  if (areLargeFull) memory.takeNow("other", 100_000);
  const caller = {
    accountId: "a",
    keyId: "k",
    scopes: new Set(["inference"]),
    tool: null,
    hasBudget: false,
    teamId: null,
  };
  const parts = {
    now: () => Date.UTC(2030, 0, 1),
    timers,
    keyRing: { identify: identify ?? (() => caller) },
    admission: { accountStatus: () => Promise.resolve({ balance: 7, windows: [] }) },
    metrics: { answeredError: (reason: string) => told.push(`error ${reason}`) },
    log: {
      ...SILENT,
      error(message: string, { error }: { error: string }) {
        logged.push(`error: ${message}`);
        thrown.push(error);
      },
      info: (message: string) => logged.push(`info: ${message}`),
    },
    pages: {
      fetch({ url }: Request, peer: string) {
        told.push(`page ${url} of ${peer}`);
        return Promise.resolve(new Response("page"));
      },
    },
    sockets: {
      open() {
        if (isFull) throw new Refusal("gateway_unavailable", "Too many connections.");
        told.push("socket");
        return new Response("socket");
      },
    },
    prove: () => Promise.resolve("proof"),
    catalog: () => ({ routes: [], aliases: [] }),
  } as unknown as AppParts;
  const options = {
    settings: { limits: LIMITS, cors: { origins: [APP] }, ...settings },
    tracing: {
      ...NO_TRACING,
      named(name: string) {
        traced.push(name);
        return { ...NO_TRACING.named(name), end: () => traced.push("end") };
      },
    },
    connections: { isPressed, occupy: () => () => {} },
    arrivals: {
      progressed: () => {},
      narrow: () => told.push("narrow"),
      endSoon: () => told.push("end soon"),
      watch(client: Deno.Addr | undefined) {
        watched.push(client);
        return { boundary: () => undefined, delivered: () => false, end() {} };
      },
    },
    large: { memory, turn: () => Promise.resolve() },
    openRequests: places,
    unbilledBytes: {
      waitMs: () => 0,
      add: (keyId: string, bytes: number) => unbilled.push([keyId, bytes]),
    },
    memory: {
      check() {
        if (!hasMemory) throw new Refusal("gateway_unavailable", "Short of memory.");
      },
    },
  } as unknown as AppOptions;
  const app = new App(parts, options);
  const ask = async (
    method: string,
    path: string,
    headers: Record<string, string> = {},
    peer: Deno.Addr | null = PEER,
  ) => {
    told.length = logged.length = 0;
    const request = new Request(`http://h${path}`, {
      method,
      headers: { host: "h", ...headers },
      ...(method === "POST" && { body: "{}" }),
    });
    const response = await app.fetch(request, peer === null ? undefined : { remoteAddr: peer });
    const text = await response.text();
    return { status: response.status, headers: response.headers, text, told: [...told] };
  };
  return { app, ask, told, logged, thrown, traced, watched, unbilled, places, caller };
}

const SOCKET = { upgrade: "WebSocket", "sec-websocket-version": "13", "x-api-key": "k" };
const MEMORY = ["error gateway_unavailable"];
const UNKNOWN = ["error path_unknown"];

Deno.test("each request gets to its part, by method and path (table)", async () => {
  const [plain, signedIn] = [door(), door({ signIn: {} })];
  for (
    const [method, path, headers, status, told] of [
      ["POST", "/v1/chat/completions", {}, 503, MEMORY],
      ["POST", "/v1/messages", {}, 503, MEMORY],
      ["POST", "/v1/responses", {}, 503, MEMORY],
      ["POST", "/v1/embeddings", {}, 503, MEMORY],
      ["GET", "/v1/chat/completions", {}, 404, UNKNOWN],
      ["GET", "/v1/embeddings", {}, 404, UNKNOWN],
      ["POST", "/v1/nothing", {}, 404, UNKNOWN],
      ["OPTIONS", "/v1/chat/completions", { origin: APP }, 204, []],
      ["OPTIONS", "/user/credits", {}, 204, []],
      ["OPTIONS", "/healthz", {}, 404, UNKNOWN],
      ["GET", "/healthz", {}, 200, []],
      ["PUT", "/v1/responses", {}, 404, UNKNOWN],
      ["GET", "/v1/responses", {}, 426, UNKNOWN],
      ["GET", "/v1/responses", { ...SOCKET, upgrade: "h2c" }, 426, UNKNOWN],
      ["GET", "/v1/responses", { ...SOCKET, "sec-websocket-version": "12" }, 426, []],
      ["GET", "/v1/responses", SOCKET, 200, ["socket"]],
      ["GET", "/v1/responses", { ...SOCKET, origin: APP }, 200, ["socket"]],
      ["GET", "/v1/responses", { ...SOCKET, origin: "https://evil.example" }, 403, [
        "error permission_denied",
      ]],
      ["GET", "/", {}, 200, ["page http://h/ of 10.0.0.1"]],
      ["GET", "/console/keys?a=1", {}, 200, ["page http://h/console/keys?a=1 of 10.0.0.1"]],
      ["GET", "/docs", {}, 200, ["page http://h/docs of 10.0.0.1"]],
      ["GET", "/docs/", {}, 200, ["page http://h/docs/ of 10.0.0.1"]],
      ["GET", "/console", {}, 200, ["page http://h/console of 10.0.0.1"]],
      ["GET", "/consoles", {}, 404, UNKNOWN],
      ["GET", "/admin/v1/accounts", {}, 200, ["page http://h/admin/v1/accounts of 10.0.0.1"]],
      ["GET", "/scim/v2/Users", {}, 404, UNKNOWN],
      ["POST", "/oauth/token", {}, 404, UNKNOWN],
      ["GET", "/api/oauth/usage", {}, 404, UNKNOWN],
      ["POST", "/v1/chat/completions", { "transfer-encoding": "chunked" }, 503, [
        "narrow",
        ...MEMORY,
      ]],
      ["POST", "/v1/chat/completions", { host: "x/y" }, 400, [
        "end soon",
        "error request_invalid",
      ]],
    ] as const
  ) {
    const what = `${method} ${path} ${JSON.stringify(headers)}`;
    const got = await plain.ask(method, path, headers as unknown as Record<string, string>);
    assertEquals([got.status, got.told], [status, [...told]], what);
  }
  for (
    const [method, path, isPage] of [
      ["GET", "/scim/v2/Users", true],
      ["POST", "/oauth/token", true],
      ["GET", "/admin/v1/accounts", true],
      ["GET", "/v1/models/x/y", false],
    ] as const
  ) {
    const { told } = await signedIn.ask(method, path);
    assertEquals(told.some((one) => one.startsWith("page ")), isPage, path);
  }
});

Deno.test("the endpoints that it names are those that it has, each with its method", () => {
  const all = door({ signIn: {} }).app.endpoints.map(({ method, path }) => `${method} ${path}`);
  for (
    const one of [
      "POST /v1/chat/completions",
      "GET /v1/responses",
      "GET /oauth/authorize",
      "POST /oauth/token",
      "patch /scim/v2/Users/{id}",
      "GET /managed/settings",
    ]
  ) {
    assert(all.includes(one), one);
  }
  const plain = door().app.endpoints.map(({ path }) => path);
  assert(!plain.includes("/managed/settings"), "it is for tools that are signed in");
});

Deno.test("while the gateway stops, requests to its API are refused, and what only looks at it is not", async () => {
  const { app, ask } = door({ signIn: {} });
  app.stopTaking();
  for (
    const [method, path, status] of [
      ["POST", "/v1/chat/completions", 503],
      ["GET", "/v1/models", 503],
      ["GET", "/user/credits", 503],
      ["GET", "/admin/v1/accounts", 503],
      ["GET", "/scim/v2/Users", 503],
      ["OPTIONS", "/v1/models", 204],
      ["GET", "/healthz", 200],
      ["GET", "/console/", 200],
    ] as const
  ) {
    const { status: said, headers } = await ask(method, path);
    assertEquals(said, status, path);
    if (said === 503) assertEquals(headers.get("retry-after"), "2");
  }
  const turn = new Request("http://h/v1/responses", { method: "POST", body: "{}" });
  const refused = await app.turn(turn, { remoteAddr: PEER }, { generates: true });
  assertEquals(refused.status, 503);
  assert((await refused.text()).includes("shutting down"));
});

Deno.test("below the path of the public URL pages are served, and what is for machines inside is not", async () => {
  const { ask } = door({ publicUrl: "https://x.example/gw" });
  assertEquals((await ask("GET", "/gw/console/")).told, ["page http://h/console/ of 10.0.0.1"]);
  assertEquals((await ask("GET", "/console/")).told, ["page http://h/console/ of 10.0.0.1"]);
  assertEquals((await ask("GET", "/gw/healthz")).status, 200);
  for (const path of ["/gw/metrics", "/gw/readyz"]) {
    assertEquals((await ask("GET", path)).told, UNKNOWN, path);
  }
  for (const [url, server] of [["https://x.example/gw", "/gw"], ["https://x.example", "/"]]) {
    const { text } = await door({ publicUrl: url! }).ask("GET", "/openapi.json");
    assertEquals(JSON.parse(text).servers, [{ url: server }]);
  }
});

Deno.test("models are listed for Codex if its version is asked with, and for all others", async () => {
  const { ask } = door();
  const of = async (query: string) => JSON.parse((await ask("GET", `/v1/models${query}`)).text);
  assertEquals(await of("?client_version=0.1"), { models: [] });
  assertEquals((await of("")).object, "list");
});

Deno.test("each response has the IDs of its request, what a browser may read, and whether its connection closes", async () => {
  const [plain, pressed] = [door(), door({ isPressed: true })];
  const mine = { "x-request-id": "mine-1", origin: APP };
  for (
    const [path, headers, id, origin] of [
      ["/v1/nothing", mine, "mine-1", APP],
      ["/v1/nothing", { "x-request-id": "a b" }, undefined, null],
      ["/healthzz", mine, "mine-1", null],
      ["/admin/v1/accounts", mine, "mine-1", null],
    ] as const
  ) {
    const got = await plain.ask("GET", path, headers as unknown as Record<string, string>);
    const own = got.headers.get("request-id");
    assert(/^req_/.test(own!), own!);
    assertEquals(got.headers.get("x-request-id"), id ?? own);
    assertEquals(got.headers.get("access-control-allow-origin"), origin, path);
    assertEquals(got.headers.get("connection"), null);
  }
  assertEquals((await pressed.ask("GET", "/v1/nothing")).headers.get("connection"), "close");
  const unix = { transport: "unix", path: "/s" } as Deno.Addr;
  for (const peer of [unix, null]) {
    assertEquals((await plain.ask("GET", "/", {}, peer)).told, ["page http://h/ of "]);
  }
  const bad = await plain.ask("GET", "/v1/models", { host: "" });
  assertEquals([bad.status, bad.headers.get("connection")], [400, "close"]);
});

Deno.test("an error tells Codex what its caller has, by headers of its own where it sends its requests, and nobody else", async () => {
  const { ask } = door({ isFull: true });
  for (
    const [path, originator, names] of [
      ["/v1/responses", "codex_exec", ["x-codex-credits-balance", "x-credits-remaining"]],
      ["/v1/responses", "other", ["x-credits-remaining"]],
      ["/user/credits", "codex_exec", ["x-credits-remaining"]],
    ] as const
  ) {
    const { headers } = await ask("GET", path, { ...SOCKET, originator });
    const found = ["x-codex-credits-balance", "x-credits-remaining"].filter((name) =>
      headers.get(name) === "7"
    );
    assertEquals(found, [...names], `${path} ${originator}`);
  }
});

Deno.test("only faults of the gateway's own are logged as errors (table)", async () => {
  const cause = new Error("why");
  for (
    const [error, status, expected] of [
      [new Refusal("key_invalid", "no"), 401, "info: request refused"],
      [new Refusal("request_invalid", "no", { cause }), 400, "info: request refused"],
      [new Refusal("gateway_unavailable", "wait"), 503, "info: request refused"],
      [new Refusal("gateway_unavailable", "wait", { cause }), 503, "error: request failed"],
      [new Refusal("upstream_unavailable", "no", { cause }), 503, "info: request refused"],
      [new TypeError("a bug"), 500, "error: request failed"],
      [new DatabaseError("SLUICE_AWAY", "away"), 503, "error: request failed"],
    ] as const
  ) {
    const { ask, logged, thrown } = door({
      identify() {
        throw error;
      },
    });
    const got = await ask("GET", "/v1/responses", SOCKET);
    assertEquals([got.status, logged], [status, [expected]], error.message);
    const isPlaced = thrown.every((text) => text.includes("app_doors_test"));
    assert(isPlaced, `where it was thrown: ${thrown}`);
  }
});

Deno.test("a gateway is idle when no request is in progress, those whose key is looked up included", async () => {
  const waiting: (() => void)[] = [];
  const one = door({
    hasMemory: true,
    identify: () =>
      new Promise((_, reject) => waiting.push(() => reject(new Refusal("key_invalid", "no")))),
  });
  await one.app.idle();
  const asked = [1, 2].map(() => one.ask("POST", "/v1/chat/completions"));
  let isIdle = false;
  const idle = one.app.idle().then(() => isIdle = true);
  waiting[0]!();
  await asked[0];
  assertEquals(isIdle, false, "the other is in progress");
  waiting[1]!();
  await Promise.all([asked[1], idle]);
  await one.app.idle();
});

Deno.test("bytes of what is rejected, and of what is not to be replied to, count for the key; what the gateway lacks does not (table)", async () => {
  const WHOLE = '{"model":"m"}';
  for (
    const [body, generates, isTurn, expected] of [
      ["{", true, false, [1]],
      [WHOLE, true, false, [WHOLE.length]], // which fails for want of a catalog
      ["{", true, true, [1]],
      [WHOLE, false, true, [WHOLE.length, WHOLE.length]],
      ["x".repeat(70_000), true, false, []], // for which there is no memory
    ] as const
  ) {
    const one = door({ hasMemory: true, areLargeFull: true });
    const path = isTurn ? "/v1/responses" : "/v1/chat/completions";
    // in pieces, so that its connection is watched
    const request = new Request(`http://h${path}`, {
      method: "POST",
      headers: { host: "h", "x-api-key": "k" },
      body: ReadableStream.from([new TextEncoder().encode(body)]),
    });
    const info = { remoteAddr: PEER };
    const response = isTurn
      ? await one.app.turn(request, info, { generates })
      : await one.app.fetch(request, info);
    await response.body?.cancel();
    const what = `${body.slice(0, 20)} ${generates} ${isTurn}`;
    assertEquals(one.unbilled, expected.map((bytes) => ["k", bytes]), what);
    assertEquals([one.places.keys.used, one.places.accounts.used], [0, 0], what);
    assertEquals(one.watched, [isTurn ? undefined : PEER], what);
    assertEquals(one.traced, isTurn ? ["turn /v1/responses", "end"] : [`POST ${path}`], what);
  }
});
