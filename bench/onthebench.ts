/**
 * Does `bench/onthebench/` do what the runner of onthebench.ai asks of a gateway's folder?
 *
 * Plays that runner, over the benchmarks' upstream: builds, launches, waits until a request is replied to, sends load, reads memory, and stops,
 * for each dialect that the folder declares. Everything is on, as always.
 *
 * `deno run -A bench/onthebench.ts [SECONDS]`; needs `bash`, `taskset` and `wrk`. `SLUICE_BIN` names an executable; by default it is compiled.
 */

import { freePort, startUpstream } from "./gateways.ts";
import { pause, runWrk, say } from "./harness.ts";

const [seconds = 5] = Deno.args.map(Number);
const directory = await Deno.makeTempDir({ prefix: "sluice-onthebench-" });
const source = new URL("../", import.meta.url).pathname;
await Deno.copyFile(`${source}bench/onthebench/gateway.sh`, `${directory}/gateway.sh`);

await using upstream = await startUpstream();
const port = freePort();
const env = {
  GW_DIR: directory,
  GW_PORT: String(port),
  MOCK_PORT: String(upstream.port),
  CORES: `0-${navigator.hardwareConcurrency - 1}`,
  SLUICE_SOURCE: Deno.env.get("SLUICE_SOURCE") ?? source,
};

/** What a function or variable of the folder gives, as the runner calls it: sourced. */
async function call(script: string): Promise<string> {
  const { success, stdout } = await new Deno.Command("bash", {
    args: ["-c", `source "$GW_DIR/gateway.sh" && ${script}`],
    env,
    stdin: "null",
    stderr: "inherit",
  }).output();
  if (!success) {
    throw new Error(`${script} failed:\n${await Deno.readTextFile(`${directory}/sluice.log`)}`);
  }
  return new TextDecoder().decode(stdout).trim();
}

try {
  await call("gw_build >&2");
  const [path, model, key, egress] = (await call(
    'printf "%s\\n" "$GW_PATH" "$GW_MODEL" "$GW_AUTH" "$GW_MATRIX_EGRESS"',
  )).split("\n") as [string, string, string, string];
  say(await call("gw_version"));
  const body = JSON.stringify({
    model,
    messages: [{ role: "user", content: "Hello" }],
    max_tokens: 16,
  });
  const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
  const served = async () => {
    const reply = await fetch(`http://127.0.0.1:${port}${path}`, { method: "POST", headers, body })
      .catch(() => undefined);
    await reply?.body?.cancel();
    return reply?.status === 200;
  };
  const launches: [name: string, script: string][] = [
    ["launch", "gw_launch"],
    ["governed", "gw_governed_launch"],
    ...egress.split(" ").map((name): [string, string] => [name, `gw_matrix_egress ${name}`]),
  ];
  for (const [name, script] of launches) {
    await call(script);
    for (let times = 0; !await served(); times++) {
      if (times === 600) throw new Error(`${name}: not served:\n${await call("gw_diag")}`);
      await pause(100);
    }
    const idle = await call("gw_rss");
    const { rate, p50, p99, errors } = await runWrk({ port, path, headers, body }, {
      seconds,
      connections: 32,
    });
    say(
      `  ${name.padEnd(18)} ${rate.toFixed(0)}/s  p50 ${p50.toFixed(1)} ms  p99 ${
        p99.toFixed(1)
      } ms  errors ${errors}` +
        `  memory ${idle} MiB idle, ${await call("gw_rss")} after, ${await call("gw_hwm")} at most`,
    );
    await call("gw_stop");
    if (await served()) throw new Error(`${name}: still served after gw_stop`);
  }
} finally {
  await call("gw_stop");
  await Deno.remove(directory, { recursive: true });
}
