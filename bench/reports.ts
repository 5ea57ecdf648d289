/**
 * What do reports do to requests beside them? A database of 90 days is written once, then one account with a tenth of all requests reads
 * reports and exports in four loops, while another account sends small chats one after the other.
 *
 *     deno run -A --lock=tests/deno.lock bench/reports.ts --requests 2000000 --data DIR [--program OTHER_CHECKOUT]
 */

import { parseArgs } from "node:util";
import { environment, say, startCommand } from "../tests/fake/command.ts";
import { sluice } from "../tests/fake/shell.ts";
import { largeSettings, writeLargeDatabase } from "./large_database.ts";

const READERS = 4;
const ROUND_MS = 6_000;
const ROUNDS = 3;
const PATHS = {
  reports: "/console/usage?by=day,key&since=90d",
  exports: "/console/usage/requests.csv?since=30d",
} as const;

const { values } = parseArgs({
  args: Deno.args,
  options: {
    requests: { type: "string", default: "2000000" },
    data: { type: "string" },
    program: { type: "string", default: new URL("..", import.meta.url).pathname },
  },
});
const directory = values.data ?? await Deno.makeTempDir();
const data = `${directory}/data`;
if (!await Deno.stat(`${data}/built`).then(() => true, () => false)) {
  await Deno.mkdir(data, { recursive: true });
  await writeLargeDatabase(data, Number(values.requests));
  await Deno.writeTextFile(`${data}/built`, "");
}
await Deno.writeTextFile(
  `${directory}/sluice.jsonc`,
  JSON.stringify({
    ...largeSettings(data),
    port: 0,
    tiers: [{ above: 0, minute: 1e6, hour: 1e7, day: 1e8 }],
    owner: { email: "owner@example.com", key: `sk-${"b".repeat(40)}` },
  }),
);
await using gateway = startCommand([], {
  directory,
  program: Deno.execPath(),
  programArgs: [
    "run",
    "--quiet",
    "-A",
    `--config=${values.program}/deno.json`,
    `${values.program}/main.ts`,
  ],
  env: environment(),
});
const [, url = ""] = await gateway.waitFor(/listening on (http:\S+)/);
await gateway.waitFor(/curl/);
const link = await sluice(["account", "link", "big@example.com", "--json"], { directory });
const signIn = await fetch(new URL(new URL(JSON.parse(link.out).link).pathname, url), {
  redirect: "manual",
});
const cookie = signIn.headers.get("set-cookie")!.split(";")[0]!;
await signIn.body?.cancel();

async function chat(): Promise<number> {
  const startedTick = performance.now();
  const response = await fetch(`${url}/v1/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer sk-${"b".repeat(40)}` },
    body: JSON.stringify({
      model: "svc-k2",
      messages: [{ role: "user", content: "Hi [[say hello]]" }],
    }),
  });
  await response.text();
  if (response.status !== 200) throw new Error(`a chat: ${response.status}`);
  return performance.now() - startedTick;
}

async function round(path: string | undefined): Promise<{ taken: number[]; reports: number }> {
  const untilTick = performance.now() + ROUND_MS;
  let reports = 0;
  const readers = Array.from({ length: path === undefined ? 0 : READERS }, async () => {
    while (performance.now() < untilTick) {
      const response = await fetch(`${url}${path}`, { headers: { cookie } });
      for await (const _ of response.body!) if (performance.now() > untilTick) break;
      if (response.status !== 200) throw new Error(`${path}: ${response.status}`);
      reports++;
    }
  });
  const taken: number[] = [];
  while (performance.now() < untilTick) taken.push(await chat());
  await Promise.all(readers);
  return { taken: taken.sort((one, other) => one - other), reports };
}

for (let at = 0; at < ROUNDS; at++) {
  for (const [name, path] of [["alone", undefined], ...Object.entries(PATHS)] as const) {
    const { taken, reports } = await round(path);
    const part = (p: number) => taken[Math.floor(p * (taken.length - 1))]!.toFixed(1);
    say(
      `${name}: ${taken.length} chats, p50 ${part(0.5)} ms, p99 ${
        part(0.99)
      } ms; ${reports} reports`,
    );
  }
}
