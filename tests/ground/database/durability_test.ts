import { assert, assertEquals } from "../../assert.ts";
import { environment, scriptArgs } from "../../fake/command.ts";
import { tempDir } from "../../fake/temp.ts";

const COUNT = 12;

/** Whether system calls can be watched here. */
const canTrace = await new Deno.Command("strace", { args: ["-qq", "-e", "trace=none", "true"] })
  .output().then(({ success }) => success, () => false);

/**
 * Runs `tests/fake/writer.ts` and watches it.
 *
 * @param options.inject What is done to system calls, in the words of strace.
 * @returns What it printed and which files it made durable, in order: `ok`, `sync log`, `sync file`, `sync outbox`, `sync directory`.
 */
async function watched(
  durability: string,
  { count = COUNT, inject = [], kind = "" }: {
    count?: number;
    inject?: readonly string[];
    kind?: "repeatable" | "behind" | "";
  } = {},
): Promise<string[]> {
  await using dir = await tempDir();
  const { code, stderr } = await new Deno.Command("strace", {
    args: [
      ...["-f", "-qq", "-y", "-o", `${dir.path}/calls`],
      ...["-e", "trace=fdatasync,fsync,write", ...inject],
      ...[Deno.execPath(), ...scriptArgs("writer.ts")],
      ...[`${dir.path}/sluice.db`, durability, String(count), kind],
    ],
    clearEnv: true,
    env: environment(),
    stdout: "null",
  }).output();
  assertEquals(code, 0, new TextDecoder().decode(stderr));
  const calls = (await Deno.readTextFile(`${dir.path}/calls`)).split("\n").flatMap((line) => {
    const said = /write\(1<[^>]*>, "([^"\\]+)\\n"/.exec(line)?.[1];
    if (said !== undefined) return [said];
    const [, synced] = /sync\(\d+<([^>]*)>/.exec(line) ?? [];
    return synced === undefined ? [] : [`sync ${nameOf(synced, dir.path)}`];
  });
  return calls.slice(calls.indexOf("begin") + 1, calls.indexOf("end"));
}

function nameOf(path: string, directory: string): string {
  if (path === directory) return "directory";
  if (path.includes("-outbox-")) return "outbox";
  return path.endsWith("-wal") ? "log" : "file";
}

// Proves P6.
Deno.test({
  name:
    "durability full: an outbox has its name in the directory before the first item counts as kept",
  ignore: !canTrace,
  async fn() {
    const calls = await watched("full", { kind: "behind" });
    const first = calls.slice(0, calls.indexOf("ok"));
    assert(first.includes("sync directory"), calls.join(", "));
    const between = calls.slice(first.length).filter((call) => /outbox|ok/.test(call));
    assertEquals(between.slice(0, 5), ["ok", "sync outbox", "ok", "sync outbox", "ok"]);
  },
});

// Proves P6.
Deno.test({
  name: "durability full: each write waits for the disk; normal: none does",
  ignore: !canTrace,
  async fn() {
    const full = await watched("full");
    assertEquals(full, Array.from({ length: COUNT }, () => ["sync log", "ok"]).flat());
    const normal = await watched("normal");
    assertEquals(normal, Array.from({ length: COUNT }, () => "ok"));
  },
});

Deno.test({
  name: "durability full: what may be written twice is, once the log was copied, when a sync fails",
  ignore: !canTrace,
  async fn() {
    const inject = ["-e", "inject=fdatasync:error=EIO:when=6"];
    // strace counts for each thread: the sixth sync of one may be the library's own while it copies the log, which
    // fails the write as it should. What is tested needs a sync of ours.
    let said: string[] = [];
    for (
      let tries = 0;
      tries < 5 && !(said.length > 0 && said.every((one) => one === "ok"));
      tries++
    ) {
      const calls = await watched("full", { count: 4 * COUNT, inject, kind: "repeatable" });
      said = calls.filter((call) => !call.startsWith("sync"));
      assert(calls.includes("sync file"), calls.join(", "));
    }
    assertEquals([...new Set(said)], ["ok"]);
  },
});

Deno.test({
  name:
    "durability full: a disk that fails is told, and the log is not trusted again before it is copied",
  ignore: !canTrace,
  async fn() {
    // strace counts for each thread, of which there are several; the first calls are those of the migrations
    const count = 4 * COUNT;
    const inject = ["-e", "inject=fdatasync:error=EIO:when=6..7"];
    const calls = await watched("full", { count, inject });
    const failed = calls.lastIndexOf("SQLITE_IOERR_FSYNC");
    const next = calls.indexOf("ok", failed);
    assert(failed >= 0 && next > failed, calls.join(", "));
    assert(calls.slice(failed, next).includes("sync file"), calls.join(", "));
    assertEquals(calls.filter((call) => !call.startsWith("sync")).length, count);
  },
});
