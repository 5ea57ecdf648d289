import {
  bufferedWriter,
  endedMetrics,
  Metrics,
  PIPE_BYTES,
  sumOfMetrics,
} from "../../../src/ground/telemetry/mod.ts";
import { assert, assertEquals, assertMatch } from "../../assert.ts";
import { until } from "../../fake/temp.ts";

const present = {
  requestsInFlight: 2,
  writesWaiting: 1,
  databaseBytes: 4_096,
  upstreams: [{ name: "a", resting: false, keys: [] }],
};

Deno.test("metrics of several threads: counts add up, states are the worst, sizes are one", async () => {
  const one = new Metrics(() => present);
  const other = new Metrics(() => ({
    ...present,
    databaseBytes: undefined,
    upstreams: [{ name: "a", resting: true, keys: [] }],
  }));
  one.attempt("a", "answered", 0.2);
  other.attempt("a", "answered", 20);
  other.attempt("a", "failed", 1);
  const text = await sumOfMetrics([await one.snapshot(), await other.snapshot()]);
  for (
    const line of [
      "sluice_requests_in_flight 4",
      "sluice_database_writes_waiting 2",
      "sluice_database_bytes 4096",
      'sluice_upstream_resting{upstream="a"} 1',
      'sluice_upstream_attempts_total{upstream="a",outcome="answered"} 2',
      'sluice_upstream_attempts_total{upstream="a",outcome="failed"} 1',
      'sluice_upstream_first_byte_seconds_bucket{le="0.25",upstream="a"} 1',
      'sluice_upstream_first_byte_seconds_bucket{le="30",upstream="a"} 2',
      'sluice_upstream_first_byte_seconds_bucket{le="+Inf",upstream="a"} 2',
      'sluice_upstream_first_byte_seconds_sum{upstream="a"} 20.2',
      'sluice_upstream_first_byte_seconds_count{upstream="a"} 2',
      "sluice_workers 2",
    ]
  ) assert(`\n${text}\n`.includes(`\n${line}\n`), `${line}\n${text}`);
  assertEquals(text.match(/^# TYPE sluice_upstream_attempts_total counter$/gm)?.length, 1);

  // of a thread that has ended its counts stay, and nothing that is only true of one that runs
  const ended = await endedMetrics([await endedMetrics([await other.snapshot()]), []]);
  const rest = await sumOfMetrics([ended, await one.snapshot()]);
  assertMatch(rest, /^sluice_upstream_attempts_total\{upstream="a",outcome="answered"\} 2$/m);
  assertMatch(rest, /^sluice_requests_in_flight 2$/m);
  assertMatch(rest, /^sluice_upstream_resting\{upstream="a"\} 0$/m);
});

Deno.test("a log of several threads is written in whole lines that a pipe takes as one", async () => {
  const pieces: string[] = [];
  const target = {
    writeSync(bytes: Uint8Array) {
      pieces.push(new TextDecoder().decode(bytes));
      return bytes.length;
    },
  };
  const write = bufferedWriter(target, { maxBytes: PIPE_BYTES });
  const lines = [
    ...Array.from({ length: 100 }, (_, at) => `${at} ${"x".repeat(100)}\n`),
    `${"long ".repeat(2_000)}\n`,
    "last\n",
  ];
  for (const line of lines) write(line);
  await until(() => pieces.at(-1)?.endsWith("last\n") === true, { what: "the last line" });
  assertEquals(pieces.join(""), lines.join(""));
  assert(pieces.every((piece) => piece.endsWith("\n")));
  assertEquals(pieces.filter((piece) => piece.length > PIPE_BYTES).length, 1);
  assert(pieces.length < 8, `${pieces.length}`);
});
