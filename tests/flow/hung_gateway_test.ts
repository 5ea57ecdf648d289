/** A gateway that hangs: it is named, and another one ends it and takes its place. */

import { assert, assertEquals, assertMatch } from "../assert.ts";
import { startCommand } from "../fake/command.ts";
import { serveHere, sluice } from "../fake/shell.ts";
import { DEADLINE_MS, inTime, tempDir, until } from "../fake/temp.ts";
import { openRaw } from "../money/ledger/corruptions.ts";

const KEY = `sk-${"h".repeat(40)}`;
const LEASE_MS = 3_000;

Deno.test({
  name:
    "a stopped gateway is named; --takeover=force ends it after its lease, and charges go on exactly",
  ignore: Deno.build.os !== "linux",
  async fn() {
    await using dir = await tempDir();
    await Deno.writeTextFile(
      `${dir.path}/sluice.jsonc`,
      JSON.stringify({
        port: 0,
        data: `${dir.path}/data`,
        owner: { key: KEY },
        limits: { holdLeaseMs: LEASE_MS },
      }),
    );
    const start = (...args: string[]) => serveHere(args, { directory: dir.path });
    const chat = async (url: string) => {
      const response = await fetch(`${url}/v1/chat/completions`, {
        method: "POST",
        headers: { authorization: `Bearer ${KEY}` },
        body: JSON.stringify({ model: "svc-k2", messages: [{ role: "user", content: "Hi" }] }),
      });
      await response.text();
      return response.status;
    };
    await using first = startCommand([], { directory: dir.path });
    const [, url = ""] = await first.waitFor(/listening on (http:\S+)/);
    await first.waitFor(/curl/);
    for (let at = 0; at < 5; at++) assertEquals(await chat(url), 200);

    // one that answers is not ended
    first.signal("SIGSTOP");
    for (const args of [[], ["--takeover"]]) {
      await using other = start(...args);
      assertEquals((await other.status).code, 1);
      assertMatch(other.err(), new RegExp(`process ID ${first.pid} .*does not answer`));
    }
    await using wrong = start("--takeover=please");
    assertEquals((await wrong.status).code, 2);

    // one that is only slow renews its lease
    const raw = openRaw(`${dir.path}/data/sluice.db`);
    const renew = (untilMs: number) => raw.exec(`update loans set lease_until_ms = ${untilMs}`);
    renew(Date.now() + 60_000);
    await using second = start("--takeover=force");
    await until(() => second.err().includes("until its lease is over"), { what: "wait" });
    assert(await inTime(first.status, 0, undefined) === undefined, "it was ended within its lease");
    renew(Date.now());
    raw.close();
    const [, same] = await second.waitFor(/listening on (http:\S+)/);
    assertEquals(same, url);
    assert(await inTime(first.status, DEADLINE_MS, undefined) !== undefined, "it runs");
    for (let at = 0; at < 5; at++) assertEquals(await chat(url), 200);
    const run = (...args: string[]) => sluice(args, { directory: dir.path });
    assertEquals((await run("credits", "audit")).code, 0);
    const [total] = JSON.parse((await run("usage", "--json", "--by", "model")).out).rows;
    assertEquals(total.requests, 10);
  },
});
