/** The operator's API before an operation runs: what bodies and queries it takes, and how its errors look. No database is there. */

import { Admin, type AdminParts } from "../../../src/doors/http/admin.ts";
import { DatabaseError } from "../../../src/ground/database/mod.ts";
import { RateLimit } from "../../../src/ground/rate_limits/mod.ts";
import { Refusal } from "../../../src/ground/refusal.ts";
import { SILENT } from "../../../src/ground/telemetry/mod.ts";
import { OperationError } from "../../../src/people/operation_log/mod.ts";
import { assert, assertEquals } from "../../assert.ts";

type Reply = Awaited<ReturnType<ReturnType<typeof api>["ask"]>>;

/** An API of which an owner has a key. */
function api(identify: () => unknown = () => ({ accountId: "a", keyId: "k" })) {
  const logged: string[] = [];
  const owner = { id: "a", role: "owner", disabledAtMs: null, email: "owner@localhost" };
  const key = { id: "k", scopes: ["admin"], revokedAtMs: null };
  const admin = new Admin({
    operations: {
      config: { settings: { trustedProxies: [] } },
      accounts: { byId: () => Promise.resolve(owner) },
      keys: { byId: () => Promise.resolve(key) },
    },
    readFor: (_account: string, read: () => Promise<unknown>) => read(),
    keyRing: { identify },
    rate: new RateLimit({ limit: 1_000, windowMs: 60_000, now: () => 0 }),
    log: {
      ...SILENT,
      error: (message: string) => logged.push(`error: ${message}`),
      info: (message: string) => logged.push(`info: ${message}`),
    },
  } as unknown as AdminParts);
  return {
    logged,
    async ask(
      method: string,
      path: string,
      { body, headers = {} }: { body?: BodyInit; headers?: Record<string, string> } = {},
    ) {
      logged.length = 0;
      const request = new Request(`http://h/admin/v1${path}`, {
        method,
        headers: { "x-api-key": "k", ...headers },
        ...(body !== undefined && { body }),
      });
      const reply = await admin.fetch(request, "10.0.0.1");
      const { error } = await reply.json();
      return { status: reply.status, headers: reply.headers, error };
    },
  };
}

Deno.test("a body is a JSON object or none, and says nothing that the path says; a query says each name once (table)", async () => {
  const { ask } = api();
  const post = (body?: BodyInit, headers?: Record<string, string>) =>
    ask("POST", "/accounts", { ...(body !== undefined && { body }), ...(headers && { headers }) });
  // which gets as far as its operation, that has no database here
  const fields = { status: 500, param: null, says: "Internal error" };
  for (
    const [reply, expected] of [
      [post(), fields],
      [post(""), fields],
      [post(" \n"), fields],
      [post("{}"), fields],
      [post("{}", { "content-encoding": "Identity" }), fields],
      [post("{}", { "idempotency-key": "x".repeat(255) }), fields],
      [ask("GET", "/accounts?limit=1&after=x"), fields],
      [post("{}", { "idempotency-key": "" }), { param: "Idempotency-Key", says: "1 to 255" }],
      [post("{}", { "idempotency-key": "x".repeat(256) }), {
        param: "Idempotency-Key",
        says: "1 to 255",
      }],
      [post("{}", { "content-encoding": "gzip" }), { param: null, says: "Compressed" }],
      [post("{"), { param: null, says: "not valid JSON" }],
      [post("[]"), { param: null, says: "must be a JSON object" }],
      [post("null"), { param: null, says: "must be a JSON object" }],
      [post("7"), { param: null, says: "must be a JSON object" }],
      [post("x".repeat(262_145)), { param: null, says: "too large: the limit is 256 KiB" }],
      [
        ask("POST", "/accounts/ada/disable", { body: '{"account":"bob"}' }),
        { param: "account", says: "is part of the path" },
      ],
      [ask("GET", "/accounts?limit=1&limit=2"), { param: "limit", says: "was sent twice" }],
    ] as readonly [Promise<Reply>, { status?: number; param: string | null; says: string }][]
  ) {
    const { status, error } = await reply;
    const { status: as = 400, param, says } = expected;
    assertEquals([status, error.param ?? null], [as, param], error.message);
    assert(error.message.includes(says), error.message);
  }
  const { status, error } = await ask("GET", "/nothing");
  assertEquals([status, error.message.includes("GET /admin/v1/nothing")], [404, true]);
});

Deno.test("an error says whether and when to try again, and is logged as one only if it is the gateway's own (table)", async () => {
  const cause = new Error("why");
  for (
    const [error, status, wait, retry, logged] of [
      [new Refusal("key_invalid", "no"), 401, null, "false", "info"],
      [new Refusal("rate_exceeded", "no", { retryAfterMs: 1_500 }), 429, "2", null, "info"],
      [new Refusal("rate_exceeded", "no", { retryAfterMs: 0 }), 429, "1", null, "info"],
      [new Refusal("gateway_unavailable", "no"), 503, null, null, "info"],
      [new Refusal("gateway_unavailable", "no", { cause }), 503, null, null, "error"],
      [new DatabaseError("SLUICE_AWAY", "away"), 503, "2", null, "error"],
      [new TypeError("a bug"), 500, null, null, "error"],
      [new OperationError("permission_denied", "no"), 403, null, "false", "info"],
      [new OperationError("in_progress", "no", { retryAfterMs: 1 }), 409, "1", null, "info"],
    ] as const
  ) {
    const one = api(() => {
      throw error;
    });
    const got = await one.ask("GET", "/accounts");
    assertEquals(
      [got.status, got.headers.get("retry-after"), got.headers.get("x-should-retry")],
      [status, wait, retry],
      error.message,
    );
    assertEquals(got.headers.get("cache-control"), "no-store");
    assertEquals(one.logged.map((line) => line.split(":")[0]), [logged], error.message);
    assertEquals(typeof got.error.message, "string");
  }
});
