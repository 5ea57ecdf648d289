import type { AlertTimes } from "../../src/operating/alerts/mod.ts";
import { assemble, type Gateway, type Reload, type StartThread } from "../../src/assemble/mod.ts";
import { databaseFile, loadConfig, type SettingsInput } from "../../src/settings/config/mod.ts";
import { type Database, keepFileThreads } from "../../src/ground/database/mod.ts";
import { createLog } from "../../src/ground/telemetry/mod.ts";
import { writeEmptyDatabase } from "./empty_database.ts";
import { isOnPostgres, postgresDatabase } from "./postgres.ts";
import { tellingTime } from "./server_clock.ts";
import { type Leavings, type Left, Witness } from "./leavings.ts";
import { exists, tempDir } from "./temp.ts";

keepFileThreads(4);

/** Passes of the watch are the test's to make, and the disk has room. */
export const NO_PASSES: AlertTimes = {
  watch: { seeEveryMs: 1e9, passEveryMs: 1e8, circuitMs: 30_000, circuitQuietMs: 60_000 },
  diskSpace: () => Promise.resolve({ freeBytes: 1e12, allBytes: 1e12 }),
};

/** A gateway in this process, listening on a port of its own. */
export interface TestGateway extends AsyncDisposable {
  readonly gateway: Gateway;
  readonly url: string;
  /** The owner's key. */
  readonly key: string;
  readonly directory: string;
  /** Everything logged so far, one JSON line each. */
  readonly log: () => string;
  /** Writes other settings, or a text in their place, and has the gateway read them. */
  reload(settings: SettingsInput | string): Promise<Reload>;
  /** POSTs JSON with the owner's key. */
  post(path: string, body: unknown, options?: PostOptions): Promise<Response>;
  /** POSTs a chat completion for a one-line prompt. */
  chat(prompt: string, body?: Record<string, unknown>, options?: PostOptions): Promise<Response>;
  /** Runs `action`, and fails unless it leaves behind what is named, and nothing else. */
  leaves<T>(expected: Leavings, action: () => Promise<T>): Promise<T>;
  /** Runs `action`, and returns what it left behind. */
  left<T>(action: () => Promise<T>): Promise<{ result: T; left: Left }>;
}

export interface PostOptions {
  readonly key?: string;
  readonly headers?: Record<string, string>;
  readonly signal?: AbortSignal;
}

/** Windows that nobody meets. */
export const WIDE_TIERS = [{ above: 0, minute: 1e9, hour: 1e9, day: 1e9 }];

/** How a test's gateway departs from the defaults. */
export interface GatewayOptions {
  readonly settings?: SettingsInput;
  /** Where its database is, unless the settings say so. */
  readonly database?: "file" | "postgres";
  readonly now?: () => number;
  readonly env?: Record<string, string>;
  /** Waits before retries, in milliseconds; short, since tests wait for them. */
  readonly firstWaitMs?: number;
  /** Requests within a second from which on credits are lent. */
  readonly lendFrom?: number;
  /** How fast alerts are. */
  readonly alertTimes?: AlertTimes;
  readonly wrapDatabase?: (database: Database) => Database;
  /** Starts serving threads. */
  readonly startThread?: StartThread;
  /** How soon a serving thread counts as hanging. */
  readonly watchdog?: { readonly lookMs: number; readonly maxLooks: number };
  /** Whether the test looks into the gateway that is in this process: then one thread serves. */
  readonly looksInside?: boolean;
}

/**
 * Threads that serve in tests which do not say how many: `SLUICE_TEST_WORKERS=2` runs them against two. What a test puts
 * into this process, such as a clock of its own, another thread would not have.
 */
function workersOf({ now, wrapDatabase, looksInside = false }: GatewayOptions): number {
  if (now !== undefined || wrapDatabase !== undefined || looksInside) return 1;
  return Number(Deno.env.get("SLUICE_TEST_WORKERS") ?? 1);
}

/** Starts a gateway over real files and sockets. Disposing stops it. */
export async function startGateway(options: GatewayOptions = {}): Promise<TestGateway> {
  await using started = new AsyncDisposableStack();
  const directory = started.use(await tempDir()).path;
  const file = `${directory}/sluice.jsonc`;
  const write = (settings: SettingsInput | string = {}) =>
    Deno.writeTextFile(
      file,
      typeof settings === "string" ? settings : JSON.stringify({
        port: 0,
        limits: { drainMs: 5_000 },
        tiers: WIDE_TIERS, // tests of the windows have their own
        workers: workersOf(options),
        ...settings,
        // tests of discovery ask for it: other upstreams count what they are asked
        ...(settings.upstream && { upstream: { discover: false, ...settings.upstream } }),
      }),
    );
  await write(options.settings);
  const isPostgres = options.database === "postgres" ||
    options.database === undefined && isOnPostgres && options.settings?.database === undefined;
  const postgres = isPostgres ? started.use(await postgresDatabase()) : undefined;
  const read = async (other = file) => {
    const config = await loadConfig({ env: options.env ?? {}, directory, file: other });
    if (postgres === undefined) return config;
    const database = { ...config.settings.database, url: postgres.url };
    return { ...config, settings: { ...config.settings, database, durability: "normal" as const } };
  };
  const config = await read();
  const database = databaseFile(config.settings);
  if (database !== undefined && !await exists(database)) await writeEmptyDatabase(database);
  let lines = "";
  const log = createLog({
    format: "json",
    level: "debug",
    now: Date.now,
    write: (text) => lines += text,
  });
  const { now, wrapDatabase: wrap = (database: Database) => database } = options;
  // gateways at a server go by its clock
  const wrapDatabase = !isPostgres || now === undefined
    ? options.wrapDatabase
    : (database: Database) => wrap(tellingTime(database, now));
  const gateway = await assemble(config, {
    log,
    writeLog: (text) => lines += text,
    readSettings: read,
    passwordCost: { N: 1_024, r: 8, p: 1 }, // tests/people/accounts/passwords_test.ts has the real one
    retries: { attemptsPerTarget: 2, firstWaitMs: options.firstWaitMs ?? 5, patienceMs: 2_000 },
    lendFrom: options.lendFrom ?? 0, // both ways to admit are taken: the first request asks for the loan
    ...(now === undefined ? {} : { now }),
    ...(options.startThread === undefined ? {} : { startThread: options.startThread }),
    ...(options.watchdog === undefined ? {} : { watchdog: options.watchdog }),
    ...(options.alertTimes === undefined ? {} : { alertTimes: options.alertTimes }),
    ...(wrapDatabase === undefined ? {} : { wrapDatabase }),
  });
  started.defer(async () => {
    await gateway.stop();
  });
  const { url } = await gateway.listen();
  const key = gateway.firstKey ?? config.settings.owner.key?.reveal() ?? "";
  const owned = started.move();

  const post = (path: string, body: unknown, more: PostOptions = {}) =>
    fetch(`${url}${path}`, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        authorization: `Bearer ${more.key ?? key}`,
        ...more.headers,
      },
      body: typeof body === "string" ? body : JSON.stringify(body),
      ...(more.signal === undefined ? {} : { signal: more.signal }),
    });
  const witness = new Witness({ gateway, directory, log: () => lines });
  return {
    gateway,
    url,
    key,
    directory,
    log: () => lines,
    leaves: (expected, action) => witness.leaves(expected, action),
    left: (action) => witness.left(action),
    async reload(settings) {
      await write(settings);
      return await gateway.reload(read);
    },
    post,
    chat: (prompt, body = {}, more = {}) =>
      post("/v1/chat/completions", {
        model: "svc-k2",
        messages: [{ role: "user", content: prompt }],
        ...body,
      }, more),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

/** The usage records of a gateway, oldest first. */
export function usageRecords({ gateway }: TestGateway) {
  return gateway.database.all("select * from usage_records order by started_at_ms, request_id");
}

/** A reply's status; its body is let go. */
export async function statusOf(reply: Promise<Response>): Promise<number> {
  const { status, body } = await reply;
  await body?.cancel();
  return status;
}

/** A connection on which a chat completion was asked for, its answer for the test to read or to leave. */
export async function unreadChat(gateway: TestGateway, body: unknown): Promise<Deno.TcpConn> {
  const { hostname, port } = new URL(gateway.url);
  const connection = await Deno.connect({ hostname, port: Number(port) });
  const encoder = new TextEncoder();
  const sent = encoder.encode(JSON.stringify(body));
  const head =
    `POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${gateway.key}\r\n` +
    `content-type: application/json\r\ncontent-length: ${sent.length}\r\n\r\n`;
  await connection.write(encoder.encode(head));
  await connection.write(sent);
  return connection;
}
