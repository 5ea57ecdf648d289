import { openDatabase } from "../../../src/ground/database/mod.ts";
import { RULES } from "../../../src/money/ledger/mod.ts";
import { misleading } from "../../../src/ground/platform/mod.ts";
import { assert, assertEquals } from "../../assert.ts";
import { sluice } from "../../fake/shell.ts";
import { tempDir } from "../../fake/temp.ts";

/** What a terminal obeys, and what makes a line look like two or run backwards. */
const HOSTILE = [
  "\x1b]0;owned\x07",
  "\x1b[2J",
  "\x9b31m",
  "\r",
  "\x08",
  "\u202e",
  "\u200b",
  "\u2028",
];

Deno.test("commands print no control characters, whatever upstreams and rows say", async () => {
  await using upstream = Deno.serve(
    { port: 0, hostname: "127.0.0.1", onListen() {} },
    () =>
      Response.json({
        object: "list",
        data: HOSTILE.map((text, at) => ({ id: `model${at}${text}x`, object: "model" })),
      }),
  );
  await using dir = await tempDir();
  await Deno.mkdir(`${dir.path}/data`);
  const run = (command: string) => sluice(command.split(" "), { directory: dir.path });
  await run("team create --name Platform");
  const database = await openDatabase({
    file: `${dir.path}/data/sluice.db`,
    durability: "full",
    rules: RULES,
    now: Date.now,
  });
  for (const [at, text] of [...HOSTILE, "\n"].entries()) {
    const all = Array(5).fill(`x${text}y`);
    await database.batch([{
      sql: `insert into operation_log
          (id, at_ms, operation, door, address, actor, object_id, before, outcome, error)
        values (?, ?, ?, 'api', ?, ?, ?, ?, 'failed', ?)`,
      args: [`op_${at}`, Date.now(), ...all.slice(0, 4), JSON.stringify({ all }), all[4]],
    }]);
    await database.batch([{
      sql: `insert into alerts (id, mark, kind, title, text, data, created_at_ms)
        values (?, ?, 'low_credits', ?, ?, '{}', 1)`,
      args: [`alert_${at}`, `mark_${at}`, ...all.slice(0, 2)],
    }, {
      sql: `insert into alert_deliveries (alert_id, receiver, created_at_ms, due_at_ms, error)
        values (?, 'ops', 1, 1, ?)`,
      args: [`alert_${at}`, all[0]],
    }]);
  }
  await database.close();
  await Deno.writeTextFile(
    `${dir.path}/sluice.jsonc`,
    JSON.stringify({
      upstreams: { evil: { url: `http://127.0.0.1:${upstream.addr.port}/v1`, discover: true } },
    }),
  );
  const rows = HOSTILE.length + 1;
  for (
    const [command, lines] of [
      ["log", rows + 2],
      ["alerts list", rows + 1],
      ["models"],
      ["models sync"],
      ["doctor"],
    ] as const
  ) {
    const { out, err } = await run(command);
    const json = await run(`${command} --json`);
    for (const text of [out, err, json.out]) {
      const bad = text.split("\n").filter((line) => misleading(line) !== undefined);
      assertEquals(bad, [], command);
    }
    if (lines !== undefined) assertEquals(out.trimEnd().split("\n").length, lines, out);
    assert(JSON.parse(json.out) !== undefined);
  }
  const [entry] = JSON.parse((await run("log --json --limit 1 --by x\ny")).out).data;
  assertEquals(entry?.before, { all: Array(5).fill("x\ny") }, "JSON keeps what it is");
});
