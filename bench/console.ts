/**
 * How long do pages take with a million recorded requests? `deno run -A bench/console.ts [ROWS]`
 *
 * In one run, on loopback: the first page, usage and requests of an account, fifty times each.
 */

import { settle } from "../src/ledger/mod.ts";
import { newRequestId } from "../src/platform/ids.ts";
import { startGateway } from "../tests/fake/gateway.ts";
import { signedIn } from "../tests/fake/visitor.ts";
import { median, say } from "./harness.ts";

const ROWS = Number(Deno.args[0] ?? 1_000_000);
const HOUR_MS = 3_600_000;
const ROUNDS = 50;

await using gateway = await startGateway({ settings: { credits: { ownerGrant: 1e12 } } });
const { database, owner, keys } = gateway.gateway;
const [key] = await keys.list(owner);
const now = Date.now();
for (let at = 0; at < ROWS;) {
  const batch: Promise<unknown>[] = [];
  for (; at < ROWS && batch.length < 2_000; at++) {
    const startedAtMs = now - Math.floor((ROWS - at) / ROWS * 60 * 24 * HOUR_MS);
    batch.push(settle(database, {
      requestId: newRequestId(startedAtMs),
      accountId: owner.id,
      keyId: key!.id,
      dialect: "chat",
      route: ["svc-k2", "svc-k2.6", "svc-k3"][at % 3]!,
      upstream: "simulator",
      upstreamModel: "m",
      attempts: 1,
      status: 200,
      ending: "complete",
      streamed: false,
      usageSource: "upstream",
      inputTokens: 100,
      cachedTokens: 0,
      outputTokens: 50,
      reasoningTokens: 0,
      startedAtMs,
      firstTokenMs: 5,
      durationMs: 10,
      priceCredits: 1,
      ignored: "",
      prices: { input: 100, cached: 25, output: 400, minimum: 1 },
      admittedAtMs: startedAtMs,
      settledAtMs: startedAtMs,
    }));
  }
  await Promise.all(batch);
}
const browser = await signedIn(gateway, owner.email);
say(`Deno ${Deno.version.deno}, ${ROWS} requests in 60 days, ${ROUNDS} rounds`);
for (
  const path of ["/console/", "/console/usage?by=model", "/console/requests", "/console/credits"]
) {
  const times: number[] = [];
  let bytes = 0;
  for (let round = 0; round < ROUNDS; round++) {
    const start = performance.now();
    bytes = (await (await browser.get(path)).arrayBuffer()).byteLength;
    times.push(performance.now() - start);
  }
  const slowest = Math.max(...times).toFixed(1);
  say(
    `  ${path.padEnd(26)} median ${
      median(times).toFixed(1)
    } ms, slowest ${slowest} ms, ${bytes} bytes`,
  );
}
let total = (await (await browser.get("/console/")).arrayBuffer()).byteLength;
for (const name of ["style.css", "console.js", "icon.svg"]) {
  total += (await (await browser.get(`/console/assets/${name}`)).arrayBuffer()).byteLength;
}
say(`  first page with what it loads: ${total} bytes`);
