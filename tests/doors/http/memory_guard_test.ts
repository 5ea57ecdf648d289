import { MemoryGuard } from "../../../src/doors/http/mod.ts";
import { limitFiles } from "../../../src/ground/platform/mod.ts";
import { Refusal } from "../../../src/ground/refusal.ts";
import { SILENT } from "../../../src/ground/telemetry/mod.ts";
import { assert, assertEquals, assertThrows } from "../../assert.ts";
import { Random, testSeed } from "../../fake/random.ts";

const MEGABYTE = 1_048_576;

Deno.test("requests are rejected above the limit, as long as memory stays above it", () => {
  const seed = testSeed();
  const random = new Random(seed);
  let bytes = 100 * MEGABYTE;
  /** What a collection leaves. */
  let liveBytes = bytes;
  let collections = 0;
  const guard = new MemoryGuard({
    limitBytes: 400 * MEGABYTE,
    residentBytes: () => bytes,
    inFlight: () => 10,
    connections: () => 10,
    collect: () => {
      collections++;
      bytes = Math.min(bytes, liveBytes);
    },
    log: SILENT,
  });
  guard.check();
  for (let step = 0; step < 200; step++) {
    liveBytes = random.integer(50, 600) * MEGABYTE;
    bytes = Math.max(liveBytes, random.integer(50, 600) * MEGABYTE);
    guard.look();
    assertEquals(guard.isShedding, bytes > 400 * MEGABYTE, `seed ${seed}, step ${step}`);
    if (guard.isShedding) {
      const { reason } = assertThrows(() => guard.check(), Refusal) as unknown as Refusal;
      assertEquals(reason, "gateway_unavailable");
    } else guard.check();
  }
  assert(collections <= 1, "a collection takes long: not more often than every two seconds");
  guard.close();
});

/** A guard whose figures a test sets, in megabytes; it looks five times a second. */
function guarded() {
  const at = { bytes: 100, liveBytes: 100, inFlight: 1, connections: 10, collections: 0 };
  let tick = 0;
  const guard = new MemoryGuard({
    limitBytes: 400 * MEGABYTE,
    residentBytes: () => at.bytes * MEGABYTE,
    inFlight: () => at.inFlight,
    connections: () => at.connections,
    collect: () => {
      at.collections++;
      at.bytes = Math.min(at.bytes, at.liveBytes);
    },
    log: SILENT,
    now: () => tick,
  });
  return {
    at,
    look(seconds: number) {
      for (let looks = 5 * seconds; looks > 0; looks--) {
        tick += 200;
        guard.look();
      }
    },
    [Symbol.dispose]: () => guard.close(),
  };
}

Deno.test("memory that a flood needed is given back once it is over, whatever was collected amid it", () => {
  using scene = guarded();
  const { at } = scene;
  at.inFlight = 0;
  scene.look(20);
  assertEquals(at.collections, 0, "there is nothing to collect");
  Object.assign(at, { inFlight: 50, bytes: 350, liveBytes: 260 });
  scene.look(10);
  assert(at.collections > 0 && at.bytes === 260, "the limit is near");
  Object.assign(at, { inFlight: 0, liveBytes: 110, collections: 0 });
  scene.look(20);
  assertEquals([at.collections, at.bytes], [1, 110]);
  scene.look(60);
  assertEquals(at.collections, 1, "it stays as it is");
  Object.assign(at, { bytes: 200, liveBytes: 200 }); // which is needed from now on
  scene.look(60);
  assertEquals(at.collections, 2);
});

Deno.test("what connections without requests held is given back once they are gone, whatever was collected meanwhile", () => {
  using scene = guarded();
  const { at } = scene;
  at.connections = 1;
  scene.look(1);
  Object.assign(at, { bytes: 250, liveBytes: 210, connections: 17 });
  scene.look(30);
  assertEquals([at.bytes, at.collections], [210, 1]);
  Object.assign(at, { liveBytes: 110, connections: 6 });
  scene.look(30);
  assertEquals(at.bytes, 110);
  Object.assign(at, { bytes: 210, liveBytes: 210, connections: 17 });
  scene.look(30);
  at.connections = 2;
  scene.look(300);
  assertEquals([at.bytes, at.collections], [210, 4], "what is needed is not looked for again");
});

Deno.test("when garbage is collected, and from what on requests are rejected (table)", () => {
  const [GROWN, HIGH, LIMIT] = [157 * MEGABYTE, 300 * MEGABYTE, 400 * MEGABYTE];
  for (
    const [bytes, sinceMs, inFlight, isCollected, isShedding] of [
      // with few requests, when it has grown by a quarter and 32 MiB, every ten seconds
      [GROWN, 10_001, 4, false, false],
      [GROWN + 1, 10_001, 4, true, false],
      [GROWN + 1, 10_000, 4, false, false],
      [GROWN + 1, 10_001, 5, false, false],
      // with many as well, above three quarters of the limit, every two
      [HIGH, 2_001, 10, false, false],
      [HIGH + 1, 2_001, 10, true, false],
      [HIGH + 1, 2_000, 10, false, false],
      // sooner where requests are rejected
      [LIMIT, 401, 10, false, false],
      [LIMIT + 1, 401, 10, true, true],
      [LIMIT + 1, 400, 10, false, true],
    ] as const
  ) {
    let [tick, resident, collections] = [0, 100 * MEGABYTE, 0];
    const logged: string[] = [];
    const guard = new MemoryGuard({
      limitBytes: LIMIT,
      residentBytes: () => resident,
      inFlight: () => inFlight,
      connections: () => 1,
      collect: () => collections++,
      log: {
        ...SILENT,
        warn: (text: string) => logged.push(text),
        info: (text: string) => logged.push(text),
      },
      now: () => tick,
    });
    guard.look();
    resident = bytes;
    tick = sinceMs;
    guard.look();
    const what = `${bytes / MEGABYTE} MiB after ${sinceMs} ms with ${inFlight}`;
    assertEquals([collections, guard.isShedding], [isCollected ? 1 : 0, isShedding], what);
    guard.look();
    resident = 100 * MEGABYTE;
    guard.look();
    assertEquals(guard.isShedding, false);
    const said = ["short of memory: requests are rejected", "memory is free again"];
    assertEquals(logged, isShedding ? said : [], "said once");
    guard.close();
  }
});

Deno.test("without a way to collect garbage no request is rejected", () => {
  const guard = new MemoryGuard({
    limitBytes: MEGABYTE,
    residentBytes: () => 100 * MEGABYTE,
    inFlight: () => 0,
    connections: () => 0,
    collect: undefined,
    log: SILENT,
  });
  guard.look();
  guard.check();
  guard.close();
});

Deno.test("limits of memory are those of a control group and of all above it", () => {
  assertEquals(limitFiles("0::/system.slice/sluice.service\n"), [
    "/sys/fs/cgroup/system.slice/sluice.service/memory.max",
    "/sys/fs/cgroup/system.slice/memory.max",
    "/sys/fs/cgroup/memory.max",
  ]);
  assertEquals(limitFiles("5:cpu,cpuacct:/x\n4:memory:/y\n1:name=systemd:/\n"), [
    "/sys/fs/cgroup/memory/y/memory.limit_in_bytes",
    "/sys/fs/cgroup/memory/memory.limit_in_bytes",
  ]);
  assertEquals(limitFiles(""), []);
});
