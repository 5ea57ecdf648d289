/**
 * Writes `released/schema-N.db.gz` for the newest schema, by running the program: a start, keys made and
 * revoked, three requests of two accounts each, grants and a take-back. That of schema 27 stays as it is: commit 14e0bef wrote it, in
 * 27 steps.
 *
 *     deno run --allow-all tests/ground/database/make_released.ts
 *
 * @module
 */

import { MIGRATIONS } from "../../../src/ground/database/mod.ts";
import { say, sluice, startCommand } from "../../fake/command.ts";
import { tempDir } from "../../fake/temp.ts";
import { RELEASED_KEY } from "./released.ts";

await using dir = await tempDir();
const env = { SLUICE_OWNER_KEY: RELEASED_KEY, SLUICE_PORT: "0" };
const run = async (...args: string[]) => {
  const { code, out, err } = await sluice([...args, "--json"], { directory: dir.path, env });
  if (code !== 0) throw new Error(`${args.join(" ")}: ${err}`);
  return JSON.parse(out);
};
await Deno.mkdir(`${dir.path}/data`);
{
  await using gateway = startCommand(["serve", "--port", "0"], { directory: dir.path, env });
  const [, url] = await gateway.waitFor(/listening on (\S+)/);
  const ada = ["--account", "ada@example.com"];
  await run("account", "create", "--email", "ada@example.com", "--name", "Ada");
  const kept = await run("key", "create", ...ada, "--name", "laptop");
  const revoked = await run("key", "create", ...ada, "--name", "old", "--budget", "100");
  await run("key", "revoke", revoked.id);
  await run("key", "update", kept.id, "--budget", "400", "--reset", "monthly");
  await run("account", "update", "ada@example.com", "--budget", "900", "--reset", "daily");
  const { lot } = await run("credits", "grant", ...ada, "--credits", "100", "--reference", "R1");
  await run("credits", "take-back", ...ada, "--lot", lot, "--credits", "40", "--note", "meant 60");
  await run("credits", "grant", ...ada, "--package", "starter", "--paid");
  for (const key of [RELEASED_KEY, kept.key]) {
    for (let times = 0; times < 3; times++) {
      const reply = await fetch(`${url}/v1/chat/completions`, {
        method: "POST",
        headers: { authorization: `Bearer ${key}` },
        body: '{"model":"svc-k2","messages":[{"role":"user","content":"Hi"}]}',
      });
      await reply.text();
      if (reply.status !== 200) throw new Error(`answered ${reply.status}`);
    }
  }
  gateway.signal("SIGTERM");
  const { code } = await gateway.status;
  if (code !== 0) throw new Error(`the gateway ended with ${code}`);
}
const { version } = MIGRATIONS.at(-1)!;
const database = await Deno.open(`${dir.path}/data/sluice.db`);
const file = new URL(`released/schema-${version}.db.gz`, import.meta.url);
const packed = database.readable.pipeThrough(new CompressionStream("gzip"));
await Deno.writeFile(file, packed as ReadableStream<Uint8Array>);
say(`released/schema-${version}.db.gz`);
