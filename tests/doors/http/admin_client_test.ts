/** A client made from `/openapi.json`: it knows nothing of the operator's API but the document. */

import { Ajv2020 } from "ajv/dist/2020.js";
import { OPERATIONS } from "../../../src/operating/operations/mod.ts";
import { assert, assertEquals } from "../../assert.ts";
import { type AdminReply, contentOf, ownersClient } from "../../fake/admin_client.ts";
import { alertReceiver } from "../../fake/alert_receiver.ts";
import { startGateway, statusOf, type TestGateway } from "../../fake/gateway.ts";
import { lendToGone, possible } from "../../fake/ledger.ts";
import { sized } from "../../tier.ts";
import { fakeStripe } from "../../money/payments/fake_stripe.ts";
import { shopSettings } from "../../money/payments/shop.ts";

interface Schema {
  readonly type?: string | readonly string[];
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly Schema[];
  readonly format?: string;
  readonly minimum?: number;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly minItems?: number;
  readonly default?: unknown;
}

interface Parameter {
  readonly name: string;
  readonly in: "path" | "query" | "header";
  readonly required: boolean;
  readonly schema: Schema;
}

interface Described {
  readonly operationId: string;
  readonly parameters: readonly Parameter[];
  readonly requestBody?: { readonly content: { readonly "application/json": { schema: Schema } } };
  readonly responses: Readonly<
    Record<string, { content: { "application/json": { schema: object } } }>
  >;
}

/** What names mean: the things that the test has made. */
type Known = Readonly<Record<string, unknown>>;

/** A value that a schema allows: what is known of its name, else the least that is valid. */
function valueOf(schema: Schema, known: unknown): unknown {
  if (known !== undefined) return known;
  if (schema.const !== undefined) return schema.const;
  if (schema.enum !== undefined) return schema.enum[0];
  if (schema.anyOf !== undefined) return valueOf(schema.anyOf[0]!, undefined);
  const type = Array.isArray(schema.type) ? schema.type[0] : schema.type;
  switch (type) {
    case "string":
      return schema.format === "date-time" ? "2099-01-01T00:00:00Z" : "x";
    case "integer":
    case "number":
      return Math.max(schema.minimum ?? 1, 1);
    case "boolean":
      return true;
    case "array":
      return schema.items === undefined || (schema.minItems ?? 0) === 0
        ? []
        : [valueOf(schema.items, undefined)];
    default:
      return objectOf(schema, {});
  }
}

/** An object with what a schema requires, and what is known of the rest. */
function objectOf({ properties = {}, required = [] }: Schema, known: Known) {
  return Object.fromEntries(
    Object.entries(properties)
      .filter(([name]) => required.includes(name) || known[name] !== undefined)
      .map(([name, schema]) => [name, valueOf(schema, known[name])]),
  );
}

/** Builds a valid request of an operation from its description. */
function requestOf(path: string, { parameters, requestBody }: Described, known: Known) {
  let at = path.replace("/admin/v1", "");
  const query = new URLSearchParams();
  for (const { name, in: place, required, schema } of parameters) {
    const value = known[name] ?? (required ? valueOf(schema, undefined) : undefined);
    if (value === undefined || place === "header") continue;
    if (place === "path") at = at.replace(`{${name}}`, encodeURIComponent(String(value)));
    else query.set(name, String(value));
  }
  const schema = requestBody?.content["application/json"].schema;
  return {
    path: query.size === 0 ? at : `${at}?${query}`,
    body: schema === undefined ? undefined : objectOf(schema, known),
  };
}

async function documentOf({ url }: TestGateway) {
  const { paths, components } = await (await fetch(`${url}/openapi.json`)).json();
  const all = Object.entries(paths as Record<string, Record<string, Described>>)
    .filter(([path]) => path.startsWith("/admin/v1"))
    .flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, described]) =>
        [described.operationId, { path, method: method.toUpperCase(), described }] as const
      )
    );
  return { operations: new Map(all), components };
}

for (const kind of possible(["file", ...sized<"postgres"[]>([], ["postgres"])])) {
  Deno.test(`a client made from openapi.json drives the whole API; what is repeated changes nothing (${kind})`, async () => {
    await using receiver = await alertReceiver();
    await using stripe = fakeStripe();
    await using gateway = await startGateway({
      database: kind,
      lendFrom: 1e9,
      settings: {
        payments: shopSettings(stripe).payments,
        upstreams: { gone: { url: "http://127.0.0.1:9/v1", key: "x" } },
        routes: { "svc-k2": { targets: [{ upstream: "simulator", model: "svc-k2" }] } },
        alerts: {
          receivers: { hook: { kind: "webhook", url: receiver.url, secret: "s".repeat(32) } },
          allowPrivateHosts: [new URL(receiver.url).host],
        },
      },
    });
    const { database } = gateway.gateway;
    const client = await ownersClient(gateway);
    const { operations, components } = await documentOf(gateway);
    assertEquals(operations.size, OPERATIONS.length);
    const ajv = new Ajv2020({ strict: false, validateFormats: false });
    ajv.addSchema({ $id: "doc", components });
    const left = new Set(operations.keys());
    let number = 0;

    const call = async (operationId: string, known: Known = {}): Promise<AdminReply["json"]> => {
      left.delete(operationId);
      const found = operations.get(operationId);
      assert(found !== undefined, operationId);
      const { path, method, described } = found;
      const request = requestOf(path, described, known);
      const once = method === "GET" ? undefined : `key ${++number}`;
      const send = () =>
        client(method, request.path, { body: request.body, ...(once && { once }) });
      const reply = await send();
      const status = Object.keys(described.responses)[0]!;
      assertEquals(String(reply.status), status, `${operationId}: ${reply.text}`);
      const { schema } = described.responses[status]!.content["application/json"];
      const isValid = ajv.validate(schema, reply.json);
      assert(isValid, `${operationId}: ${ajv.errorsText()}: ${reply.text}`);
      const isPaged = described.parameters.some(({ name }) => name === "after");
      if (isPaged) await walk(request.path, (reply.json as AdminReply["json"]).data);
      if (once === undefined) return reply.json;
      const before = await contentOf(database);
      const again = await send();
      assertEquals([again.status, again.text], [reply.status, reply.text], operationId);
      assertEquals(await contentOf(database), before, operationId);
      return reply.json;
    };

    /** Every list is the same in pages, of which the last says so; and nothing is behind a cursor that is none. */
    const walk = async (path: string, all: readonly unknown[]) => {
      const { pathname, searchParams } = new URL(path, gateway.url);
      const get = async (after: string | null) => {
        searchParams.set("limit", String(Math.max(1, Math.ceil(all.length / 4))));
        if (after !== null) searchParams.set("after", after);
        return await client("GET", `${pathname}?${searchParams}`);
      };
      const seen: unknown[] = [];
      let after: string | null = null;
      do {
        const { status, json, text }: AdminReply = await get(after);
        assertEquals([status, json.has_more], [200, json.next !== null], `${path}: ${text}`);
        assert(json.data.length > 0 || all.length === 0, path);
        seen.push(...json.data);
        after = json.next;
      } while (after !== null);
      assertEquals(seen, all.slice(), path);
    };

    const email = "ada@example.com";
    const { id: account } = await call("accountCreate", { email, name: "Ada" });
    await call("accountCreate", { email: "bob@example.com" });
    await call("accountList", { search: "ada" });
    await call("accountGet", { account });
    await call("accountUpdate", { account: email, name: "Ada L." });
    await call("accountRole", { account, role: "finance" });
    await call("accountDisable", { account });
    await call("accountEnable", { account });
    await call("accountLink", { account });
    await call("inviteList");
    const { id: team } = await call("teamCreate", { name: "Platform" });
    await call("teamList");
    await call("teamUpdate", { team, models: ["svc-k2"] });
    await call("teamDisable", { team });
    await call("teamEnable", { team });
    await call("teamGet", { team });
    await call("memberAdd", { team, account });
    await call("memberRole", { team, account, role: "lead" });
    await call("memberStop", { team, account });
    await call("memberStart", { team, account });
    const { lot } = await call("creditsGrant", { team, credits: 500, note: "for tests" });
    const { id: key, key: secret } = await call("keyCreate", {
      team,
      member: account,
      budgets: [{ period: "month", credits: 20 }],
    });
    assertEquals(await statusOf(gateway.chat("Hi", {}, { key: secret })), 200);
    await call("memberList", { team });
    await call("keyList", { team });
    await call("keyGet", { key });
    await call("keyUpdate", { key, name: "laptop" });
    await call("keyRotate", { key, keep_seconds: 60 });
    const owner = { owner: "member", owner_id: `${team}:${account}` };
    const { id: budget } = await call("budgetSet", { ...owner, period: "day", credits: 9 });
    await call("budgetRaise", { budget, credits: 4, until: "2099-01-01T00:00:00Z" });
    await call("budgetList", owner);
    const own = { team, upstream: "gone", key: "sk-own-0123456789abcdefghij", test: false };
    const { id: upstreamKey } = await call("upstreamKeySet", own);
    await call("upstreamKeyList", { team });
    await call("upstreamKeyRemove", { upstream_key: upstreamKey });
    await call("teamOwnKeys", { team, use: "last" });
    await call("budgetRemove", { budget });
    await call("keyRevoke", { key });
    await call("memberRemove", { team, account });
    await call("creditsSell", { account, package: "starter", paid: true });
    const { id: order } = await call("orderCreate", { team, package: "starter" });
    await call("orderList", { team });
    stripe.pay([...stripe.sessions.keys()][0]!);
    await call("orderReconcile", { order });
    await call("orderRefund", { order, amount: 100 });
    await call("orderDismiss", { order });
    await call("paymentsReconcile");
    await call("orderGet", { order });
    const { codes: [code] } = await call("codeCreate", { package: "starter", count: 2 });
    await call("codeList");
    await call("codeRevoke", { code: code.id });
    await call("creditsTakeBack", { team, lot, credits: 5, note: "too many" });
    await call("creditsGet", { team });
    await call("entryList", { team });
    assertEquals((await client("GET", `/credits/entries?team=${team}&after=1~2`)).status, 400);
    await call("usageReport", {
      team,
      by: "member,model",
      since: "30d",
      compare: "true",
      top: "3",
    });
    const { data: [request] } = await call("requestList");
    await call("requestGet", { request: request.id });
    await call("routeList");
    await call("upstreamList");
    await call("upstreamTest", { upstream: "gone" });
    await call("settingList");
    await lendToGone(database, account);
    await call("loanList");
    await call("loanWriteOff", { gateway: "gw_gone" });
    await call("auditRun");
    await call("alertList");
    await call("alertRead", { up_to: "2026-01-01T00:00:00Z" });
    await call("alertTest");
    await call("alertRetry");
    const { data } = await call("logList", { limit: 500 });
    assertEquals([...left], []);
    // one row for each write, and no secret in any
    assertEquals(data.length, number);
    assertEquals(
      new Set(data.map(({ outcome }: { outcome: string }) => outcome)),
      new Set(["done"]),
    );
    assert(!/sk-[A-Za-z0-9]{20}|console\/link|([A-Z2-9]{4}-){3}/.test(JSON.stringify(data)));
    const dump = await database.all("select * from operation_requests");
    assert(!JSON.stringify(dump).includes(secret) && !JSON.stringify(dump).includes(code.code));
  });
}
