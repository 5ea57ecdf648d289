/** What a directory of somebody else's repository may hold, and what names and files must not do. */

import { announcedGateway, AnnouncementFile } from "../../../src/ground/database/mod.ts";
import { shellWord } from "../../../src/doors/cli/format.ts";
import { assertEquals, assertStringIncludes } from "../../assert.ts";
import { sluice } from "../../fake/shell.ts";
import { exists, tempDir } from "../../fake/temp.ts";
import { fakeUpstream } from "../../fake/upstream.ts";
import { sized } from "../../tier.ts";

const WRITTEN = [
  "gateway.id",
  "gateway.next.id",
  "gateway.json",
  "gateway.json.new",
  "models.json",
  "models.json.new",
  "client-keys",
  "sluice.db-wal",
];

for (const name of WRITTEN) {
  Deno.test({
    name:
      `a data directory whose ${name} is a symbolic link is refused, and what it names is left alone`,
    ignore: Deno.build.os === "windows",
    async fn() {
      await using dir = await tempDir();
      const victim = `${dir.path}/victim`;
      await Deno.writeTextFile(victim, "mine");
      await Deno.mkdir(`${dir.path}/data`);
      await Deno.symlink(victim, `${dir.path}/data/${name}`);
      const serve = sized(name === WRITTEN[0], true) ? [["--port", "0"]] : [];
      for (const command of [["run", "--", "true"], ["env"], ...serve]) {
        const { code, err } = await sluice(command, { directory: dir.path });
        assertEquals(code, 1, err);
        assertStringIncludes(err, "is a symbolic link");
      }
      assertEquals(await Deno.readTextFile(victim), "mine");
    },
  });
}

Deno.test("an announcement that others can read, or of another machine, is not believed", async () => {
  await using dir = await tempDir();
  const path = `${dir.path}/gateway.json`;
  const said = { url: "http://127.0.0.1:8787", pid: 1, workers: 1, settings: null, reload: null };
  const plant = (url: string, mode: number) =>
    Deno.writeTextFile(path, JSON.stringify({ ...said, url, secret: "s".repeat(32) }))
      .then(() => Deno.chmod(path, mode));
  await plant(said.url, 0o600);
  assertEquals((await announcedGateway(dir.path))?.url, said.url);
  if (Deno.build.os !== "windows") {
    await plant(said.url, 0o644);
    assertEquals(await announcedGateway(dir.path), undefined);
  }
  const own = Deno.hostname().toLowerCase();
  for (const host of [`${own}.evil.example`, "evil.example", "127.0.0.1.evil.example"]) {
    await plant(`http://${host}:80`, 0o600);
    assertEquals(await announcedGateway(dir.path), undefined, host);
  }
  const lock = `${dir.path}/gateway.id`;
  await Deno.writeTextFile(lock, "");
  new AnnouncementFile(dir.path, lock).write(said);
  assertEquals((await announcedGateway(dir.path))?.url, said.url);
});

Deno.test("sluice env: whatever an address or a model is called, a shell takes it for text", async () => {
  await using dir = await tempDir();
  // hosts may have quotes, but no spaces and slashes
  const publicUrl = "http://x';pwn;'";
  await Deno.mkdir(`${dir.path}/bin`);
  await Deno.writeTextFile(`${dir.path}/bin/pwn`, `#!/bin/sh\n: > ${dir.path}/pwned\n`);
  await Deno.chmod(`${dir.path}/bin/pwn`, 0o755);
  await using upstream = fakeUpstream(() =>
    Response.json({ object: "list", data: [{ id: `x';touch\${IFS}${dir.path}/pwned;'` }] })
  );
  await Deno.writeTextFile(
    `${dir.path}/sluice.jsonc`,
    JSON.stringify({ publicUrl, upstreams: { up: { url: upstream.url, discover: true } } }),
  );
  const { out } = await sluice(["env"], { directory: dir.path });
  const env = { PATH: `${dir.path}/bin:${Deno.env.get("PATH")}` };
  const { code } = await new Deno.Command("sh", { args: ["-c", out], env }).output();
  assertStringIncludes(out, "pwn;");
  assertEquals([code, await exists(`${dir.path}/pwned`)], [0, false]);
  for (const text of ["", "it's", "''", "$(id)", "`id`", 'a"b', "a\nb", "\\", "-n", "*"]) {
    const { stdout } = await new Deno.Command("sh", {
      args: ["-c", `printf %s ${shellWord(text)}`],
    }).output();
    assertEquals(new TextDecoder().decode(stdout), text);
  }
});
