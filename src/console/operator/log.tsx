import { logEntries, type LogEntry } from "../../operation_log/mod.ts";
import { Field, Table, Time } from "../components.tsx";
import { Layout, type PageContext } from "../layout.tsx";
import { type ConsoleParts, page, pageOf } from "../request.tsx";
import { type GuardedApp, may } from "../guard.ts";

const PAGE_ROWS = 50;
const MAX_CHARS = 400;

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

/** A row's object before or after, cut where it is long: the command has all of it. */
function cut(value: unknown): string {
  const text = value === null ? "–" : JSON.stringify(value);
  return text.length > MAX_CHARS ? `${text.slice(0, MAX_CHARS)}…` : text;
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
        empty="Nothing has been changed yet."
        columns={[
          { name: "time", cell: ({ atMs }) => <Time ms={atMs} /> },
          { name: "actor", cell: ({ actor }) => actor },
          {
            name: "from",
            cell: ({ door, address }) => address === null ? door : `${door}, ${address}`,
          },
          { name: "operation", cell: ({ operation }) => <code>{operation}</code> },
          { name: "object", cell: ({ objectId }) => <code>{objectId ?? "–"}</code> },
          { name: "outcome", cell: ({ outcome, error }) => error ?? outcome },
          { name: "before", cell: ({ before }) => <code>{cut(before)}</code> },
          { name: "after", cell: ({ after }) => <code>{cut(after)}</code> },
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
