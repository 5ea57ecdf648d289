import { logEntries, type LogEntry } from "../../operation_log/mod.ts";
import { ROUTE_WRITE } from "../../operations/mod.ts";
import { Badge, Field, Table, Time } from "../components.tsx";
import { Layout, type PageContext } from "../layout.tsx";
import { type ConsoleParts, page, pageOf } from "../request.tsx";
import { type GuardedApp, may } from "../guard.ts";

const PAGE_ROWS = 50;
/** Of a value, and values that a row shows. */
const MAX_CHARS = 120;
const MAX_CHANGES = 6;

/** What operators changed. */
export function logRoutes(app: GuardedApp, { database }: ConsoleParts): void {
  app.get(
    "/log",
    may("log.read", async (c) => {
      const asked = (name: string) => (c.req.query(name) ?? "").trim().slice(0, 400) || undefined;
      const filter = { by: asked("by"), about: asked("about") };
      const entries = await logEntries(database, {
        ...filter,
        after: asked("after"),
        limit: PAGE_ROWS,
      });
      return await page(c, <LogPage page={pageOf(c)} entries={entries} filter={filter} />);
    }),
  );
}

/** Values of an object by their path, as text. */
function valuesOf(value: unknown, path = ""): [string, string][] {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    return value === null || value === undefined ? [] : [[path, JSON.stringify(value)]];
  }
  return Object.entries(value).flatMap(([name, inner]) =>
    valuesOf(inner, path === "" ? name : `${path}.${name}`)
  );
}

function cut(text: string): string {
  return text.length > MAX_CHARS ? `${text.slice(0, MAX_CHARS)}…` : text;
}

/** What is different afterwards; the command has all of it. */
function Change({ entry: { operation, outcome, before, after } }: { entry: LogEntry }) {
  if (operation === ROUTE_WRITE.name && outcome === "done" && after === null) {
    return <>The gateway ended before the outcome was noted. See the settings file.</>;
  }
  const old = new Map(valuesOf(before));
  const now = new Map(valuesOf(after));
  const names = [...new Set([...old.keys(), ...now.keys()])]
    .filter((name) => old.get(name) !== now.get(name));
  if (names.length === 0) return <>–</>;
  return (
    <ul class="changes">
      {names.slice(0, MAX_CHANGES).map((name) => (
        <li>
          <span class="quiet">{name}</span>{" "}
          {before === null ? "" : `${cut(old.get(name) ?? "none")} → `}
          {cut(now.get(name) ?? "none")}
        </li>
      ))}
      {names.length <= MAX_CHANGES
        ? null
        : <li class="quiet">{`and ${names.length - MAX_CHANGES} more: sluice log --json`}</li>}
    </ul>
  );
}

function moreOf(
  entries: readonly LogEntry[],
  { by = "", about = "" }: {
    readonly by?: string | undefined;
    readonly about?: string | undefined;
  },
): string | undefined {
  const last = entries.at(-1);
  if (last === undefined || entries.length < PAGE_ROWS) return undefined;
  return `/console/operator/log?${new URLSearchParams({ by, about, after: last.id })}`;
}

/** The log of operations, newest first. */
function LogPage(
  { page, entries, filter }: {
    page: PageContext;
    entries: readonly LogEntry[];
    filter: { readonly by?: string | undefined; readonly about?: string | undefined };
  },
) {
  const more = moreOf(entries, filter);
  return (
    <Layout page={page} title="Log">
      <form method="get" action="/console/operator/log" class="row" role="search">
        <Field label="By" name="by" type="search" value={filter.by ?? ""} />
        <Field label="About (ID)" name="about" type="search" value={filter.about ?? ""} />
        <button type="submit" class="plain">Filter</button>
      </form>
      <Table<LogEntry>
        caption="What operators changed, newest first"
        rows={entries}
        empty={filter.by === undefined && filter.about === undefined
          ? "Nothing has been changed yet."
          : "No operations match."}
        columns={[
          { name: "time", bare: true, cell: ({ atMs }) => <Time ms={atMs} /> },
          { name: "actor", cell: ({ actor }) => actor },
          {
            name: "operation",
            role: "primary",
            cell: ({ operation }) => <code>{operation}</code>,
          },
          { name: "object", cell: ({ objectId }) => objectId ?? "–" },
          {
            name: "outcome",
            bare: true,
            cell: ({ outcome, error }) =>
              outcome === "done" ? <Badge tone="good">done</Badge> : (
                <>
                  <Badge tone="bad">failed</Badge> {error}
                </>
              ),
          },
          {
            name: "from",
            cell: ({ door, address }) => address === null ? door : `${door}, ${address}`,
          },
          { name: "change", cell: (entry) => <Change entry={entry} /> },
        ]}
      />
      {more === undefined ? null : (
        <p>
          <a href={more}>Older</a>
        </p>
      )}
    </Layout>
  );
}
