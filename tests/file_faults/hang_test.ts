/** A disk that does not answer for a while, under load. */

import { assert, assertEquals, assertMatch, assertStringIncludes } from "../assert.ts";
import { alertReceiver } from "../fake/alert_receiver.ts";
import { sleep, tempDir, until } from "../fake/temp.ts";
import { isProof, PROOF, sized } from "../tier.ts";
import { checkAtRest } from "./at_rest.ts";
import { Callers, type Outcome } from "./callers.ts";
import { canCompile } from "../fake/c_library.ts";
import { type Call, type CallFaults, FaultControl, type File } from "./control.ts";
import { compileFaulty, FaultyGateway, prepare } from "./gateway.ts";

/** How long the disk hangs: longer than it takes until that is noticed. */
const HANG_MS = sized(4_000, 25_000);
/** Replies of a test's callers that count as service. */
const ENOUGH = 20;
const ALWAYS = 65_536;

/** What of a disk does not answer. */
function hang(files: readonly File[], calls: readonly Call[]): CallFaults[] {
  return calls.map((call) => ({ call, partsPer65536: ALWAYS, kinds: ["hang"], files }));
}
const DATABASE = hang(["database", "log", "index"], ["open", "read", "write", "sync", "truncate"]);
const WHOLE_DISK = hang(
  ["database", "log", "index", "outbox"],
  ["open", "read", "write", "sync", "truncate", "unlink", "allocate"],
);
/** The disk of the database hangs, and nothing more fits on that of the outbox. */
const FULL_BESIDE: CallFaults[] = [
  ...hang(["database", "log"], ["sync"]),
  { call: "write", partsPer65536: ALWAYS, kinds: ["ENOSPC"], files: ["outbox"] },
];

async function scene() {
  const stack = new AsyncDisposableStack();
  const { path } = stack.use(await tempDir());
  const library = await compileFaulty(path);
  const receiver = stack.use(alertReceiver());
  const keys = await prepare(path, {
    alerts: {
      receivers: {
        ops: { url: receiver.url, secret: "secret", alerts: ["database_down", "database_up"] },
      },
      allowPrivateHosts: [receiver.host],
    },
  });
  const control = stack.use(new FaultControl(`${path}/control`));
  const gateway = stack.use(new FaultyGateway(path, library, control.path));
  await gateway.start();
  const callers = new Callers(keys, 1, () => gateway.url, { restMs: sized(100, 0) });
  callers.start();
  stack.defer(() => {
    control.stop(); // else it could not even be stopped
    return callers.stop();
  });
  const replies = (what: string) => {
    callers.recent = [];
    const isServed = () =>
      callers.recent.filter(({ kind }) => kind === "acknowledged").length > ENOUGH;
    return until(isServed, { what });
  };
  await replies("replies");
  await sleep(1_500); // for a loan of each account
  return {
    control,
    gateway,
    callers,
    replies,
    receiver,
    /** What the files say in the end. */
    async atRest() {
      await callers.stop();
      assertEquals((await gateway.stop()).code, 0);
      return await checkAtRest(path, `${path}/copy`, callers);
    },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

/** Nobody is told that something failed, and what they are told is charged. */
function assertSound(callers: Callers, found: Awaited<ReturnType<typeof checkAtRest>>) {
  const [refused] = callers.refused.values();
  assertEquals(refused, undefined);
  assertEquals(found.failures, []);
  assertEquals(found.charges, callers.acknowledged.size + found.unanswered);
}

/** The longest of 99 in a hundred, in milliseconds. */
function p99(outcomes: readonly Outcome[]): number {
  const ms = outcomes.map(({ startTick, endTick }) => endTick - startTick).toSorted((a, b) =>
    a - b
  );
  return ms[Math.floor(0.99 * (ms.length - 1))]!;
}

// Proves P2, P5, P6.
Deno.test({
  name:
    "a disk that hangs under load: no request with lent credits fails, and a gateway that is killed meanwhile charges each once",
  ignore: !canCompile,
  async fn() {
    await using at = await scene();
    const { control, gateway, callers, receiver } = at;
    control.start(DATABASE, 1);
    await sleep(1_000); // in which it is noticed
    callers.recent = [];
    await sleep(HANG_MS);
    const during = callers.recent;
    assert(during.length > ENOUGH);
    if (isProof) assert(p99(during) < 1_500, `${p99(during)} ms`);
    await until(async () => (await metricsOf(gateway)).includes("\nsluice_detached 1\n"), {
      what: "the metrics to say so",
    });
    assertMatch(await metricsOf(gateway), /^sluice_settlements_kept [1-9]/m);
    const ready = await fetch(`${gateway.url}/readyz`);
    assertEquals(ready.status, 503);
    assertStringIncludes(await ready.text(), "the database does not answer");
    await at.replies("replies while the disk hangs");
    await receiver.waitFor(1);
    assertMatch(receiver.marks[0]!, /^database_down:/);
    assertStringIncludes(gateway.log, "the database cannot be used");
    assertEquals(callers.unanswered, 0);
    await gateway.kill();
    const started = gateway.start(); // while the disk hangs
    await sleep(HANG_MS / 4);
    control.stop();
    await started;
    await at.replies("replies of the next one");
    assertSound(callers, await at.atRest());
  },
});

for (
  const [name, faults] of [["with the outbox on it", WHOLE_DISK], [
    "while that of the outbox is full",
    FULL_BESIDE,
  ]] as const
) {
  // Proves P2, P5, P6.
  Deno.test({
    name: `a disk that hangs ${name}: replies wait for it, and none fails`,
    ignore: !canCompile || PROOF.ignore,
    async fn() {
      await using at = await scene();
      const { control, callers, receiver } = at;
      control.start(faults, 1);
      await sleep(HANG_MS);
      await receiver.waitFor(1); // which needs no file
      control.stop();
      await at.replies("replies once it answers");
      await receiver.waitFor(2);
      assertEquals(receiver.marks.map((mark) => mark.split(":")[0]), [
        "database_down",
        "database_up",
      ]);
      assertEquals(callers.unanswered, 0);
      assertSound(callers, await at.atRest());
    },
  });
}

async function metricsOf(gateway: FaultyGateway): Promise<string> {
  return await (await fetch(`${gateway.url}/metrics`)).text();
}
