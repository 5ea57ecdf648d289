/** A gateway that hangs: it is named, and another one ends it and takes its place. */

import { assert, assertEquals, assertMatch } from "../assert.ts";
import { startCommand } from "../fake/command.ts";
import { serveHere, sluice } from "../fake/shell.ts";
import { DEADLINE_MS, inTime, tempDir, until } from "../fake/temp.ts";
import { openRaw } from "../money/ledger/corruptions.ts";

Deno.test({
  name:
    "a gateway is not taken over at another host, and no other process is signalled that has its ID beside a container",
  ignore: Deno.build.os !== "linux",
  async fn() {
    await using dir = await tempDir();
    await using gateway = startCommand(["--port", "0"], { directory: dir.path });
    const [, url] = await gateway.waitFor(/listening on (http:\S+)/);
    await gateway.waitFor(/curl/);
    // clients that reach one of its addresses would be refused at the other
    await using elsewhere = serveHere(["--takeover", "--port", "0", "--host", "0.0.0.0"], {
      directory: dir.path,
    });
    assertEquals((await elsewhere.status).code, 1);
    assertMatch(elsewhere.err(), /listens on host 127\.0\.0\.1, and the settings say 0\.0\.0\.0/);
    await using other = startCommand([], {
      directory: dir.path,
      program: "sleep",
      programArgs: ["600"],
    });
    // as its own processes are numbered there
    const announcement = `${dir.path}/data/gateway.json`;
    const said = JSON.parse(await Deno.readTextFile(announcement));
    await Deno.writeTextFile(announcement, JSON.stringify({ ...said, pid: other.pid }));
    const refused = new RegExp(`process ID ${other.pid} where it runs.* and ${gateway.pid} here`);
    assertMatch((await sluice(["reload"], { directory: dir.path })).err, refused);
    await using successor = serveHere(["--takeover", "--port", "0"], { directory: dir.path });
    assertEquals((await successor.status).code, 1);
    assertMatch(successor.err(), refused);
    assert(await inTime(other.status, 0, undefined) === undefined, "it was signalled");
    await Deno.writeTextFile(announcement, JSON.stringify(said));
    assertEquals((await sluice(["reload"], { directory: dir.path })).code, 0);
    const ready = await fetch(`${url}/readyz`);
    await ready.body?.cancel();
    assertEquals(ready.status, 200);
  },
});

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
