/** `sluice migrate` between a file and a libSQL server, as operators use it. */

import { assertEquals, assertMatch, assertStringIncludes } from "../../assert.ts";
import { sluice } from "../../fake/shell.ts";
import { canRunSqld, sqldServer } from "../../fake/sqld.ts";
import { tempDir } from "../../fake/temp.ts";
import { isProof } from "../../tier.ts";

Deno.test("a database moves from a file to a libSQL server and back, with what was granted", {
  ignore: !isProof || !await canRunSqld(),
}, async () => {
  await using dir = await tempDir();
  await using server = await sqldServer(`${dir.path}/sqld`);
  const run = async (database: string | undefined, ...args: string[]) => {
    const env: Record<string, string> = database === undefined
      ? {}
      : { SLUICE_DATABASE_URL: database };
    const data = ["--data", `${dir.path}/data`];
    return await sluice([...args, ...data], { directory: dir.path, env });
  };
  const succeeded = async (...given: Parameters<typeof run>) => {
    const { code, out, err } = await run(...given);
    assertEquals(code, 0, `${given.slice(1).join(" ")}: ${err}`);
    return out;
  };
  const email = "ada@example.com";
  const balance = async (database: string | undefined) =>
    JSON.parse(await succeeded(database, "credits", "show", "--account", email, "--json")).balance;
  await succeeded(undefined, "account", "create", "--email", email, "--create");
  await succeeded(undefined, "credits", "grant", "--account", email, "--credits", "500");

  assertMatch(
    await succeeded(undefined, "migrate", "--to", server.url),
    /^Copied \d+ rows of \d+ tables from .*sluice\.db to localhost:\d+\. The audit of both/,
  );
  assertEquals(await balance(server.url), 510);
  assertMatch(await succeeded(server.url, "credits", "audit"), /No mismatches/);
  const again = await run(undefined, "migrate", "--to", server.url);
  assertEquals(again.code, 1);
  assertStringIncludes(again.err, "it has a database of Sluice already");

  await succeeded(server.url, "credits", "grant", "--account", email, "--credits", "5");
  const back = `file:${dir.path}/back/sluice.db`;
  await succeeded(back, "migrate", "--from", server.url);
  assertEquals([await balance(back), await balance(undefined)], [515, 510]);
});
