/** What was counted, reported and billed, side by side: a meter that lies shows within a day. */

import fc from "fast-check";
import { readBilled, reconcile, ReportError } from "../../../src/money/usage/mod.ts";
import { assertEquals, assertStringIncludes, assertThrows } from "../../assert.ts";
import { startGateway } from "../../fake/gateway.ts";
import { sluice } from "../../fake/shell.ts";
import { completion, fakeUpstream } from "../../fake/upstream.ts";
import { sized } from "../../tier.ts";

const DAY_MS = 86_400_000;

Deno.test("an upstream that reports twice of what was counted is told apart from one that does not", async () => {
  let nowMs = Date.UTC(2030, 0, 2, 12);
  const words = "word ".repeat(500);
  const replies = { honest: 1, lying: 2 };
  const upstreams = Object.entries(replies).map(([name, factor]) => ({
    name,
    server: fakeUpstream(() =>
      completion(words, {
        usage: {
          prompt_tokens: 512,
          completion_tokens: factor * 500,
          total_tokens: 512 + factor * 500,
        },
      })
    ),
  }));
  await using stack = new AsyncDisposableStack();
  for (const { server } of upstreams) stack.use(server);
  await using gateway = await startGateway({
    now: () => nowMs,
    settings: {
      upstreams: Object.fromEntries(
        upstreams.map(({ name, server }) => [name, { url: server.url, discover: false }]),
      ),
      routes: Object.fromEntries(
        upstreams.map(({ name }) => [name, { targets: [{ upstream: name, model: "m" }] }]),
      ),
    },
  });
  for (let day = 0; day < 2; day++) {
    for (const { name } of upstreams) {
      const reply = await gateway.chat(words, { model: name, max_tokens: 1_000 });
      assertEquals(reply.status, 200);
      await reply.text();
    }
    nowMs += DAY_MS;
  }
  const range = { sinceMs: Date.UTC(2030, 0, 1), untilMs: nowMs, isRounded: false };
  const billed = readBilled(
    "Date,Provider,Prompt tokens,Completion tokens\n" +
      "2030-01-02,honest,300,250\n2030-01-02,honest,212,250\n2030-01-03,honest,5120,5000\n" +
      "2030-01-01,honest,7,9\n",
  );
  const days = await reconcile(gateway.gateway.database, range, billed);
  assertEquals(days.map(({ day, upstream, requests }) => [day, upstream, requests]), [
    ["2030-01-01", "honest", 0],
    ["2030-01-02", "honest", 1],
    ["2030-01-02", "lying", 1],
    ["2030-01-03", "honest", 1],
    ["2030-01-03", "lying", 1],
  ]);
  assertEquals(days.map((one) => one.reported.output), [0, 500, 1_000, 500, 1_000]);
  assertEquals(days[1]!.billed, { input: 512, output: 500 });
  assertEquals(days[2]!.billed, undefined);

  await Deno.writeTextFile(`${gateway.directory}/billed.csv`, "day,input_tokens,output_tokens\n");
  const file = `${gateway.directory}/sluice.jsonc`;
  const since = ["--since", "2030-01-01", "--until", "2030-01-05"];
  const run = (...args: string[]) =>
    sluice(["usage", "reconcile", ...args, ...since, "--config", file], {
      directory: gateway.directory,
    });
  const all = await run("billed.csv");
  assertEquals(all.code, 1);
  assertStringIncludes(all.out, "output reported +");
  assertStringIncludes(all.err, "rows differ by more than 10 %");
  const honest = await run("--upstream", "honest", "--tolerance", "20");
  assertEquals([honest.code, honest.err], [0, ""]);
  const missing = await run("nowhere.csv");
  assertEquals(missing.code, 1);
});

const WRONG = [
  ["", "is empty"],
  ["day,input_tokens\n2030-01-01,5", "no column 'output_tokens'"],
  ["day,input_tokens,output_tokens\n2030-01-01,five,5", "Line 2: 'five' is not a number of tokens"],
  ["day,input_tokens,output_tokens\n2030-01-01,-5,5", "Line 2: '-5'"],
  ["day,input_tokens,output_tokens\nyesterday,5,5", "Line 2: 'yesterday' is not a day"],
  ['day,input_tokens,output_tokens\n"2030', "is not CSV"],
  ["day,input_tokens,output_tokens\n2030-02-30,5,5", "Line 2: '2030-02-30' is not a day"],
  ["day,input_tokens,output_tokens\n2030-02-03T25:00Z,5,5", "is not a day"],
] as const;

for (const [text, message] of WRONG) {
  Deno.test(`a list of billed tokens is rejected: ${message}`, () => {
    const error = assertThrows(() => readBilled(text), ReportError);
    assertStringIncludes(error.message, message);
  });
}

Deno.test("lists of billed tokens are read as providers write them", () => {
  assertEquals(
    readBilled(
      "\uFEFFusage_date_utc;x".replace(";", ",") +
        ",usage_input_tokens,usage_input_tokens_cache_read,usage_output_tokens\r\n" +
        '2030-01-02T00:00:00Z,a,"1,000",50,7\r\n1893542400,b,5,,1\r\n\r\n',
    ),
    [
      { day: "2030-01-02", upstream: undefined, input: 1_050, output: 7 },
      { day: "2030-01-02", upstream: undefined, input: 5, output: 1 },
    ],
  );
});

Deno.test("billed tokens are digits, in whole thousands or not, and nothing else", () => {
  const cells = fc.oneof(
    fc.nat(2 ** 31).map(String),
    fc.nat(2 ** 31).map((one) => one.toLocaleString("en-US")),
    fc.stringMatching(/^[-+0-9,_' .exXob]{1,12}$/),
    fc.constantFrom(
      "0x10",
      "1e3",
      "1,5",
      "12,34",
      "1.0",
      "1_000_000",
      "9007199254740993",
      "٣",
      "Infinity",
    ),
  );
  fc.assert(
    fc.property(cells, (cell) => {
      const text = cell.trim();
      const isPlain = /^[0-9]+(\.0+)?$/.test(text);
      const isGrouped = /^[0-9]{1,3}([,_' ][0-9]{3})+(\.0+)?$/.test(text);
      const value = text === ""
        ? 0
        : isPlain || isGrouped
        ? Number(text.replace(/\..*/, "").replaceAll(/[,_' ]/g, ""))
        : NaN;
      const read = () =>
        readBilled(`day,input_tokens,output_tokens\n2030-01-02,"${cell}",5`)[0]!.input;
      if (Number.isSafeInteger(value)) assertEquals(read(), value, cell);
      else assertThrows(read, ReportError, "is not a number of tokens");
    }),
    { numRuns: sized(1_000, 50_000) },
  );
});

Deno.test("billed days are UTC's, whatever zone the machine and the list are in", () => {
  const of = (day: string) => readBilled(`day,input_tokens,output_tokens\n${day},1,1`)[0]!.day;
  for (const time of ["", " 23:30", "T23:30:00", " 23:30:00 UTC", "T23:30:00.5Z", " 23:30 GMT"]) {
    assertEquals(of(`2030-01-02${time}`), "2030-01-02", time);
  }
  assertEquals(of("2030-01-02T23:30:00-0100"), "2030-01-03");
  assertEquals(of("2030-01-02T00:30+01:00"), "2030-01-01");
});
