import type { Key } from "../../src/people/accounts/mod.ts";
import type { Database } from "../../src/ground/database/mod.ts";
import type { TestGateway } from "./gateway.ts";
import { tablesOf } from "./tables.ts";

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
  const texts: string[] = [];
  for (const name of await tablesOf(database)) {
    if ([...RESTLESS, ...without].includes(name)) continue;
    const rows = await database.all(`select * from "${name}"`);
    texts.push(`${name}\n${rows.map((row) => JSON.stringify(row)).toSorted().join("\n")}`);
  }
  return texts.join("\n\n");
}
