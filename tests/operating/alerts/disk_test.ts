import { diskCondition } from "../../../src/operating/alerts/disk.ts";
import { assertEquals } from "../../assert.ts";

Deno.test("a disk is nearly full below a gigabyte, and below a twentieth of it", () => {
  const cases = [
    [1e9, 20e9, false],
    [1e9 - 1, 2e9, true],
    [10e9, 200e9, false],
    [10e9 - 1, 200e9, true],
    [0, 1e6, true],
  ] as const;
  for (const [freeBytes, allBytes, isLow] of cases) {
    const found = diskCondition("/data", { freeBytes, allBytes });
    assertEquals(found !== undefined, isLow, `${freeBytes} of ${allBytes}`);
    if (isLow) assertEquals([found!.name, found!.kind], ["disk:/data", "disk"]);
  }
});
