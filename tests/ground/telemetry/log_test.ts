import { bufferedWriter, createLog } from "../../../src/ground/telemetry/mod.ts";
import { assert, assertEquals } from "../../assert.ts";
import { sleep, until } from "../../fake/temp.ts";

function logged(format: "json" | "pretty", level: "debug" | "warn" = "debug") {
  const lines: string[] = [];
  const log = createLog({ format, level, now: () => 0, write: (text) => lines.push(text) });
  return { log, lines };
}

Deno.test("createLog json: one line with time, level, message and fields", () => {
  const { log, lines } = logged("json");
  log.info("request", { id: "req_1", status: 200, nothing: undefined });
  assertEquals(lines, [
    '{"time":"1970-01-01T00:00:00.000Z","level":"info","message":"request","id":"req_1","status":200}\n',
  ]);
});

Deno.test("createLog: hostile values cannot forge lines, colour terminals or fill disks", () => {
  for (const format of ["json", "pretty"] as const) {
    const { log, lines } = logged(format);
    log.warn("seen\r\nfake line", {
      value: "a\nb\u001b[31mred\u2028c",
      long: "x".repeat(1_000_000),
    });
    assertEquals(lines.length, 1);
    assertEquals(lines[0]!.split(/[\r\n\u2028]/).length, 2, format);
    assert(!lines[0]!.includes("\u001b[31mred"));
    assert(lines[0]!.length < 3_000);
  }
});

Deno.test("createLog leaves out what is below its level", () => {
  const { log, lines } = logged("json", "warn");
  log.debug("a");
  log.info("b");
  log.warn("c");
  log.error("d");
  assertEquals(lines.length, 2);
});

Deno.test("bufferedWriter writes whole lines, however little is taken at a time", async () => {
  let written = "";
  const write = bufferedWriter({
    writeSync(bytes) {
      const taken = bytes.subarray(0, 3);
      written += new TextDecoder().decode(taken);
      return taken.length;
    },
  });
  write("first line\n");
  write("second line\n");
  assertEquals(written, "");
  await until(() => written.length === 23, { what: "the lines" });
  assertEquals(written, "first line\nsecond line\n");
  write("third\n");
  write.flush();
  assertEquals(written, "first line\nsecond line\nthird\n");
  await sleep(5); // nothing more is written
});
