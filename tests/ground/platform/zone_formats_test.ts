import { ZoneFormats } from "../../../src/ground/platform/mod.ts";
import { assertEquals, assertThrows } from "../../assert.ts";

const FORMATS = new ZoneFormats("en-US", { hour: "2-digit", hourCycle: "h23" });

Deno.test("ZoneFormats keeps the format of a zone", () => {
  assertEquals(FORMATS.of("Asia/Tokyo").format(0), "09");
  assertEquals(FORMATS.of("Asia/Tokyo"), FORMATS.of("Asia/Tokyo"));
  assertThrows(() => FORMATS.of("Mars/Olympus"), RangeError);
});

Deno.test("ZoneFormats keeps a bounded number, however a zone is written", () => {
  const first = FORMATS.of("america/los_angeles");
  const letters = [..."america/los_angeles"];
  for (let n = 1; n <= 2_500; n++) {
    const zone = letters.map((letter, at) => (n >> at) & 1 ? letter.toUpperCase() : letter).join(
      "",
    );
    assertEquals(FORMATS.of(zone).format(0), "16");
  }
  assertEquals(FORMATS.of("america/los_angeles") === first, false, "all were kept");
});
