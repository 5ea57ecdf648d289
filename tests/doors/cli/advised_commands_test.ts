/** Commands that a command prints act on the gateway that it acted on. */

import type { Command } from "commander";
import fc from "fast-check";
import { repeatingPlaces } from "../../../src/doors/cli/advised_commands.ts";
import { assert, assertEquals, assertMatch } from "../../assert.ts";
import { startCommand } from "../../fake/command.ts";
import { sluice } from "../../fake/shell.ts";
import { tempDir } from "../../fake/temp.ts";

Deno.test("printed commands name the places of the command that printed them, and work as pasted", async () => {
  await using dir = await tempDir();
  const data = `${dir.path}/a b`;
  const run = (...args: string[]) => sluice(args, { directory: dir.path });
  const made = await run(
    "account",
    "create",
    "--email=ada@example.com",
    "--create",
    `--data=${data}`,
  );
  assertEquals(made.code, 0, made.err);
  const [, next] = /Next: sluice (.*)\n/.exec(made.out) ?? [];
  assertEquals(next, `key create --data '${data}' --account ada@example.com`);
  const pasted = next!.replace(`'${data}'`, "DATA").split(" ")
    .map((one) => one === "DATA" ? data : one);
  assertEquals((await run(...pasted)).code, 0);
  await run("key", "create", "--name", "sluice env", "--data", data);

  const unknown = await run("key", "revoke", "key_none", "--data", data);
  assertMatch(unknown.err, new RegExp(`List keys with: sluice key list --data '${data}'\n`));
  const doctor = await run("doctor", "--data", data);
  assertMatch(doctor.out, new RegExp(`start it with: sluice --data '${data}'`));
  assertMatch(doctor.out, new RegExp(`run sluice init --data '${data}' to find some`));

  // data, JSON and help stay as they are, and so does everything where no place is named
  const list = await run("key", "list", "--data", data);
  assertMatch(list.out, / {2}sluice env {2}/);
  const json = await run("key", "list", "--data", data, "--json");
  assert(!json.out.includes("--data"), json.out);
  const help = await run("key", "create", "--data", data, "--help");
  assertMatch(help.out, /\n {2}sluice key create --account ada@example.com/);
  const plain = await run("account", "create", "--email=ada@example.com");
  assertMatch(plain.out, /Next: sluice key create --account ada@example\.com\n/);
});

Deno.test("what only begins like a command, such as the name of a file, stays as it is", () => {
  const program = { commands: [] } as unknown as Command;
  const repeat = repeatingPlaces(["--data", "own"]);
  const names = fc.tuple(
    fc.constantFrom(".", "-", "_", "/", "@", ":", "=", "'"),
    fc.stringMatching(/^[a-z][a-z0-9.]{0,8}$/),
  ).map((parts) => `sluice${parts.join("")}`);
  fc.assert(fc.property(names, (name) => {
    assertEquals(repeat(`write ${name} or (${name})`, program), `write ${name} or (${name})`);
  }));
  for (const end of ["", ".", ", then wait", ")"]) {
    assertEquals(repeat(`run sluice${end}`, program), `run sluice --data own${end}`);
  }
});

Deno.test("the commands of the start-up text name the gateway's places", async () => {
  await using dir = await tempDir();
  await using gateway = startCommand(["--port", "0", "--data", "own"], { directory: dir.path });
  await gateway.waitFor(/curl/);
  const advised = [...gateway.out().matchAll(/sluice (init|key create|account link)\S*(.*)/g)];
  assertEquals(advised.length, 3, gateway.out());
  for (const [line] of advised) assertMatch(line!, /--data own/);
  assertMatch(gateway.out(), /or write a sluice\.jsonc\./);
});
