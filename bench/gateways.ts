/** The programs that the benchmarks compare, each started on a free port of loopback and ended by disposal. */

import { joinPath } from "../src/ground/std/mod.ts";
import { isInstalled, pause, type Server } from "./harness.ts";

const ROOT = new URL("../", import.meta.url).pathname;
const PORTKEY = {
  "@portkey-ai/gateway": "1.15.2",
  // newer ones that it would take break its streams
  overrides: { hono: "4.9.0", "@hono/node-server": "1.13.0" },
};
const KEY = `sk-${"bench".repeat(8)}`;

/** No request meets a rate limit, the share of one account or the context window, and credits do not run out. */
const SETTINGS = {
  routes: { "svc-k2": { context: 4_000_000, maxInput: 3_900_000 } },
  tiers: [{ above: 0, minute: 1e12, hour: 1e12, day: 1e12 }],
  credits: { ownerGrant: 1e12 },
  limits: { accountShare: 1 },
  owner: { key: KEY },
  logLevel: "error", // a client that disconnects is a warning, and `wrk` does so when its time is over
};

/** Options of a gateway. */
export interface GatewayOptions {
  readonly dialect?: "chat" | "messages";
  /** More settings of Sluice than the benchmarks'. */
  readonly settings?: Readonly<Record<string, unknown>> & { readonly routes?: object };
  /** Data directory of Sluice that is kept; otherwise an empty one. */
  readonly data?: string | undefined;
  /** Whether Sluice's metering is bypassed. */
  readonly unmetered?: boolean;
  /** Directory of the checkout whose Sluice is started; otherwise this one. */
  readonly root?: string | undefined;
}

/** Thrown when a program to compare with is not installed. */
export class NotInstalled extends Error {
  override readonly name = "NotInstalled";
}

/** Starts a gateway over the upstream at this base URL. */
export type StartGateway = (upstream: string, options?: GatewayOptions) => Promise<Server>;

/** Gateways by the name that `--only` takes. */
export const GATEWAYS: Readonly<Record<string, StartGateway>> = {
  nginx: startNginxProxy,
  bare: (upstream) => startScript("thin_proxy.ts", upstream, "bare"),
  thin: (upstream) => startScript("thin_proxy.ts", upstream),
  portkey: startPortkey,
  sluice: startSluice,
};

export function freePort(): number {
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  return (listener.addr as Deno.NetAddr).port;
}

/** Base URL of an upstream. */
export function baseUrl({ port }: Pick<Server, "port">): string {
  return `http://127.0.0.1:${port}/v1`;
}

/** The upstream of `upstream.ts`; its streams wait `paceMs` between events, and all replies `delayMs` before they begin. */
export function startUpstream(
  { paceMs = 0, delayMs = 0 }: { paceMs?: number; delayMs?: number } = {},
): Promise<Server> {
  return startScript("upstream.ts", String(paceMs), String(delayMs));
}

/** An upstream that costs as little as there is: nginx with one short reply. It reads no body, and streams nothing. */
export async function startNginxUpstream(): Promise<Server> {
  const message = { role: "assistant", content: "hello ".repeat(46) };
  const reply = JSON.stringify({
    id: "chatcmpl-1",
    object: "chat.completion",
    created: 1,
    model: "m",
    choices: [{ index: 0, message, finish_reason: "stop" }],
    usage: { prompt_tokens: 10, completion_tokens: 50, total_tokens: 60 },
  });
  return await startNginx((port) =>
    `server { listen 127.0.0.1:${port}; default_type application/json;
      location / { return 200 '${reply}'; } }`
  );
}

/** Starts Sluice as it is served, with everything on; its log holds errors only. */
export async function startSluice(
  upstream: string,
  { dialect = "chat", settings = {}, data, unmetered = false, root = ROOT }: GatewayOptions = {},
): Promise<Server> {
  const port = freePort();
  const directory = data ?? await Deno.makeTempDir({ prefix: "sluice-bench-" });
  const file = `${directory}/bench.jsonc`;
  const all = {
    ...SETTINGS,
    port,
    upstream: { url: upstream, dialect },
    ...settings,
    routes: { ...SETTINGS.routes, ...settings.routes },
  };
  await Deno.mkdir(directory, { recursive: true });
  await Deno.writeTextFile(file, JSON.stringify(all));
  const args = unmetered
    ? [`${ROOT}bench/unmetered.ts`, directory, file]
    : [joinPath(root, "main.ts"), "serve", "--data", directory, "--config", file];
  // errors are shown; a log of requests is written, and dropped by the system
  const server = await startDeno(port, args, {
    root,
    stderr: all.logLevel === "error" ? "inherit" : "null",
  });
  return {
    ...server,
    headers: { authorization: `Bearer ${KEY}` },
    async [Symbol.asyncDispose]() {
      await server[Symbol.asyncDispose]();
      if (data === undefined) await Deno.remove(directory, { recursive: true });
    },
  };
}

/** Starts a script of this folder that takes its port first. */
export function startScript(script: string, ...args: string[]): Promise<Server> {
  const port = freePort();
  return startDeno(port, [`${ROOT}bench/${script}`, String(port), ...args]);
}

function startDeno(
  port: number,
  args: string[],
  { root = ROOT, stderr = "null" }: { root?: string; stderr?: "inherit" | "null" } = {},
): Promise<Server> {
  const all = ["run", "-A", "--quiet", `--config=${joinPath(root, "deno.json")}`, ...args];
  return startProgram(port, Deno.execPath(), all, { stderr });
}

/** Starts a program and waits until it listens. */
async function startProgram(
  port: number,
  program: string,
  args: string[],
  { headers = {}, directory, stderr = "null" }: {
    headers?: Record<string, string>;
    /** Removed at the end. */
    directory?: string;
    stderr?: "inherit" | "null";
  } = {},
): Promise<Server> {
  const settings = Object.entries(Deno.env.toObject());
  const child = new Deno.Command(program, {
    args,
    clearEnv: true,
    env: Object.fromEntries(settings.filter(([name]) => !name.startsWith("SLUICE_"))),
    stdin: "null",
    stdout: "null",
    stderr,
  }).spawn();
  let ended = false;
  const ending = child.status.then(() => ended = true);
  const server = {
    port,
    headers,
    pid: child.pid,
    async [Symbol.asyncDispose]() {
      if (!ended) child.kill("SIGTERM");
      await ending;
      if (directory !== undefined) await Deno.remove(directory, { recursive: true });
    },
  };
  for (let tries = 0; tries < 1_500 && !ended; tries++) {
    try {
      (await Deno.connect({ hostname: "127.0.0.1", port })).close();
      return server;
    } catch {
      await pause(20);
    }
  }
  await server[Symbol.asyncDispose]();
  throw new Error(`Nothing listens on port ${port}: ${program} ${args.join(" ")}`);
}

function startNginxProxy(upstream: string): Promise<Server> {
  const { host } = new URL(upstream);
  return startNginx((port) =>
    `upstream behind { server ${host}; keepalive 512; keepalive_requests 1000000000; }
    server { listen 127.0.0.1:${port}; location / {
      proxy_pass http://behind; proxy_http_version 1.1; proxy_set_header Connection "";
      proxy_buffering off; } }`
  );
}

/** Starts an nginx of one process, with everything that it writes in a temporary directory. */
async function startNginx(servers: (port: number) => string): Promise<Server> {
  const program = (await isInstalled("nginx", "-v")) ? "nginx" : "/usr/sbin/nginx";
  if (!await isInstalled(program, "-v")) throw new NotInstalled("install nginx-light");
  const port = freePort();
  const directory = await Deno.makeTempDir({ prefix: "sluice-bench-nginx-" });
  const places = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map((name) =>
    `${name}_temp_path ${directory}/${name};`
  );
  await Deno.writeTextFile(
    `${directory}/nginx.conf`,
    `daemon off; master_process off; pid ${directory}/pid; error_log stderr crit;
    events { worker_connections 16384; }
    http { access_log off; keepalive_requests 1000000000; ${places.join(" ")}
    client_max_body_size 64m; client_body_buffer_size 8m; ${servers(port)} }\n`,
  );
  const args = ["-e", "stderr", "-p", directory, "-c", `${directory}/nginx.conf`];
  return await startProgram(port, program, args, { directory });
}

/** Portkey's gateway from npm, installed into the cache directory the first time. */
async function startPortkey(upstream: string): Promise<Server> {
  if (!await isInstalled("npm", "--version")) throw new NotInstalled("install node and npm");
  const { overrides, ...dependencies } = PORTKEY;
  const cache = Deno.env.get("XDG_CACHE_HOME") ?? `${Deno.env.get("HOME")}/.cache`;
  const directory = `${cache}/sluice-bench/portkey-${dependencies["@portkey-ai/gateway"]}`;
  const script = `${directory}/node_modules/@portkey-ai/gateway/build/start-server.js`;
  if (!await Deno.stat(script).then(() => true, () => false)) {
    await Deno.mkdir(directory, { recursive: true });
    const manifest = { private: true, dependencies, overrides };
    await Deno.writeTextFile(`${directory}/package.json`, JSON.stringify(manifest));
    const { success } = await new Deno.Command("npm", {
      args: ["install", "--ignore-scripts", "--no-audit", "--no-fund", "--silent"],
      cwd: directory,
    }).output();
    if (!success) throw new NotInstalled(`npm could not install it into ${directory}`);
  }
  const port = freePort();
  return await startProgram(port, "node", [script, `--port=${port}`, "--headless"], {
    headers: {
      authorization: "Bearer x",
      "x-portkey-provider": "openai",
      "x-portkey-custom-host": upstream,
    },
  });
}
