import type { SettingsInput } from "../../src/settings/config/mod.ts";
import { assertEquals } from "../assert.ts";
import { environment } from "../fake/command.ts";
import { startGateway, type TestGateway } from "../fake/gateway.ts";
import { tempDir } from "../fake/temp.ts";

/**
 * The program, as `npm install @openai/codex` leaves it: `CODEX=node_modules/.bin/codex deno task test`. CI installs and
 * runs it.
 */
export const CODEX = Deno.env.get("CODEX");

const PATIENCE_MS = 120_000;

/** A request that Codex sent, and the response. */
export interface Exchange {
  readonly path: string;
  readonly headers: Headers;
  // deno-lint-ignore no-explicit-any -- a body as it was sent
  readonly body: any;
  readonly status: number;
  readonly response: Headers;
  /** All that was received of the response. */
  readonly text: () => string;
}

/** What a run left. */
export interface CodexRun {
  readonly code: number;
  readonly out: string;
  /** Standard error without the log. */
  readonly err: string;
  /** Events that it read and has no use for. */
  readonly unhandled: readonly string[];
  /** What it could not parse. */
  readonly unparsed: readonly string[];
}

/** A gateway with an empty git directory in which Codex runs, and with all that Codex sends to it. */
export interface CodexDesk extends AsyncDisposable {
  readonly gateway: TestGateway;
  readonly directory: string;
  /** Creations of responses, in order. */
  readonly exchanges: readonly Exchange[];
  /** Runs `codex exec` to its end. */
  exec(prompt: string, options: CodexOptions): Promise<CodexRun>;
}

/** How Codex is run. */
export interface CodexOptions {
  readonly model: string;
  /** The gateway's owner's unless said otherwise. */
  readonly key?: string;
  /** Lines of the settings file, before its tables. */
  readonly settings?: readonly string[];
  /** Arguments after `exec`. */
  readonly args?: readonly string[];
  /** Whether it connects to the gateway by a WebSocket. What it then sends is not among the exchanges. */
  readonly webSocket?: boolean;
}

/** Starts a gateway for Codex. Its requests go through a proxy that listens. */
export async function codexDesk(settings: SettingsInput): Promise<CodexDesk> {
  await using stack = new AsyncDisposableStack();
  const gateway = stack.use(await startGateway({ settings }));
  const work = stack.use(await tempDir()).path;
  const home = stack.use(await tempDir()).path;
  await new Deno.Command("git", { args: ["init", "--quiet"], cwd: work }).output();
  await Deno.mkdir(`${home}/.codex`);
  const exchanges: Exchange[] = [];
  const proxy = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen() {} },
    (request) => forward(request, gateway.url, exchanges),
  );
  stack.defer(() => proxy.shutdown());
  const owned = stack.move();
  return {
    gateway,
    directory: work,
    exchanges,
    async exec(prompt, options) {
      const { key = gateway.key, args = [] } = options;
      const at = options.webSocket ? gateway.url : `http://127.0.0.1:${proxy.addr.port}`;
      await Deno.writeTextFile(`${home}/.codex/config.toml`, settingsFile(`${at}/v1`, options));
      const { code, stdout, stderr } = await new Deno.Command(CODEX!, {
        args: ["exec", "--sandbox", "danger-full-access", ...args, prompt],
        cwd: work,
        stdin: "null",
        clearEnv: true,
        env: environment({
          HOME: home,
          SLUICE_KEY: key,
          RUST_LOG: "off,codex_api::sse=trace",
        }),
        signal: AbortSignal.timeout(PATIENCE_MS),
      }).output();
      const [out, err] = [stdout, stderr].map((bytes) => new TextDecoder().decode(bytes));
      return { code, out: out!, ...readLog(err!) };
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

/** A settings file as docs/clients/codex.md has it. */
function settingsFile(
  base: string,
  { model, settings = [], webSocket = false }: CodexOptions,
): string {
  return [
    `model = "${model}"`,
    'model_provider = "sluice"',
    ...settings,
    "[model_providers.sluice]",
    'name = "Sluice"',
    `base_url = "${base}"`,
    'env_key = "SLUICE_KEY"',
    'wire_api = "responses"',
    `supports_websockets = ${webSocket}`,
    "[features]",
    "plugins = false", // it would look for them at hosts that tests do not reach
    "",
  ].join("\n");
}

async function forward(request: Request, to: string, exchanges: Exchange[]): Promise<Response> {
  const { pathname, search } = new URL(request.url);
  const sent = await request.text();
  const reply = await fetch(`${to}${pathname}${search}`, {
    method: request.method,
    headers: request.headers,
    ...(sent === "" ? {} : { body: sent }),
    signal: request.signal,
  });
  let text = "";
  if (request.method === "POST") {
    exchanges.push({
      path: pathname,
      headers: request.headers,
      body: JSON.parse(sent),
      status: reply.status,
      response: reply.headers,
      text: () => text,
    });
  }
  const decoder = new TextDecoder();
  const body = reply.body?.pipeThrough(
    new TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>>({
      transform(bytes, controller) {
        text += decoder.decode(bytes, { stream: true });
        controller.enqueue(bytes);
      },
    }),
  );
  return new Response(body, { status: reply.status, headers: reply.headers });
}

const LOG_LINE = /^\S*\d{4}-\d\d-\d\dT[\d:.]+Z\s/;

function readLog(text: string): Pick<CodexRun, "err" | "unhandled" | "unparsed"> {
  const lines = text.split("\n");
  const log = lines.filter((line) => LOG_LINE.test(line));
  return {
    err: lines.filter((line) => !LOG_LINE.test(line)).join("\n"),
    unhandled: log.flatMap((line) => /unhandled responses event: (\S+)/.exec(line)?.[1] ?? []),
    unparsed: log.filter((line) => /failed to parse/i.test(line)),
  };
}

/** Events that the API sends, too, and Codex ignores: their content comes with others. */
const IGNORED =
  /^response\.(in_progress|content_part\.(added|done)|function_call_arguments\.delta|\w+\.done)$/;

/** Holds a run against what Codex says of a stream: it could read everything, and knows all events. */
export function assertUnderstood({ unhandled, unparsed }: CodexRun): void {
  assertEquals(unhandled.filter((type) => !IGNORED.test(type)), []);
  assertEquals(unparsed, []);
}
