/** What the benchmarks share: load, processor time, memory, medians. Needs `wrk`. */

const encoder = new TextEncoder();

/** A process that serves requests. */
export interface Server extends AsyncDisposable {
  readonly port: number;
  /** Headers that a request needs, such as the key. */
  readonly headers: Readonly<Record<string, string>>;
  readonly pid: number;
}

/** A request that is measured. */
export interface Request {
  readonly port: number;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** What load gave. */
export interface Measured {
  /** Requests per second. */
  readonly rate: number;
  /** Milliseconds. */
  readonly p50: number;
  readonly p99: number;
  /** Requests that failed. */
  readonly errors: number;
}

/** A request of chat completions with `bytes` of body, at least 140. */
export function chatRequest(
  { port, headers }: Pick<Server, "port" | "headers">,
  { bytes = 0, stream = false, texts = 50 }: { bytes?: number; stream?: boolean; texts?: number } =
    {},
): Request {
  const build = (content: string) =>
    JSON.stringify({
      model: "svc-k2",
      messages: [{ role: "user", content }],
      max_tokens: texts,
      ...(stream ? { stream } : {}),
    });
  const start = "hello there, how are you today?";
  const filling = Math.max(0, bytes - build(start).length);
  const words = " and what do you say to that?".repeat(Math.ceil(filling / 29));
  const body = build(start + words.slice(0, filling));
  return { port, headers, path: "/v1/chat/completions", body };
}

/** The least request of messages. */
export function messagesRequest({ port, headers }: Pick<Server, "port" | "headers">): Request {
  const messages = [{ role: "user", content: "hello there, how are you today?" }];
  const body = JSON.stringify({ model: "svc-k2", max_tokens: 50, messages });
  return { port, headers, path: "/v1/messages", body };
}

/** Measures, after a second that is not counted: an idle process gives up compiled code. */
export async function measure(request: Request, load: Load): Promise<Measured> {
  await runWrk(request, { ...load, seconds: 1 });
  const measured = await runWrk(request, load);
  if (measured.errors > 0) throw new Error(`${measured.errors} requests to ${request.path} failed`);
  return measured;
}

/** How much load. */
export interface Load {
  readonly seconds: number;
  readonly connections: number;
}

/** Puts load on a server with `wrk`. */
export async function runWrk(request: Request, load: Load): Promise<Measured> {
  const headers = Object.entries({ "content-type": "application/json", ...request.headers });
  const directory = await Deno.makeTempDir();
  await Deno.writeTextFile(`${directory}/body`, request.body);
  await Deno.writeTextFile(
    `${directory}/load.lua`,
    `wrk.method = "POST"\nwrk.body = io.open("${directory}/body", "rb"):read("*a")\n` +
      headers.map(([name, value]) => `wrk.headers["${name}"] = "${value}"\n`).join("") +
      `done = function(summary, latency)\n` +
      `  local failed = summary.errors\n` +
      `  io.write(string.format("RESULT %d %d %d %d %d\\n", summary.requests, summary.duration,\n` +
      `    latency:percentile(50), latency:percentile(99),\n` +
      `    failed.status + failed.read + failed.write + failed.timeout + failed.connect))\nend\n`,
  );
  const { stdout } = await new Deno.Command("wrk", {
    args: [
      "-t1",
      `-c${load.connections}`,
      `-d${load.seconds}`,
      "--timeout=30s",
      `-s${directory}/load.lua`,
      `http://127.0.0.1:${request.port}${request.path}`,
    ],
  }).output();
  await Deno.remove(directory, { recursive: true });
  const found = /RESULT (\d+) (\d+) (\d+) (\d+) (\d+)/.exec(new TextDecoder().decode(stdout));
  if (found === null) throw new Error("wrk printed no result");
  const [requests = 0, micros = 0, p50 = 0, p99 = 0, errors = 0] = found.slice(1).map(Number);
  return {
    rate: Math.max(0, requests - errors) / (micros / 1e6),
    p50: p50 / 1e3,
    p99: p99 / 1e3,
    errors,
  };
}

/** Whether a program can be started. */
export async function isInstalled(program: string, ...args: string[]): Promise<boolean> {
  try {
    await new Deno.Command(program, { args, stdout: "null", stderr: "null" }).output();
    return true;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
}

/** Sends requests at a steady rate, whether earlier ones have a response or not: the same one, or what a function makes each time. */
export async function sendSteadily(
  request: Request | (() => Request),
  { perSecond, seconds }: { perSecond: number; seconds: number },
): Promise<Pick<Measured, "p50" | "p99" | "errors">> {
  const times: number[] = [];
  const sent: Promise<void>[] = [];
  const send = async () => {
    const { port, path, headers, body } = typeof request === "function" ? request() : request;
    const began = performance.now();
    const reply = await fetch(`http://127.0.0.1:${port}${path}`, {
      method: "POST",
      headers: { "content-type": "application/json", ...headers },
      body,
    });
    const text = await reply.text();
    if (!reply.ok) throw new Error(`status ${reply.status}: ${text}`);
    times.push(performance.now() - began);
  };
  let failure: unknown;
  const began = performance.now();
  const all = perSecond * seconds;
  while (sent.length < all) {
    const due = Math.min(all, (performance.now() - began) / 1_000 * perSecond);
    while (sent.length < due) sent.push(send().catch((error) => void (failure = error)));
    await pause(1);
  }
  await Promise.all(sent);
  if (times.length < all / 2) {
    throw new Error(`${all - times.length} of ${all} requests failed`, { cause: failure });
  }
  times.sort((a, b) => a - b);
  const part = (of: number) => times[Math.floor(times.length * of)]!;
  return { p50: part(0.5), p99: part(0.99), errors: all - times.length };
}

/** Runs `take` on each variant in each round, in an order that is reversed each round. */
export async function interleave<Variant, Result>(
  variants: readonly Variant[],
  rounds: number,
  take: (variant: Variant) => Promise<Result>,
): Promise<Map<Variant, Result[]>> {
  const results = new Map(variants.map((variant) => [variant, [] as Result[]]));
  for (let round = 0; round < rounds; round++) {
    for (const variant of round % 2 === 0 ? variants : variants.toReversed()) {
      results.get(variant)!.push(await take(variant));
    }
  }
  return results;
}

/** Words about requests that failed. */
export function failures(all: readonly Pick<Measured, "errors">[]): string {
  const errors = all.reduce((sum, one) => sum + one.errors, 0);
  return errors > 0 ? `  ${errors} FAILED` : "";
}

/** Median of the ratios within each round. */
export function medianRatio(values: readonly number[], of: readonly number[]): number {
  return median(values.map((value, round) => value / of[round]!));
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)]!;
}

/** A process's memory, in MB: what is resident, or of that what is its own. */
export async function residentMb(
  pid: number,
  name: "VmRSS" | "RssAnon" = "VmRSS",
): Promise<number> {
  const status = await Deno.readTextFile(`/proc/${pid}/status`);
  return Number(new RegExp(`${name}:\\s+(\\d+)`).exec(status)![1]) / 1_024;
}

/** What a start took, and what the process keeps. */
export interface Started {
  /** Milliseconds from the start of the process to its first response. */
  readonly firstMs: number;
  /** Memory after three idle seconds, in MB. */
  readonly residentMb: number;
  readonly ownMb: number;
  /** What it has printed. */
  readonly said: string;
}

/** Starts a gateway, asks it for its models, leaves it idle for three seconds, and ends it (Linux). */
export async function startOnce(
  program: string,
  options: Pick<Deno.CommandOptions, "args" | "cwd" | "env">,
): Promise<Started> {
  const start = performance.now();
  const child = new Deno.Command(program, { ...options, stdout: "piped", stderr: "null" }).spawn();
  let said = "";
  let firstMs = NaN;
  for await (const text of child.stdout.pipeThrough(new TextDecoderStream())) {
    said += text;
    const url = /listening on (http[^\s"]+)/.exec(said)?.[1];
    if (url === undefined) continue;
    await (await fetch(`${url}/v1/models`)).arrayBuffer();
    firstMs = performance.now() - start;
    break;
  }
  await pause(3_000);
  const [resident, own] = [await residentMb(child.pid), await residentMb(child.pid, "RssAnon")];
  child.kill("SIGTERM");
  await child.status;
  return { firstMs, residentMb: resident, ownMb: own, said };
}

/** Microseconds of processor time, user and system, that the threads of each name in a process have used. */
export async function processorTime(pid: number): Promise<Map<string, number>> {
  const threads = new Map<string, number>();
  for await (const { name: id } of Deno.readDir(`/proc/${pid}/task`)) {
    const thread = `/proc/${pid}/task/${id}`;
    try {
      const name = Number(id) === pid ? "main" : await Deno.readTextFile(`${thread}/comm`);
      // its first number is what utime and stime of `stat` add up to, in nanoseconds instead of ticks
      const [nanoseconds] = (await Deno.readTextFile(`${thread}/schedstat`)).split(" ");
      threads.set(name.trim(), (threads.get(name.trim()) ?? 0) + Number(nanoseconds) / 1e3);
    } catch (error) {
      if (!/os error [23]\b/.test(String(error))) throw error; // otherwise the thread has ended
    }
  }
  return threads;
}

export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

export function say(text: string): void {
  Deno.stdout.writeSync(encoder.encode(`${text}\n`));
}
