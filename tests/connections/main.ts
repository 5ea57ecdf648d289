/**
 * Attacks a gateway with connections of every kind and shows that another tenant does not notice: the process goes on, small
 * chats are answered soon, and memory comes back when the attack is over.
 *
 * `deno run -A --lock=tests/deno.lock tests/connections/main.ts --seconds 600 --seed N --megabytes 512`. Exit code 1 when
 * something did not hold; the last attacks are then printed. To find the one that
 * does it, `--attack NUMBER` repeats one alone, `--from NUMBER` begins with one, `--only "KIND;KIND"` keeps some kinds,
 * `--match TEXT` those with a text in their line.
 */

import { parseArgs } from "node:util";
import { Sockets } from "../../src/doors/http/sockets.ts";
import { say } from "../fake/command.ts";
import { sleep } from "../fake/temp.ts";
import { Campaign } from "./campaign.ts";
import { KINDS } from "./framings.ts";
import { type AttackedGateway, startAttacked } from "./gateway.ts";
import { MemoryWatch, residentBytes } from "./memory.ts";
import { Tenant, type Times } from "./tenant.ts";

/** What the tenant's chats may take: ninety-nine of a hundred. */
const P99_MS = 200;
/** Memory after the attack, beside what it was before. */
const GROWTH = 1.15;
const GROWTH_BYTES = 40 * 1_048_576;
const RECOVERY_MS = 60_000;
const WARM_UP_MS = 10_000;
const MEMORY_EVERY_MS = 100;
/** A chat that took longer is printed with what was going on. */
const SLOW_MS = 400;
const MAX_SLOW_TOLD = 12;
const MAX_FAILED_TOLD = 3;

const { values } = parseArgs({
  args: Deno.args,
  options: {
    seconds: { type: "string", default: "600" },
    seed: { type: "string", default: String(1 + Math.floor(Math.random() * 2 ** 31)) },
    megabytes: { type: "string", default: "512" },
    attackers: { type: "string", default: "16" },
    workers: { type: "string", default: "1" },
    deno: { type: "string", default: Deno.execPath() },
    only: { type: "string", default: "" },
    attack: { type: "string" },
    from: { type: "string", default: "0" },
    match: { type: "string", default: "" },
    defaults: { type: "boolean", default: false },
    log: { type: "string" },
  },
});

function number(name: "seconds" | "seed" | "megabytes" | "attackers" | "workers"): number {
  const value = Number(values[name]);
  if (value > 0) return value;
  say(`--${name} ${values[name]}: a number above 0`);
  Deno.exit(2);
}

const only = values.only.split(";").filter((name) => name !== "");
const kinds = KINDS.filter(({ name }) => only.length === 0 || only.includes(name));
if (kinds.length === 0 || only.some((name) => !KINDS.some((kind) => kind.name === name))) {
  say(`--only ${values.only}: there are ${KINDS.map(({ name }) => name).join("; ")}`);
  Deno.exit(2);
}
const [seconds, seed] = [number("seconds"), number("seed")];

function mb(bytes: number): string {
  return `${(bytes / 1_048_576).toFixed(0)} MB`;
}

function told({ count, p50Ms, p99Ms, worstMs }: Times): string {
  return `${count} chats: p50 ${p50Ms.toFixed(1)} ms, p99 ${p99Ms.toFixed(1)} ms, worst ${
    worstMs.toFixed(0)
  } ms`;
}

/** Attacks. Resolves with what did not hold. */
async function attack(gateway: AttackedGateway, campaign: Campaign): Promise<string[]> {
  const failures: string[] = [];
  const { group, process, ended } = gateway;
  const used = async () =>
    group === undefined ? (await residentBytes(process.pid)).now : await group.usedBytes();
  using tenant = new Tenant({ url: gateway.url, key: gateway.victimKey });
  await sleep(WARM_UP_MS);
  say(`before: ${told(tenant.take())}`);
  const beforeBytes = await used();
  const watch = new MemoryWatch(used, MEMORY_EVERY_MS);
  const startTick = performance.now();
  let slow = 0;
  let failed = 0;
  tenant.onChat = ({ tookMs, ownMs, fault, isNewConnection }) => {
    const isSlow = tookMs - ownMs >= SLOW_MS;
    if (!isSlow && (fault === undefined || ++failed > MAX_FAILED_TOLD)) return;
    if (isSlow && ++slow > MAX_SLOW_TOLD) return;
    const at = ((performance.now() - startTick) / 1_000).toFixed(1);
    say(
      `at ${at} s a chat took ${tookMs.toFixed(0)} ms (own ${ownMs.toFixed(0)}${
        isNewConnection ? ", new connection" : ""
      }) ${fault ?? ""}, ${mb(watch.lastBytes)}, during`,
    );
    for (const line of campaign.current) say(`    ${line.slice(0, 300)}`);
  };
  const attacking = campaign.run();
  while (ended() === undefined && performance.now() - startTick < seconds * 1_000) await sleep(100);
  const attackedSeconds = (performance.now() - startTick) / 1_000;
  await campaign.stop();
  await attacking;
  const during = tenant.take();
  say(`during: ${told(during)}`);
  if (during.p99Ms >= P99_MS) failures.push(`p99 is ${during.p99Ms.toFixed(0)} ms`);
  const bound = beforeBytes * GROWTH + GROWTH_BYTES;
  const overTick = performance.now();
  const isBack = () => watch.lastBytes <= bound;
  while (ended() === undefined && !isBack() && performance.now() - overTick < RECOVERY_MS) {
    await sleep(200);
  }
  const recoveredSeconds = (performance.now() - overTick) / 1_000;
  await watch.stop();
  const resident = await residentBytes(process.pid);
  const of = group === undefined ? "resident" : "in the group";
  say(
    `memory ${of}: ${mb(beforeBytes)} before, ${mb(watch.peakBytes)} at its peak, ${
      mb(watch.lastBytes)
    } after ${recoveredSeconds.toFixed(1)} s (at most ${mb(bound)}); most resident ${
      mb(resident.peak)
    }`,
  );
  if (group !== undefined && await group.reached()) say("the bound of the group was reached");
  const status = ended();
  if (status !== undefined) {
    failures.push(
      `the process ended after ${attackedSeconds.toFixed(1)} s: ${
        status.signal ?? `exit code ${status.code}`
      }: ${process.err().slice(-2_000)}`,
    );
  } else if (!isBack()) {
    failures.push(`${mb(watch.lastBytes)} are left, ${mb(beforeBytes)} were before`);
  }
  if (tenant.faults.length > 0) {
    failures.push(
      `${tenant.faults.length} chats were not answered, the first: ${tenant.faults[0]}`,
    );
  }
  const errors = gateway.logged("error");
  if (errors.length > 0) {
    failures.push(`${errors.length} errors in the log, the first: ${errors[0]}`);
  }
  if (campaign.notAccepted > 0) {
    failures.push(`${campaign.notAccepted} connections were not accepted`);
  }
  return failures;
}

function sayTally(campaign: Campaign): void {
  for (const [kind, { attacks, bytes, cut }] of campaign.tally) {
    say(
      `${kind.padEnd(24)} ${String(attacks).padStart(6)} attacks ${mb(bytes).padStart(9)} ${
        String(cut).padStart(6)
      } cut`,
    );
  }
}

say(
  `connections: ${seconds} s, seed ${seed}, ${values.attackers} attackers, gateway on ${values.deno}`,
);
const sockets = Sockets.open();
await using gateway = await startAttacked({
  megabytes: number("megabytes"),
  deno: values.deno,
  workers: number("workers"),
  isDefault: values.defaults,
});
say(
  gateway.group === undefined
    ? "memory cannot be bounded here: the resident memory of the process is looked at instead"
    : `memory is bounded to ${values.megabytes} MB`,
);
const campaign = new Campaign({
  seed,
  kinds,
  target: gateway.target,
  sockets,
  attackers: number("attackers"),
  only: values.attack === undefined ? undefined : Number(values.attack),
  from: Number(values.from),
  match: values.match,
});
const failures = await attack(gateway, campaign);
sayTally(campaign);
if (values.log !== undefined) {
  await Deno.writeTextFile(values.log, `${gateway.process.out()}\n${gateway.process.err()}`);
}
if (failures.length > 0) {
  say("\nthe last attacks:");
  for (const line of campaign.recent) say(line.slice(0, 400));
  say("\nwhat did not hold:");
  for (const line of failures) say(`  ${line}`);
}
say(`\nseed ${seed}`);
say(failures.length === 0 ? "connections: passed" : "connections: failed");
await gateway[Symbol.asyncDispose]();
Deno.exit(failures.length === 0 ? 0 : 1);
