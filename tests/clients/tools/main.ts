/**
 * Drives the coding tools and SDKs of `docs/clients/` with their default settings: each writes a file by its own tool,
 * through a gateway over an upstream of each dialect. Installs them from npm into a cache first.
 *
 *     deno task clients [--only NAME,…] [--upstream chat|messages] [--uncut]
 *
 * `--uncut` has the upstream ignore the output limit that it is sent: what passes only with it was sent too low a limit.
 *
 * @module
 */

import { assert } from "../../assert.ts";
import { environment, homeIn, PROGRAM, say, startCommand } from "../../fake/command.ts";
import { tempDir } from "../../fake/temp.ts";
import { install } from "./packages.ts";
import { type Round, ROUNDS } from "./rounds.ts";
import { CONTENT, DONE, promptFor, roundUpstream } from "./upstream.ts";

const DIALECTS = ["chat", "messages"] as const;
const PATIENCE_MS = 120_000;
/** More means that a tool repeats a request that cannot succeed. */
const MAX_REQUESTS = 8;
const DOCS = new URL("../../../docs/clients/", import.meta.url);

/** Runs a tool's round; throws if it fails. */
async function drive(round: Round, dialect: (typeof DIALECTS)[number]): Promise<void> {
  const installed = await install(round.packages);
  await using home = await tempDir();
  await using work = await tempDir();
  await using upstream = roundUpstream({ cuts: !Deno.args.includes("--uncut") });
  const env = {
    HOME: home.path,
    ...homeIn(home.path),
    DENO_DIR: Deno.env.get("DENO_DIR") ?? `${Deno.env.get("HOME")}/.cache/deno`,
    SLUICE_DATA: `${home.path}/data`,
    PATH: `${installed}/node_modules/.bin:${Deno.env.get("PATH")}`,
  };
  await using gateway = startCommand(["--port", "0"], {
    directory: home.path,
    env: { ...env, SLUICE_UPSTREAM_URL: upstream.url, SLUICE_UPSTREAM_DIALECT: dialect },
  });
  await gateway.waitFor(/listening on (\S+)/);
  const file = `${work.path}/written.txt`;
  const script = round.page === undefined ? "" : await writeScript(installed, round.page);
  const child = new Deno.Command(Deno.execPath(), {
    args: [...PROGRAM, "run", "--", ...round.command(promptFor(file), script)],
    cwd: work.path,
    clearEnv: true,
    env: environment({ ...env, PWD: work.path }), // some tools believe it
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
    signal: AbortSignal.timeout(PATIENCE_MS),
  });
  const { code, stdout, stderr } = await child.output();
  const [out, err] = [stdout, stderr].map((bytes) => new TextDecoder().decode(bytes));
  const told = `exit ${code}\n${out}\n${err}\n${seen(upstream.received)}`;
  const written = await Deno.readTextFile(file).catch(() => undefined);
  assert(written !== undefined, `the file was not written\n${told}`);
  assert(
    written === CONTENT,
    `the file has ${written.length} of ${CONTENT.length} characters\n${told}`,
  );
  assert(code === 0, `it failed\n${told}`);
  assert(round.silent || out!.includes(DONE), `it does not print the last reply\n${told}`);
  const requests = upstream.received.filter(({ body }) => body !== undefined).length;
  assert(requests > 0 && requests <= MAX_REQUESTS, `${requests} requests\n${told}`);
}

/** The program on a page, where its packages are found. */
async function writeScript(directory: string, page: string): Promise<string> {
  const text = await Deno.readTextFile(new URL(page, DOCS));
  const [, code] = /^```(?:ts|js)\n([\s\S]*?)^```$/m.exec(text) ?? [];
  assert(code !== undefined, `docs/clients/${page} has no program`);
  const path = `${directory}/page.mjs`;
  await Deno.writeTextFile(path, code);
  return path;
}

/** What a failure is looked into with: the requests as the upstream got them, in short. */
function seen(
  received: readonly { path: string; body: Record<string, unknown> | undefined }[],
): string {
  return received.map(({ path, body = {} }) => {
    const { model, stream, max_tokens, max_completion_tokens, tools, tool_choice } = body;
    const offered = Array.isArray(tools) ? tools.length : 0;
    const limit = max_completion_tokens ?? max_tokens;
    return `${path} ${JSON.stringify({ model, stream, limit, offered, tool_choice })}`;
  }).join("\n");
}

function option(name: string): string | undefined {
  const at = Deno.args.indexOf(`--${name}`);
  return at < 0 ? undefined : Deno.args[at + 1];
}

const only = option("only")?.split(",");
const dialects = DIALECTS.filter((one) =>
  [undefined, one].includes(option("upstream") as typeof one)
);
const rounds = ROUNDS.filter(({ name }) => only?.includes(name) ?? true);
for (const name of only ?? []) {
  assert(ROUNDS.some((round) => round.name === name), `Unknown tool ${name}`);
}
let failures = 0;
for (const round of rounds) {
  for (const dialect of dialects) {
    try {
      await drive(round, dialect);
      say(`ok    ${round.name} over ${dialect}`);
    } catch (error) {
      failures++;
      say(`FAIL  ${round.name} over ${dialect}: ${error instanceof Error ? error.message : error}`);
    }
  }
}
say(failures === 0 ? "clients: passed" : `clients: ${failures} failed`);
Deno.exit(failures === 0 ? 0 : 1);
