/** What the benchmarks share: child processes, load, medians. Needs `wrk`. */

const root = new URL("../", import.meta.url).pathname;

/** A request that is measured. */
export interface Request {
  readonly port: number;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** What a second of load gave. */
export interface Measured {
  /** Requests per second. */
  readonly rate: number;
  /** Milliseconds. */
  readonly p50: number;
  readonly p99: number;
}

export function freePort(): number {
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  return (listener.addr as Deno.NetAddr).port;
}

/** Starts a script of this folder. */
export function start(script: string, ...args: string[]): Deno.ChildProcess {
  return new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--quiet", `--config=${root}deno.json`, `${root}bench/${script}`, ...args],
  }).spawn();
}

/** Waits until something listens. */
export async function listening(port: number): Promise<void> {
  for (let tries = 0; tries < 500; tries++) {
    try {
      (await Deno.connect({ hostname: "127.0.0.1", port })).close();
      return;
    } catch {
      await pause(20);
    }
  }
  throw new Error(`nothing listens on port ${port}`);
}

/** A gateway over an upstream, and the headers with its owner's key. */
export async function startSluice(
  upstream: string,
  { metering = true, dialect = "chat", settings = {} }: {
    metering?: boolean;
    dialect?: "chat" | "messages";
    /** More of them than the benchmarks' own. */
    settings?: Record<string, unknown>;
  } = {},
): Promise<{ port: number; headers: Record<string, string>; pid: number } & AsyncDisposable> {
  const port = freePort();
  const data = await Deno.makeTempDir();
  const child = start(
    "sluice.ts",
    String(port),
    upstream,
    data,
    metering ? "yes" : "no",
    dialect,
    JSON.stringify(settings),
  );
  await listening(port);
  let key = "";
  while (key === "") {
    await pause(50);
    key = await Deno.readTextFile(`${data}/key`).catch(() => "");
  }
  return {
    port,
    headers: { authorization: `Bearer ${key}` },
    pid: child.pid,
    async [Symbol.asyncDispose]() {
      child.kill("SIGTERM");
      await child.status;
      await Deno.remove(data, { recursive: true });
    },
  };
}

/** Measures, after a second that is not counted: an idle process gives up compiled code. */
export async function measure(
  request: Request,
  { seconds, connections }: { seconds: string; connections: number },
): Promise<Measured> {
  await load(request, "1", connections);
  return await load(request, seconds, connections);
}

async function load(request: Request, duration: string, connections: number): Promise<Measured> {
  const headers = Object.entries({ "content-type": "application/json", ...request.headers });
  const script = await Deno.makeTempFile({ suffix: ".lua" });
  await Deno.writeTextFile(
    script,
    `wrk.method = "POST"\nwrk.body = ${JSON.stringify(request.body).replaceAll("\\/", "/")}\n` +
      headers.map(([name, value]) => `wrk.headers["${name}"] = "${value}"\n`).join("") +
      `done = function(summary, latency)\n` +
      `  io.write(string.format("RESULT %d %d %d %d %d\\n", summary.requests, summary.duration, ` +
      `latency:percentile(50), latency:percentile(99), summary.errors.status + summary.errors.read + summary.errors.timeout))\nend\n`,
  );
  const { stdout } = await new Deno.Command("wrk", {
    args: [
      "-t1",
      `-c${connections}`,
      `-d${duration}`,
      "-s",
      script,
      `http://127.0.0.1:${request.port}${request.path}`,
    ],
  }).output();
  await Deno.remove(script);
  const found = /RESULT (\d+) (\d+) (\d+) (\d+) (\d+)/.exec(new TextDecoder().decode(stdout));
  if (found === null) throw new Error("wrk printed no result");
  const [requests = 0, micros = 0, p50 = 0, p99 = 0, errors = 0] = found.slice(1).map(Number);
  if (errors > 0) throw new Error(`${errors} requests to ${request.path} failed`);
  return { rate: requests / (micros / 1e6), p50: p50 / 1e3, p99: p99 / 1e3 };
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)]!;
}

/** A process's resident memory, in MB. */
export async function residentMb(pid: number): Promise<number> {
  const status = await Deno.readTextFile(`/proc/${pid}/status`);
  return Number(/VmRSS:\s+(\d+)/.exec(status)![1]) / 1_024;
}

export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

export function say(text: string): void {
  Deno.stdout.writeSync(new TextEncoder().encode(`${text}\n`));
}
