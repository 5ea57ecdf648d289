import { assertEquals } from "../assert.ts";
import { Counter, Gauge, Histogram } from "../../src/telemetry/series.ts";

Deno.test("Counter: the text format, label values escaped", () => {
  const counter = new Counter({ name: "c_total", help: "A\nhelp \\.", labels: ["route", "kind"] });
  counter.add(["a", "x"], 1);
  counter.add(['quote " line\n back\\', "y"], 2.5);
  counter.add(["a", "x"], 3);
  assertEquals(counter.text().split("\n"), [
    "# HELP c_total A\\nhelp \\\\.",
    "# TYPE c_total counter",
    'c_total{route="a",kind="x"} 4',
    'c_total{route="quote \\" line\\n back\\\\",kind="y"} 2.5',
  ]);
});

Deno.test("Counter and Gauge: without labels they are exported from the start", () => {
  for (const [Kind, type] of [[Counter, "counter"], [Gauge, "gauge"]] as const) {
    const metric = new Kind({ name: "m", help: "Help." });
    assertEquals(metric.text(), `# HELP m Help.\n# TYPE m ${type}\nm 0`);
  }
});

Deno.test("Histogram: buckets are cumulative, and a value on a bound is within it", () => {
  const histogram = new Histogram({ name: "h", help: "Help.", labels: ["of"], bounds: [0.5, 1] });
  for (const value of [0.5, 0.75, 1, 7]) histogram.observe(["a"], value);
  assertEquals(histogram.text().split("\n").slice(2), [
    'h_bucket{le="0.5",of="a"} 1',
    'h_bucket{le="1",of="a"} 3',
    'h_bucket{le="+Inf",of="a"} 4',
    'h_sum{of="a"} 9.25',
    'h_count{of="a"} 4',
  ]);
});
