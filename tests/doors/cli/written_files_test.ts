import { assert, assertEquals } from "../../assert.ts";
import { PROGRAM, scriptArgs } from "../../fake/command.ts";
import { sluice } from "../../fake/shell.ts";
import { tempDir } from "../../fake/temp.ts";
import { writeFile } from "../../../src/ground/files/mod.ts";
import { SettingsEditor } from "../../../src/settings/config/mod.ts";

/** What is at a path, to be compared. */
async function found(path: string): Promise<string> {
  const { isFile, isSymlink, isDirectory, mode, rdev } = await Deno.lstat(path);
  if (isSymlink) return `link to ${await Deno.readLink(path)}`;
  if (isFile) return `${(mode! & 0o777).toString(8)} ${await Deno.readTextFile(path)}`;
  return isDirectory ? "directory" : `special ${mode} ${rdev}`;
}

const SOCKETS = new DisposableStack();

/**
 * Makes a device, which root alone can. It is a test's own: if a fault lets root replace one, it must not be the machine's. Others
 * cannot replace that either.
 */
async function device(directory: string, minor: 3 | 7): Promise<string> {
  if (Deno.uid() !== 0) return minor === 3 ? "/dev/null" : "/dev/full";
  const args = [`${directory}/device`, "c", "1", String(minor)];
  const { success } = await new Deno.Command("mknod", { args }).output();
  if (!success) await new Deno.Command("mkfifo", { args: [`${directory}/device`] }).output();
  return `${directory}/device`;
}

/** Kinds of targets: how each is made in a directory, and what the refusal says of it. */
const KINDS: readonly (readonly [
  kind: string,
  make: (directory: string) => Promise<string>,
  refused: RegExp | undefined,
])[] = [
  ["nothing", (directory) => Promise.resolve(`${directory}/new`), undefined],
  ["a file", async (directory) => {
    await Deno.writeTextFile(`${directory}/file`, "{}", { mode: 0o640 });
    return `${directory}/file`;
  }, undefined],
  ["a link to a file", async (directory) => {
    await Deno.writeTextFile(`${directory}/real`, "{}");
    await Deno.symlink(`${directory}/real`, `${directory}/link`);
    return `${directory}/link`;
  }, /a link to \S+real/],
  ["a dangling link", async (directory) => {
    await Deno.symlink(`${directory}/nowhere`, `${directory}/link`);
    return `${directory}/link`;
  }, /a link to \S+nowhere/],
  ["a link to a device", async (directory) => {
    await Deno.symlink(await device(directory, 3), `${directory}/link`);
    return `${directory}/link`;
  }, /a link to \S+device|a device|a named pipe/],
  ["a pipe", async (directory) => {
    await new Deno.Command("mkfifo", { args: [`${directory}/pipe`] }).output();
    return `${directory}/pipe`;
  }, /a named pipe/],
  ["a socket", (directory) => {
    SOCKETS.use(Deno.listen({ transport: "unix", path: `${directory}/socket` }));
    return Promise.resolve(`${directory}/socket`);
  }, /a socket/],
  ["a device like /dev/null", (directory) => device(directory, 3), /a device|a named pipe/],
  ["a device like /dev/full", (directory) => device(directory, 7), /a device|a named pipe/],
  ["a directory", async (directory) => {
    await Deno.mkdir(`${directory}/folder`);
    return `${directory}/folder`;
  }, /a directory/],
  ["no directory", (directory) => Promise.resolve(`${directory}/none/new`), /no directory/],
  ["below a file", async (directory) => {
    await Deno.writeTextFile(`${directory}/file`, "");
    return `${directory}/file/new`;
  }, /not a directory/],
  ["a read-only directory", async (directory) => {
    if (Deno.uid() === 0) return "/proc/sluice-test"; // where root cannot make a file either
    await Deno.mkdir(`${directory}/closed`, { mode: 0o500 });
    return `${directory}/closed/new`;
  }, /no file can be created beside it|a file of the system|Requires all access/], // the last from Deno 2.4
];

/** All that writes a file to where it is told. Resolves with what was said, and whether it was done. */
const WRITERS: Readonly<
  Record<
    string,
    { readonly write: (target: string, home: string) => Promise<[boolean, string]> } & {
      /** Kinds that it takes although others refuse them, and those that are not its own. */
      readonly takes?: readonly string[];
      readonly mode: (before: string) => string;
    }
  >
> = {
  backup: {
    write: async (target, home) => {
      const { code, err } = await sluice(["backup", target], { directory: home });
      return [code === 0, err];
    },
    mode: () => "600",
  },
  init: {
    write: async (target, home) => {
      const env = { SLUICE_CONFIG: target };
      const { code, err } = await sluice(["init", "--yes", "--force"], { directory: home, env });
      return [code === 0, err];
    },
    takes: ["no directory"], // that of the settings is made
    mode: (before) => before === "a file" ? "640" : "644",
  },
  "settings editor": {
    write: async (target) => {
      try {
        const editor = await SettingsEditor.open(target);
        editor.set(["port"], 1);
        await editor.write(() => Promise.resolve());
        return [true, ""];
      } catch (error) {
        return [false, String(error)];
      }
    },
    takes: ["a link to a file", "no directory"], // settings are often links: the file that it leads to is edited
    mode: (before) => before === "a file" ? "640" : "600",
  },
};

Deno.test("what writes a file replaces a regular one or nothing, and says what else is there", async (t) => {
  await using home = await tempDir();
  using _ = SOCKETS;
  await sluice(["key", "create"], { directory: home.path });
  for (const [writer, { write, takes = [], mode }] of Object.entries(WRITERS)) {
    for (const [kind, make, refused] of KINDS) {
      await t.step(`${writer}: ${kind}`, async () => {
        await using dir = await tempDir();
        const target = await make(dir.path);
        const [parent, inIt] = [dir.path, await listed(dir.path)];
        const before = await found(target).catch(() => undefined);
        const [isDone, said] = await write(target, home.path);
        const isTaken = refused === undefined || takes.includes(kind);
        assertEquals([isDone, said], [isTaken, isTaken ? "" : said]);
        if (!isTaken) {
          assert(refused.test(said), said);
          assert(!/ at \S+:\d+:\d+/.test(said), said);
          assertEquals(await found(target).catch(() => undefined), before);
          assertEquals(await listed(parent), inIt, "nothing is left beside it");
        } else if (kind !== "a link to a file") {
          assertEquals((await found(target)).slice(0, 3), mode(kind));
        } else {
          assertEquals(await found(target), before);
          assert((await Deno.readTextFile(target)).includes("port"));
        }
        assertEquals((await listed(parent)).filter((name) => name.startsWith(".")), []);
      });
    }
  }
});

async function listed(directory: string): Promise<string[]> {
  return (await Array.fromAsync(Deno.readDir(directory))).map(({ name }) => name).toSorted();
}

Deno.test("backup to standard output: a whole database under each of its names, and nothing else", async () => {
  await using dir = await tempDir();
  await sluice(["key", "create"], { directory: dir.path });
  // the database's log and its index come and go with the commands that open it
  const beside = async () =>
    (await listed(`${dir.path}/data`)).filter((name) => !/-(?:wal|shm)$/.test(name));
  const before = await beside();
  for (const name of ["-", "/dev/stdout"]) {
    const { code, out, err } = await sluice(["backup", name], { directory: dir.path });
    assertEquals([code, err], [0, ""]);
    assert(out.startsWith("SQLite format 3\0"));
    await Deno.writeFile(`${dir.path}/${code}.db`, Uint8Array.from(out, (c) => c.charCodeAt(0)));
    const restored = await sluice(["restore", `${dir.path}/${code}.db`, "--data", "other"], {
      directory: dir.path,
    });
    assertEquals([restored.code, restored.err], [0, ""]);
  }
  assertEquals(await beside(), before);
});

Deno.test("a reader that ends early ends a command quietly", async () => {
  await using dir = await tempDir();
  const program = [Deno.execPath(), ...PROGRAM].map((word) => `'${word}'`).join(" ");
  const { code, stderr } = await new Deno.Command("bash", {
    args: ["-o", "pipefail", "-c", `${program} config schema | true`],
    cwd: dir.path,
  }).output();
  assertEquals([code, new TextDecoder().decode(stderr)], [0, ""]);
});

Deno.test("a backup that is not read to its end is no success", async () => {
  await using dir = await tempDir();
  await sluice(["key", "create"], { directory: dir.path });
  const program = [Deno.execPath(), ...PROGRAM].map((word) => `'${word}'`).join(" ");
  const { code, stderr } = await new Deno.Command("bash", {
    args: ["-o", "pipefail", "-c", `${program} backup - --data data | head -c 100`],
    cwd: dir.path,
  }).output();
  assertEquals(code, 1);
  assertEquals(
    new TextDecoder().decode(stderr),
    "sluice: The copy is incomplete: its reader ended early\n",
  );
});

Deno.test("writers of one file at once each write their own, and what killed ones left goes", async () => {
  await using dir = await tempDir();
  const file = `${dir.path}/file`;
  await Deno.writeTextFile(file, "old", { mode: 0o440 });
  const day = 86_400;
  const left = [".file.aaaaaaaaaaaa.partial", ".file.bbbbbbbbbbbb.partial-journal"];
  const others = [
    ".file.short.partial",
    "file.aaaaaaaaaaaa.partial",
    ".other.aaaaaaaaaaaa.partial",
    ".file.cccccccccccc.partial",
  ];
  for (const name of [...left, ...others]) {
    const ageS = name === others[3] ? day - 60 : day + 60;
    await Deno.writeTextFile(`${dir.path}/${name}`, "");
    await Deno.utime(`${dir.path}/${name}`, Date.now() / 1_000 - ageS, Date.now() / 1_000 - ageS);
  }
  const texts = Array.from({ length: 8 }, (_, at) => `${at} `.repeat(50_000));
  const done = await Promise.allSettled(texts.map(async (text) => {
    await writeFile(file, text, { mode: 0o660 });
    assert(texts.includes(await Deno.readTextFile(file)));
  }));
  assertEquals(done.filter(({ status }) => status === "rejected"), []);
  assertEquals((await Deno.stat(file)).mode! & 0o777, 0o440);
  assertEquals(await listed(dir.path), [...others, "file"].toSorted());
});

Deno.test("what a killed writer left goes with the next one, what a living one writes stays", async () => {
  await using dir = await tempDir();
  const file = `${dir.path}/copy.db`;
  const stuck = () =>
    new Deno.Command(Deno.execPath(), {
      args: scriptArgs("stuck_writer.ts").concat(file),
      stdout: "piped",
    }).spawn();
  const [killed, living] = [stuck(), stuck()];
  const readers = [killed, living].map(({ stdout }) => stdout.getReader());
  await Promise.all(readers.map((reader) => reader.read())); // each has begun
  const named = async (part: string) =>
    (await listed(dir.path)).filter((name) => name.includes(part));
  assertEquals((await named(".partial")).length, 6);
  killed.kill("SIGKILL");
  await killed.status;
  await writeFile(file, "whole", { mode: 0o600 });
  const left = await named(".partial");
  assertEquals(left.length, 3, left.join());
  assert((await Deno.readTextFile(`${dir.path}/${left[0]}`)).includes(String(living.pid)));
  living.kill("SIGKILL");
  await living.status;
  await Promise.all(readers.map((reader) => reader.cancel()));
  await writeFile(file, "whole again", { mode: 0o600 });
  assertEquals(await listed(dir.path), ["copy.db"]);
});

Deno.test("backups to one file at once are each whole", async () => {
  await using dir = await tempDir();
  await sluice(["key", "create"], { directory: dir.path });
  const done = await Promise.all(
    Array.from({ length: 3 }, () => sluice(["backup", "copy.db"], { directory: dir.path })),
  );
  assertEquals(done.map(({ code }) => code), [0, 0, 0], done.map(({ err }) => err).join(""));
  const { code, err } = await sluice(["restore", "copy.db", "--data", "other"], {
    directory: dir.path,
  });
  assertEquals([code, err], [0, ""]);
  assertEquals((await listed(dir.path)).filter((name) => name.includes("partial")), []);
});
