import type { Key } from "../../src/people/accounts/mod.ts";
import type { Database } from "../../src/ground/database/mod.ts";
import type { TestGateway } from "./gateway.ts";
import { columnsOf, rowAsJson } from "./tables.ts";

/** A reply of the operator's API. */
export interface AdminReply {
  readonly status: number;
  readonly text: string;
  // deno-lint-ignore no-explicit-any -- replies of every operation
  readonly json: any;
  readonly headers: Headers;
}

/** How a request is sent. */
export interface AdminRequest {
  readonly body?: unknown;
  /** The `Idempotency-Key`. */
  readonly once?: string;
  readonly headers?: Record<string, string>;
}

/** A client of the operator's API with one key. */
export function adminClient(url: string, secret: string) {
  return async (method: string, path: string, request: AdminRequest = {}): Promise<AdminReply> => {
    const { body, once, headers } = request;
    const reply = await fetch(`${url}/admin/v1${path}`, {
      method,
      headers: {
        authorization: `Bearer ${secret}`,
        ...(once === undefined ? {} : { "idempotency-key": once }),
        ...headers,
      },
      ...(body === undefined
        ? {}
        : { body: typeof body === "string" ? body : JSON.stringify(body) }),
    });
    const text = await reply.text();
    return { status: reply.status, text, json: JSON.parse(text), headers: reply.headers };
  };
}

/** A client with a new key of the owner. */
export async function ownersClient(
  { gateway, url }: TestGateway,
  scopes: Key["scopes"] = ["admin"],
) {
  const { secret } = await gateway.keys.issue(gateway.owner, { scopes });
  return adminClient(url, secret);
}

/** Tables whose rows come and go by themselves. */
const RESTLESS = [
  "alert_jobs",
  "alerts",
  "budget_periods",
  "loans",
  "operation_requests",
  "probes",
];

/** All rows of all tables as text, without the bookkeeping of replies. */
export async function contentOf(
  database: Database,
  without: readonly string[] = [],
): Promise<string> {
  const tables = Map.groupBy(await columnsOf(database), ({ table }) => table);
  for (const name of [...RESTLESS, ...without]) tables.delete(name);
  // one statement: asking the database's thread for each table takes most of the time
  const rows = await database.all(
    [...tables].map(([name, columns]) =>
      `select '${name}' as name, ${
        rowAsJson(database, name, columns.map(({ column }) => column))
      } as row from "${name}"`
    ).join(" union all "),
  );
  const texts = Map.groupBy(rows, ({ name }) => String(name));
  return [...tables.keys()].map((name) =>
    `${name}\n${(texts.get(name) ?? []).map(({ row }) => String(row)).toSorted().join("\n")}`
  ).join("\n\n");
}
