/**
 * Soaks a gateway: the real program, callers of every kind at once, upstreams that fail, for minutes.
 *
 * `deno task soak --seconds 60 --seed 7 --rate 30 --without hostile,images`. The same seed sends the same
 * requests in the same order. Exit code 1 when something did not hold; the last line says what.
 */

import { parseArgs } from "node:util";
import { say } from "../fake/command.ts";
import { Random } from "../fake/random.ts";
import { sleep, tempDir } from "../fake/temp.ts";
import { checkAtRest, checkLedger } from "./at_rest.ts";
import { badUpstream } from "./faults.ts";
import { faultsInLog, startSoaked } from "./gateway.ts";
import { imageHost, readPictures } from "./image_host.ts";
import { KINDS } from "./kinds.ts";
import { Load } from "./load.ts";
import { Failures, Tally } from "./tally.ts";
import { GoodUpstream } from "./upstreams.ts";
import { judgeMemory, Watch } from "./watch.ts";
import { imagesOf, makeKeys, soakSettings, type World } from "./world.ts";

/** The longest that the gateway may take to say that it is up. */
const STILL_MS = 1_000;
/** More than this is never resident. */
const HIGHEST_MB = 900;
/** For stopping; its own limit is `drainMs` of the settings. */
const STOP_MS = 20_000;

const { values } = parseArgs({
  args: Deno.args,
  options: {
    seconds: { type: "string", default: "600" },
    seed: { type: "string", default: String(1 + Math.floor(Math.random() * 2 ** 31)) },
    rate: { type: "string", default: "30" },
    without: { type: "string", default: "" },
    log: { type: "string" },
  },
});
const [seconds, seed, rate] = [positive("seconds"), positive("seed"), positive("rate")];
const GROUPS = new Set([...KINDS.map(({ group }) => group), "kills"]);
const without = values.without.split(",").filter((one) => one !== "");
for (const one of without) {
  if (!GROUPS.has(one)) usage(`--without ${one}: there are ${[...GROUPS].join(", ")}`);
}

function usage(message: string): never {
  Deno.stderr.writeSync(new TextEncoder().encode(`${message}\n`));
  Deno.exit(2);
}

function positive(name: "seconds" | "seed" | "rate"): number {
  const value = Number(values[name]);
  return value > 0 ? value : usage(`--${name} ${values[name]}: a number above 0`);
}

async function soak(failures: Failures): Promise<void> {
  await using directory = await tempDir();
  const pictures = await readPictures();
  await using images = imageHost(pictures);
  await using chat = new GoodUpstream("chat");
  await using messages = new GoodUpstream("messages");
  await using bad = badUpstream();
  const places = { chat: chat.url, messages: messages.url, bad: bad.url, imageHost: images.host };
  await using gateway = await startSoaked(directory.path, soakSettings(places));
  const world: World = {
    keys: await makeKeys(gateway),
    imageBase: `http://${images.host}`,
    ...imagesOf(pictures),
    kills: !without.includes("kills"),
  };
  const tally = new Tally();
  const kinds = KINDS.filter(({ group }) => !without.includes(group));
  const load = new Load({ gateway, world, kinds, seed, tally, failures });
  const watch = new Watch(gateway.pid, gateway.url);
  const over = new AbortController();
  const killing = world.kills ? kill([chat, messages], over.signal) : undefined;
  await load.run(seconds, rate);
  over.abort();
  await killing;
  await watch.stop();

  const ended = gateway.ended();
  if (ended !== undefined) {
    failures.add(
      "the gateway ended by itself",
      `exit code ${ended.code} after ${watch.seconds.toFixed(0)} s`,
    );
  } else {
    await checkAtRest(gateway, world, failures);
    const code = await gateway.stop(STOP_MS);
    if (code !== 0) failures.add("the gateway did not stop as asked", `exit code ${code}`);
  }
  await checkLedger(gateway, failures, { killed: ended !== undefined });
  for (const [fault, count] of await faultsInLog(gateway.logFile)) {
    for (let times = 0; times < count; times++) failures.add(`in the log: ${fault}`);
  }
  if (values.log !== undefined) await Deno.copyFile(gateway.logFile, values.log);

  say("");
  for (const line of tally.lines()) say(line);
  say(`\nlongest that /healthz took: ${watch.longestMs.toFixed(0)} ms`);
  if (watch.longestMs > STILL_MS) {
    failures.add(
      `the gateway did not attend for more than ${STILL_MS} ms`,
      `${watch.longestMs.toFixed(0)} ms`,
    );
  }
  sayMemory(watch, failures, ended === undefined);
}

function sayMemory(watch: Watch, failures: Failures, whole: boolean): void {
  if (watch.memory.length === 0) return say("memory: this system does not tell");
  const every = Math.ceil(watch.memory.length / 20);
  const readings = watch.memory.filter((_, at) => at % every === 0);
  say(
    `memory, MB at s: ${
      readings.map(({ at, mb }) => `${mb.toFixed(0)}@${at.toFixed(0)}`).join(" ")
    }`,
  );
  say(`highest: ${watch.highestMb.toFixed(0)} MB`);
  if (watch.highestMb > HIGHEST_MB) {
    failures.add(`more than ${HIGHEST_MB} MB resident`, `${watch.highestMb.toFixed(0)} MB`);
  }
  const verdict = whole ? judgeMemory(watch, seconds) : undefined;
  if (verdict === undefined) return;
  const { early, late, margin, within } = verdict;
  const told = `${early.toFixed(0)} MB warmed up, ${late.toFixed(0)} MB at the end`;
  say(`${told} (at most ${margin * 100} % more)`);
  if (!within) failures.add(`memory grew by more than ${margin * 100} %`, told);
}

/** Kills a good upstream now and then, never both at once. */
async function kill(upstreams: readonly GoodUpstream[], over: AbortSignal): Promise<void> {
  const random = new Random(seed + 1);
  while (true) {
    const waitMs = random.integer(3_000, 10_000);
    for (let slept = 0; slept < waitMs; slept += 100) {
      if (over.aborted) return;
      await sleep(100);
    }
    await random.pick(upstreams).killFor(random.integer(100, 1_500));
  }
}

say(`soak: ${seconds} s, seed ${seed}, ${rate} callers a second`);
if (without.length > 0) say(`without ${without.join(", ")}`);
const failures = new Failures(say);
await soak(failures).catch((error: unknown) => {
  failures.add("the soak could not go on", error instanceof Error ? error.stack : String(error));
});
if (failures.size > 0) {
  say("\nwhat did not hold:");
  for (const line of failures.lines()) say(line);
}
say(`\nseed ${seed}`);
say(failures.size === 0 ? "soak: passed" : `soak: failed: ${failures.summary()}`);
Deno.exit(failures.size === 0 ? 0 : 1);
