import type { SettingsInput } from "../../../src/settings/config/mod.ts";
import type { Database } from "../../../src/ground/database/mod.ts";
import type { LogLevel } from "../../../src/ground/telemetry/mod.ts";
import { type Customer, customer } from "../../fake/customer.ts";
import { startGateway, type TestGateway } from "../../fake/gateway.ts";
import {
  connectTo,
  exchange,
  postHead,
  type RawReply,
  readReply,
  writeAll,
} from "../../fake/raw_http.ts";
import { DEADLINE_MS, until } from "../../fake/temp.ts";
import { rawServer } from "../../fake/upstream.ts";

/** What the client gets. */
export type ClientSees =
  /** An error, or a complete response (`code` undefined). */
  | { readonly status: number; readonly code: string | undefined }
  /** A stream that begins and ends with an error event, or as at its token limit. */
  | { readonly stream: string }
  /** The gateway closes the connection. */
  | "closed"
  /** The client is gone before there is anything to see. */
  | "disconnected";

/** What is charged, and what the request's usage record says; `record` undefined if there is none. */
export interface Charged {
  readonly credits: number;
  readonly record: string | undefined;
  readonly by?: "upstream" | "counted" | undefined;
}

/** A log line: its level and message. */
export type Logged = `${LogLevel} ${string}`;

/** How an upstream treats a connection, from its first byte on. */
export type Converse = (connection: Deno.TcpConn) => Promise<void>;

/** A row of the table of faults and abuse that its own `run` proves. */
export interface RunRow {
  readonly name: string;
  /** What is sent, or what happens. */
  readonly sent: string;
  readonly clientSees: ClientSees;
  readonly charged: Charged;
  /** Every distinct line that is logged. */
  readonly logged: readonly Logged[];
  readonly settings?: SettingsInput;
  /** Targets of every route, in failover order; without any the simulator replies. */
  readonly upstreams?: readonly (Converse | "unreachable")[];
  /** Timeouts of the first upstream. */
  readonly timeouts?: Readonly<Record<string, number>>;
  readonly wrapDatabase?: (database: Database) => Database;
  /** Whether the row ends the gateway, so that no other row can use it. */
  readonly endsGateway?: boolean;
  readonly onlyOn?: typeof Deno.build.os;
  /** Why the row does not hold yet; it is neither run nor shown. */
  readonly pending?: string;
  run(bench: Bench): Promise<ClientSees>;
}

/** A row that another test file proves, since it takes a process or a disk of its own. */
export interface ProvenRow extends Pick<RunRow, "name" | "sent" | "clientSees" | "logged"> {
  /** What is charged, in words. */
  readonly charged: string;
  /** The file below the repository's root, and a part of the test's name. */
  readonly proof: { readonly file: string; readonly test: string };
}

export type Row = RunRow | ProvenRow;

/** Where a row runs: a gateway, and a customer with 1,000 credits. */
export interface Bench extends AsyncDisposable {
  /** Its log begins with the row. */
  readonly gateway: TestGateway;
  readonly who: Customer;
  readonly key: string;
  /** The row's upstreams that can be reached. */
  readonly upstreams: readonly { readonly connections: number }[];
  /** Makes another customer. */
  another(): Promise<Customer>;
  /** POSTs JSON as the customer and reads the response to its end. */
  post(path: string, body: unknown, key?: string): Promise<ClientSees>;
  /** Asks for a chat completion. */
  chat(more?: Readonly<Record<string, unknown>>): Promise<ClientSees>;
  /** Sends these pieces of a body below a head with these header lines, and reads the response. */
  raw(
    headers: readonly string[],
    pieces: readonly (string | Uint8Array)[],
    options?: { readonly pauseMs?: number },
  ): Promise<ClientSees>;
  /** A connection on which this was sent. */
  open(text: string | Uint8Array, key?: string): Promise<Deno.TcpConn>;
  /** Called when the row has been checked, last one first. */
  defer(end: () => unknown): void;
}

const CREDITS = 1_000;
/** Nothing listens there. */
const UNREACHABLE = "http://127.0.0.1:1/v1";
const encoder = new TextEncoder();

/** Where rows run one after the other. */
export interface Benches extends AsyncDisposable {
  /** Starts what a row needs. */
  start(row: RunRow): Promise<Bench>;
}

/** Opens what rows share: a gateway that reads the settings of each row, except for those that end or break it. */
export async function openBenches(): Promise<Benches> {
  const shared = await startGateway();
  return {
    start: (row) => startBench(row, shared),
    [Symbol.asyncDispose]: () => shared[Symbol.asyncDispose](),
  };
}

/** So that each row's upstreams have names, and with them a health, of their own. */
let upstreamsNamed = 0;

async function startBench(row: RunRow, shared: TestGateway): Promise<Bench> {
  await using stack = new AsyncDisposableStack();
  // requests that the row leaves behind end with it, before the next one looks at the log
  stack.defer(async () => {
    await until(() => shared.gateway.inFlight.count === 0, { what: "the end of all requests" });
    await shared.gateway.app.idle();
  });
  const upstreams: { readonly connections: number }[] = [];
  const urls = (row.upstreams ?? []).map((one) => {
    if (one === "unreachable") return UNREACHABLE;
    const server = stack.use(rawServer(one));
    upstreams.push(server);
    return server.url;
  });
  const settings = { ...upstreamSettings(urls, row.timeouts), ...row.settings };
  const { wrapDatabase } = row;
  let gateway: TestGateway;
  if (wrapDatabase !== undefined || row.endsGateway) {
    gateway = stack.use(
      await startGateway({ settings, ...(wrapDatabase === undefined ? {} : { wrapDatabase }) }),
    );
  } else {
    const { fault, needRestart } = await shared.reload(settings);
    if (fault !== null || needRestart.length > 0) throw new Error(`${fault} ${needRestart}`);
    const begin = shared.log().length;
    gateway = { ...shared, log: () => shared.log().slice(begin) };
  }
  const who = await customer(gateway, CREDITS);
  const [key = ""] = who.keys;
  const owned = stack.move();
  const post = async (path: string, body: unknown, own = key) =>
    seenOf(await gateway.post(path, body, { key: own, signal: AbortSignal.timeout(DEADLINE_MS) }));
  return {
    gateway,
    who,
    key,
    upstreams,
    another: () => customer(gateway, CREDITS),
    post,
    chat: (more = {}) => post("/v1/chat/completions", chatBody(more)),
    raw: async (headers, pieces, options = {}) => {
      const head = postHead("/v1/chat/completions", { key, headers });
      return seenOfRaw(
        await exchange(gateway.url, [head, ...pieces], options),
      );
    },
    open: async (text, own = key) => {
      const bytes = typeof text === "string" ? encoder.encode(text) : text;
      const connection = await connectTo(gateway.url);
      owned.defer(() => close(connection));
      const headers = [`content-length: ${bytes.length}`];
      await writeAll(connection, postHead("/v1/chat/completions", { key: own, headers }));
      await writeAll(connection, bytes);
      return connection;
    },
    defer: (end) => owned.defer(async () => void await end()),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

const ROUTES = ["svc-k2", "svc-k2.6"];

function upstreamSettings(
  urls: readonly string[],
  timeouts: RunRow["timeouts"] = {},
): SettingsInput {
  if (urls.length === 0) return {};
  const names = urls.map(() => `upstream${upstreamsNamed++}`);
  const targets = names.map((upstream) => ({ upstream, model: "m" }));
  return {
    upstreams: Object.fromEntries(
      names.map((name, at) => [name, { url: urls[at]!, ...(at === 0 && { timeouts }) }]),
    ),
    routes: Object.fromEntries(ROUTES.map((route) => [route, { targets }])),
  };
}

/** Closes a connection that may be closed already. */
export function close(connection: Deno.Conn): void {
  try {
    connection.close();
  } catch {
    // closed already
  }
}

/** A chat request of one short message. */
export function chatBody(more: Readonly<Record<string, unknown>> = {}): Record<string, unknown> {
  return {
    model: "svc-k2",
    max_tokens: 50,
    messages: [{ role: "user", content: "Hi [[say hello there]]" }],
    ...more,
  };
}

/** What a response is, read to its end. */
export async function seenOf(reply: Response): Promise<ClientSees> {
  return seenIn(reply.status, reply.headers, await reply.text());
}

export function seenOfRaw({ status, headers, body }: RawReply): ClientSees {
  return status === 0 ? "closed" : seenIn(status, headers, body);
}

/** Reads one response off a connection. */
export async function seenOn(connection: Deno.Conn): Promise<ClientSees> {
  return seenOfRaw(await readReply(connection));
}

function seenIn(status: number, headers: Headers, text: string): ClientSees {
  if ((status === 429 || status === 503) && !(Number(headers.get("retry-after")) >= 1)) {
    throw new Error(`a ${status} without Retry-After: ${text}`);
  }
  const isStream = headers.get("content-type")?.startsWith("text/event-stream") ?? false;
  if (!isStream) return { status, code: status < 400 ? undefined : codeOf(text) };
  const last = text.trimEnd().split("\n").findLast((line) => line.startsWith("data:"));
  if (last === "data: [DONE]") {
    const finish = /"finish_reason":"(\w+)"/.exec(text)?.[1] ?? "none";
    return finish === "stop" ? { status, code: undefined } : { stream: finish };
  }
  return { stream: codeOf(last?.slice(5) ?? "") };
}

/** The code of an error in the chat dialect, or what stands in its place. */
function codeOf(text: string): string {
  try {
    const { error } = JSON.parse(text);
    return error?.code ?? error?.type ?? text;
  } catch {
    return text.slice(0, 200);
  }
}

/** A complete response. */
export const COMPLETE: ClientSees = { status: 200, code: undefined };

/** An error response. */
export function error(status: number, code: string): ClientSees {
  return { status, code };
}

/** A stream that ends with this error event. */
export function failedStream(code: string): ClientSees {
  return { stream: code };
}

/** Refused before admission. */
export const NOT_RECORDED: Charged = { credits: 0, record: undefined };

/** Recorded, and free. */
export function free(record: "refused" | "upstream_failed" | "client_left"): Charged {
  return { credits: 0, record };
}

/** Recorded and paid for. */
export function paid(
  credits: number,
  by: "upstream" | "counted",
  record: "complete" | "client_left" | "upstream_failed" = "complete",
): Charged {
  return { credits, record, by };
}
