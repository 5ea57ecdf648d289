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

Deno.test("without a way to collect garbage no request is rejected", () => {
  const guard = new MemoryGuard({
    limitBytes: MEGABYTE,
    residentBytes: () => 100 * MEGABYTE,
    inFlight: () => 0,
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
