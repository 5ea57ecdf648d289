import { announcedGateway, AnnouncementFile } from "../../../src/ground/database/mod.ts";
import { assertEquals, assertThrows } from "../../assert.ts";
import { tempDir } from "../../fake/temp.ts";

const { PermissionDenied } = Deno.errors;

Deno.test({
  name:
    "without room for another file a gateway writes its own announcement again, and nobody else's",
  ignore: Deno.build.os !== "linux",
  async fn() {
    await using dir = await tempDir();
    const lock = `${dir.path}/gateway.id`;
    await Deno.writeTextFile(lock, "");
    const file = new AnnouncementFile(dir.path, lock);
    const said = {
      url: "http://127.0.0.1:8787",
      pid: Deno.pid,
      workers: 1,
      settings: null,
      reload: null,
    };
    const reload = { count: 1, atMs: 5, fault: null, needRestart: [] };
    assertThrows(() => withoutNewFiles(dir.path, () => file.write(said)), PermissionDenied);
    assertEquals(await announcedGateway(dir.path), undefined);
    file.write(said);
    withoutNewFiles(dir.path, () => file.write({ ...said, reload }));
    assertEquals((await announcedGateway(dir.path))?.reload, reload);
    // another gateway has taken over
    const next = { ...said, pid: Deno.pid + 1 };
    file.write(next);
    const late = () => withoutNewFiles(dir.path, () => file.write({ ...said, reload }));
    assertThrows(late, PermissionDenied);
    assertEquals((await announcedGateway(dir.path))?.pid, next.pid);
  },
});

/** Does something while this thread can make no file in a directory, which root could whatever the directory's mode. */
function withoutNewFiles(directory: string, work: () => void): void {
  // capget(2), capset(2): version 3, this thread; then twice effective, permitted, inheritable
  const library = Deno.dlopen("libc.so.6", {
    capget: { parameters: ["buffer", "buffer"], result: "i32" },
    capset: { parameters: ["buffer", "buffer"], result: "i32" },
  });
  const { capget, capset } = library.symbols;
  const header = new Uint32Array([0x20080522, 0]);
  const all = new Uint32Array(6);
  assertEquals(capget(header, all), 0);
  const fewer = all.slice();
  fewer[0]! &= ~(1 << 1); // CAP_DAC_OVERRIDE
  Deno.chmodSync(directory, 0o500);
  assertEquals(capset(header, fewer), 0);
  try {
    assertThrows(
      () => Deno.writeTextFileSync(`${directory}/new`, ""),
      Deno.errors.PermissionDenied,
    );
    work();
  } finally {
    assertEquals(capset(header, all), 0);
    Deno.chmodSync(directory, 0o700);
    library.close();
  }
}
