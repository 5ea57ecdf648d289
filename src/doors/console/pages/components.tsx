import { Chart } from "../chart.tsx";
import { type Series, type Span, timeSlots, topSeries } from "../chart_scale.ts";
import {
  Badge,
  Copyable,
  Facts,
  Field,
  Form,
  GLOSSARY,
  type GlossaryWord,
  MAX_SERIES,
  Meter,
  Name,
  RelativeTime,
  Select,
  Stat,
  Table,
  Term,
  Time,
} from "../components.tsx";
import { duration, number, signed } from "../format.ts";
import { Layout, type PageContext, Toast } from "../layout.tsx";

const LONG = "a-model-name-of-one-hundred-and-twenty-characters-" + "x".repeat(56) +
  "-2026-11-latest";
const MODELS = ["svc-k2", "svc-k3", LONG, "embeddings-small", "vision-large", "svc-k2.6", "mini"];
const SPANS: readonly (readonly [Span, number, number])[] = [
  ["hour", 48, 3_600_000],
  ["day", 90, 86_400_000],
  ["month", 12, 30.5 * 86_400_000],
];

/** Every component of the console in its states, for those who change them and for the tests. */
export function ComponentsPage({ page, nowMs }: { page: PageContext; nowMs: number }) {
  return (
    <Layout
      page={page}
      title="Components"
      notice={{ tone: "good", text: "A message after a write, which can be dismissed." }}
    >
      <Toast tone="bad" text="An error says what is wrong, and then what to do." />
      <h2>Text</h2>
      <h3>A heading of the third level</h3>
      <p>
        Text with a <a href="#main">link</a>, <code>code</code> and <kbd>g</kbd> <kbd>k</kbd>.{" "}
        <span class="quiet">Quiet text.</span> <small>Small text.</small>
      </p>
      <p>
        A name: <Name text={LONG} />
      </p>
      <p>
        <Time ms={nowMs} />, <RelativeTime ms={nowMs - 7_200_000} nowMs={nowMs} />,{" "}
        {duration(7_512_000)}, {signed(-12_345)}, {signed(678)}
      </p>
      <p>
        Words that explain themselves: {(Object.keys(GLOSSARY) as GlossaryWord[]).map((word) => (
          <>
            <Term word={word} />
            {" "}
          </>
        ))}
      </p>
      <h2>States</h2>
      <p>
        <Badge tone="good">active</Badge> <Badge tone="warn">expired</Badge>{" "}
        <Badge tone="bad">failed</Badge> <Badge tone="calm">operator</Badge>
      </p>
      <dl class="stats">
        <Stat name="Balance" value={1_234_567} note="credits" />
        <Stat name="A change" value={signed(-500)} note="against the month before" />
        <Stat name="Long" value={987_654_321_000} />
      </dl>
      <div class="card">
        <Meter label="hour" used={1_200} limit={15_000} />
        <Meter label="day" used={95_000} limit={100_000} />
      </div>
      <h2>Tables</h2>
      <Models />
      <Table
        caption="An empty table"
        rows={[]}
        empty="Nothing yet. An empty state says how to get something."
        columns={[]}
      />
      <h2>Charts</h2>
      {SPANS.map(([span, count, lengthMs]) => (
        <Chart
          title={`Credits by ${span}`}
          unit="credits"
          span={span}
          slots={timeSlots(
            Array.from({ length: count }, (_, at) => nowMs - (count - 1 - at) * lengthMs),
            span,
          )}
          series={topSeries(MODELS.map((name, index) => made(name, index, count)), MAX_SERIES)}
          before={{ ...made("before", 3, count), name: `${count} ${span}s before` }}
        />
      ))}
      <Chart
        title="Requests"
        unit="requests"
        span="day"
        slots={timeSlots(Array.from({ length: 7 }, (_, at) => nowMs + at * 86_400_000), "day")}
        series={[made("succeeded", 1, 7), { ...made("failed", 5, 7), tone: "bad" }]}
      />
      <Chart
        title="Nothing"
        unit="requests"
        span="day"
        slots={timeSlots([nowMs], "day")}
        series={[{ name: "succeeded", values: [0] }]}
      />
      <h2>Forms</h2>
      <div class="grid">
        <Form action="#" csrf="" class="card">
          <Field label="Name" name="name" placeholder="laptop" hint="Helps you tell keys apart." />
          <Field label="Email" name="email" type="email" value="not an address" required />
          <Select label="Expires" name="expires" options={["never"]} />
          <p>
            <label>
              <input type="checkbox" name="paid" checked /> Paid
            </label>
          </p>
          <div class="buttons">
            <button type="submit">Save</button>
            <button type="submit" class="plain">Cancel</button>
            <button type="submit" class="danger">Revoke</button>
            <button type="submit" disabled>Not now</button>
          </div>
        </Form>
        <section class="card">
          <h2>Text to copy</h2>
          <Copyable
            text={`https://llm.example.com/console/register?code=${"x".repeat(24)}`}
            label="a link"
          />
          <details>
            <summary>More</summary>
            <p>What is folded away.</p>
          </details>
          <Facts rows={[["Model", <Name text={LONG} />], ["Attempts", "2"]]} />
        </section>
      </div>
      <nav class="tabs" aria-label="Tabs">
        <a href="#main" aria-current="page">by day</a>
        <a href="#main">by model</a>
      </nav>
    </Layout>
  );
}

function Models() {
  return (
    <Table<string>
      caption="Models"
      rows={MODELS}
      empty=""
      columns={[
        { name: "model", cell: (name) => <Name text={name} code href="#main" /> },
        { name: "state", bare: true, cell: () => <Badge tone="good">active</Badge> },
        { name: "key", cell: () => LONG },
        { name: "note", cell: (name) => name.length > 99 ? "Several words that wrap" : "" },
        { name: "requests", numeric: true, cell: (name) => number(name.length * 1_234) },
        { name: "credits", role: "figure", cell: (name) => number(name.length * 98_765) },
        { name: "", cell: () => <button type="button" class="danger">Revoke</button> },
      ]}
    />
  );
}

/** A series that looks like something and is the same each time. */
function made(name: string, index: number, count: number): Series {
  const values = Array.from(
    { length: count },
    (_, at) =>
      Math.round(Math.max(0, 900 / (index + 1) * (1.2 + Math.sin((at + index * 3) / (index + 2))))),
  );
  return { name, values };
}
