import type { SettingsInput } from "../../src/settings/config/mod.ts";
import { environment, type Finished, PROGRAM, sluice } from "../fake/command.ts";
import { sleep } from "../fake/temp.ts";

/** The gateway as a process of its own, its log in a file. */
export interface SoakedGateway extends AsyncDisposable {
  readonly pid: number;
  readonly url: string;
  readonly ownerKey: string;
  readonly logFile: string;
  /** How it ended; undefined while it runs. */
  readonly ended: () => Deno.CommandStatus | undefined;
  /** Runs a command on its data; answers what it printed as JSON, and its exit code. */
  command(...args: string[]): Promise<{ code: number; json: Record<string, unknown> }>;
  /** Asks it to stop; answers its exit code, undefined if it did not end in time. */
  stop(withinMs: number): Promise<number | undefined>;
}

/** Starts `sluice serve` in `directory`. Disposing kills it. */
export async function startSoaked(
  directory: string,
  settings: SettingsInput,
): Promise<SoakedGateway> {
  const config = `${directory}/sluice.jsonc`;
  const logFile = `${directory}/gateway.log`;
  const place = ["--data", `${directory}/data`, "--config", config];
  const ownerKey = `sk-${crypto.randomUUID().replaceAll("-", "")}`;
  const env = { SLUICE_OWNER_KEY: ownerKey, SLUICE_LOG: "json" };
  await Deno.writeTextFile(config, JSON.stringify(settings, null, 2));
  const child = new Deno.Command(Deno.execPath(), {
    args: [...PROGRAM, "serve", "--port", "0", ...place],
    cwd: directory,
    clearEnv: true,
    env: environment(env),
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  const log = await Deno.open(logFile, { write: true, create: true, truncate: true });
  const logged = child.stderr.pipeTo(log.writable);
  let said = "";
  const read = async () => {
    for await (const text of child.stdout.pipeThrough(new TextDecoderStream())) said += text;
  };
  const reading = read();
  let status: Deno.CommandStatus | undefined;
  const ending = child.status.then((one) => status = one);
  let url: string | undefined;
  while (url === undefined && status === undefined) {
    url = /listening on (http:\S+)/.exec(said)?.[1];
    await sleep(20);
  }
  if (url === undefined) {
    await logged;
    throw new Error(`the gateway did not start: ${await Deno.readTextFile(logFile)}`);
  }
  return {
    pid: child.pid,
    url,
    ownerKey,
    logFile,
    ended: () => status,
    async command(...args) {
      const { code, out, err }: Finished = await sluice([...args, "--json", ...place], {
        directory,
        env,
      });
      if (out === "") throw new Error(`sluice ${args.join(" ")}: exit ${code}: ${err}`);
      return { code, json: JSON.parse(out) };
    },
    async stop(withinMs) {
      if (status === undefined) child.kill("SIGTERM");
      let late: ReturnType<typeof setTimeout> | undefined;
      const timeout = new Promise<undefined>((resolve) => {
        late = setTimeout(() => resolve(undefined), withinMs);
      });
      const code = await Promise.race([ending.then(({ code }) => code), timeout]);
      clearTimeout(late);
      return code;
    },
    async [Symbol.asyncDispose]() {
      if (status === undefined) child.kill("SIGKILL");
      await ending;
      await Promise.all([reading, logged]);
    },
  };
}

/** What the log holds that should not be there: faults of ours and lines that are no log lines. */
export async function faultsInLog(logFile: string): Promise<Map<string, number>> {
  const found = new Map<string, number>();
  let strange = ""; // what is no log line may be of several: an error that ends the process has a stack
  for (const line of [...(await Deno.readTextFile(logFile)).split("\n"), '{"time":']) {
    if (!line.startsWith('{"time":')) {
      strange += `${line}\n`;
      continue;
    }
    for (const fault of [strangeIn(strange), faultIn(line)]) {
      if (fault !== undefined) found.set(fault, (found.get(fault) ?? 0) + 1);
    }
    strange = "";
  }
  return found;
}

function faultIn(line: string): string | undefined {
  let entry: Record<string, unknown>;
  try {
    entry = JSON.parse(line);
  } catch {
    return undefined; // cut off where the process ended
  }
  const { level, message, error, path, reason } = entry;
  if (level !== "error" && !/unhandled|uncaught/i.test(line)) return undefined;
  const about = [path, reason, String(error ?? "").split("\n")[0]];
  return `${level}: ${message} ${about.filter((one) => one !== undefined).join(" ")}`.slice(0, 400);
}

function strangeIn(text: string): string | undefined {
  const told = text.replaceAll(/^npm warn .*$/gm, ""); // a wrapper of the runtime, of its own settings
  return told.trim() === "" ? undefined : told.replaceAll(/\s+/g, " ").slice(0, 600);
}
