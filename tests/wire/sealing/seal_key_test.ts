import { BoundCipher, copySealKey, sealKey } from "../../../src/wire/sealing/mod.ts";
import {
  assert,
  assertEquals,
  assertNotEquals,
  assertRejects,
  assertThrows,
} from "../../assert.ts";
import { sluice } from "../../fake/shell.ts";
import { ledgerBench, possible } from "../../fake/ledger.ts";
import { tempDir } from "../../fake/temp.ts";

const now = Date.now;

Deno.test("the key of the seals is made once, also by several gateways at once, and only its owner can read it", async () => {
  await using dir = await tempDir();
  const options = { secret: undefined, directory: dir.path, server: undefined, now };
  const keys = await Promise.all(Array.from({ length: 8 }, () => sealKey(options)));
  for (const key of keys) assertEquals(key, keys[0]);
  assertEquals(await sealKey(options), keys[0]);
  const files = (await Array.fromAsync(Deno.readDir(dir.path))).map(({ name }) => name);
  assertEquals(files, ["seal.key"]);
  const { mode, size } = await Deno.stat(`${dir.path}/seal.key`);
  assertEquals([mode! & 0o777, size], [0o600, 32]);
});

Deno.test("processes that start at once have one key", async () => {
  await using dir = await tempDir();
  const script = `import { sealKey } from "${
    import.meta.resolve("../../../src/wire/sealing/mod.ts")
  }"; const key = await sealKey({ secret: undefined, directory: "${dir.path}", server: undefined, now: Date.now });
    console.log(key.toHex?.() ?? [...key].join());`;
  await Deno.writeTextFile(`${dir.path}/start.ts`, script);
  const config = new URL("../../../deno.json", import.meta.url).pathname;
  const outputs = await Promise.all(
    Array.from({ length: 3 }, () =>
      new Deno.Command(Deno.execPath(), {
        args: ["run", "-A", "--quiet", "--config", config, `${dir.path}/start.ts`],
      }).output()),
  );
  const keys = outputs.map(({ stdout }) => new TextDecoder().decode(stdout));
  assertEquals(new Set(keys).size, 1);
  assert(keys[0]!.length > 32);
});

Deno.test("a damaged key is no key: the gateway says what to do", async () => {
  await using dir = await tempDir();
  await Deno.writeFile(`${dir.path}/seal.key`, new Uint8Array(31));
  const { message } = await assertRejects(
    () => sealKey({ secret: undefined, directory: dir.path, server: undefined, now }),
    Error,
  );
  assertEquals(message.includes("it has 31 bytes, not 32. Restore it, or delete it"), true);
});

Deno.test("a key that is a symbolic link is refused", async () => {
  await using dir = await tempDir();
  await Deno.mkdir(`${dir.path}/data`);
  await Deno.writeFile(`${dir.path}/other`, new Uint8Array(32));
  await Deno.symlink(`${dir.path}/other`, `${dir.path}/data/seal.key`);
  const { code, err } = await sluice(["serve", "--port", "0", "--data", `${dir.path}/data`], {
    directory: dir.path,
  });
  assertEquals([code, err.includes("seal.key is a symbolic link")], [1, true]);
});

for (const kind of possible(["server", "postgres"])) {
  Deno.test(`gateways that share a server have the key of the first (${kind})`, async () => {
    await using bench = await ledgerBench(kind);
    const other = await bench.connect();
    try {
      const keyOf = (server: typeof other) =>
        sealKey({ secret: undefined, directory: "/nowhere", server, now });
      const keys = await Promise.all([
        keyOf(bench.database),
        keyOf(other),
        keyOf(bench.database),
        keyOf(other),
      ]);
      for (const key of keys) assertEquals(key, keys[0]);
      assertEquals(keys[0]!.length, 32);
    } finally {
      await other.close();
    }
  });
}

Deno.test("the setting's secret is the key, wherever the gateway is", async () => {
  const options = { secret: "s".repeat(32), server: undefined, now };
  assertEquals(
    await sealKey({ ...options, directory: "/nowhere" }),
    await sealKey({ ...options, directory: "/elsewhere" }),
  );
});

Deno.test("what is encrypted is bound to its owner, its purpose and its key", () => {
  const secret = new Uint8Array(32).fill(7);
  const cipher = new BoundCipher(secret, "one");
  const encrypted = cipher.encrypt("text", ["acc_1", "msg_1"]);
  assertEquals(cipher.decrypt(encrypted, ["acc_1", "msg_1"]), "text");
  assertNotEquals(cipher.encrypt("text", ["acc_1", "msg_1"]), encrypted);
  for (const owner of [["acc_2", "msg_1"], ["acc_1", "msg_2"], ["acc_1msg_1"], []]) {
    assertThrows(() => cipher.decrypt(encrypted, owner), Error);
  }
  assertEquals(new BoundCipher(secret, "two").decrypt(encrypted, ["acc_1", "msg_1"]), undefined);
  const other = new BoundCipher(new Uint8Array(32).fill(8), "one");
  assertEquals(other.decrypt(encrypted, ["acc_1", "msg_1"]), undefined);
  for (let at = 4; at < encrypted.length; at++) {
    const changed = encrypted.subarray();
    changed[at]! ^= 1;
    assertThrows(() => cipher.decrypt(changed, ["acc_1", "msg_1"]), Error);
    changed[at]! ^= 1;
  }
  for (let length = 4; length < encrypted.length; length++) {
    assertThrows(() => cipher.decrypt(encrypted.subarray(0, length), ["acc_1", "msg_1"]), Error);
  }
  assertEquals(cipher.decrypt(encrypted.subarray(0, 3), ["acc_1", "msg_1"]), undefined);
});

Deno.test("the key of the seals goes along with a database, over no other key", async () => {
  await using dir = await tempDir();
  await using bench = await ledgerBench("file");
  const { database } = bench;
  const [own, empty, other] = ["own", "empty", "other"].map((name) => `${dir.path}/${name}`);
  for (const directory of [own!, empty!, other!]) await Deno.mkdir(directory);
  const of = (directory: string, server?: typeof database) =>
    sealKey({ secret: undefined, directory, server, now });
  await copySealKey([empty!, database], [other!], 1);
  assertEquals(await Array.fromAsync(Deno.readDir(other!)), [], "there was none");
  const key = await of(own!);
  await of(other!, database); // replaced, as a copy's is an earlier one
  await copySealKey([empty!, own!], [database], 1);
  assertEquals(new Uint8Array(await of(empty!, database)), new Uint8Array(key));
  await copySealKey([database], [empty!, own!], 1);
  assertEquals(new Uint8Array(await of(empty!)), new Uint8Array(key));
  await of(other!);
  await assertRejects(
    () => copySealKey([database], [other!], 1),
    Error,
    "is the key of another database",
  );
});
