import { logEntries, type LogEntry } from "../../../people/operation_log/mod.ts";
import { ROUTE_WRITE } from "../../../operating/operations/mod.ts";
import { Badge, Field, Table, Time } from "../components.tsx";
import { LogValue, wordsOfPath } from "./log_value.tsx";
import { type ObjectLabels, objectLabels, ObjectName } from "./object_names.tsx";
import { Layout } from "../layout.tsx";
import { type ConsoleParts, page, pageOf, type PageRequest } from "../request.tsx";
import { type GuardedApp, may } from "../guard.ts";

const PAGE_ROWS = 50;
/** Values that a row shows. */
const MAX_CHANGES = 6;
/** What an error begins with, for programs. */
const ERROR_CODE = /^[a-z_]+: /;

/** What operators changed. */
export function logRoutes(app: GuardedApp, parts: ConsoleParts): void {
  app.get("/log", may("log.read", (c) => logPage(c, parts)));
}

/** Values of an object by their path. */
function valuesOf(value: unknown, path = ""): [string, unknown][] {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    return value === null || value === undefined ? [] : [[path, value]];
  }
  return Object.entries(value).flatMap(([name, inner]) =>
    valuesOf(inner, path === "" ? name : `${path}.${name}`)
  );
}

/** What is different afterwards; the command has all of it. */
function Change({ entry, labels }: { entry: LogEntry; labels: ObjectLabels }) {
  const { operation, outcome, before, after } = entry;
  if (outcome === "failed") return <>–</>; // what was is what is
  if (operation === ROUTE_WRITE.name && after === null) {
    return <>The gateway ended before the outcome was noted. See the settings file.</>;
  }
  const old = new Map(valuesOf(before));
  const now = new Map(valuesOf(after));
  const same = (name: string) => JSON.stringify(old.get(name)) === JSON.stringify(now.get(name));
  const names = [...new Set([...old.keys(), ...now.keys()])].filter((name) => !same(name));
  if (names.length === 0) return <>–</>;
  const shown = (name: string, value: unknown) => (
    <LogValue path={name} value={value} labels={labels} />
  );
  return (
    <ul class="changes">
      {names.slice(0, MAX_CHANGES).map((name) => (
        <li>
          <span class="quiet">{wordsOfPath(name)}</span>{" "}
          {before === null ? null : <>{shown(name, old.get(name))} →{" "}</>}
          {shown(name, now.get(name))}
        </li>
      ))}
      {names.length > MAX_CHANGES && (
        <li class="quiet">{`and ${names.length - MAX_CHANGES} more: sluice log --json`}</li>
      )}
    </ul>
  );
}

/** The ID of what somebody looks for: of an account by its email address, of a team by its name, or as it was given. */
async function idOf({ accounts, teams }: ConsoleParts, about: string): Promise<string> {
  return (await accounts.find(about) ?? await teams.find(about))?.id ?? about;
}

/** The log of operations, newest first. */
async function logPage(c: PageRequest, parts: ConsoleParts): Promise<Response> {
  const asked = (name: string) => (c.req.query(name) ?? "").trim().slice(0, 400) || undefined;
  const [by, about] = [asked("by"), asked("about")];
  const entries = await logEntries(parts.database, {
    by,
    about: about && await idOf(parts, about),
    after: asked("after"),
    limit: PAGE_ROWS,
  });
  const labels = await objectLabels(
    parts,
    entries.map(({ objectId, before, after }) =>
      `${objectId ?? ""} ${JSON.stringify([before, after])}`
    ),
  );
  const last = entries.length < PAGE_ROWS ? undefined : entries.at(-1);
  const older = last && new URLSearchParams({ by: by ?? "", about: about ?? "", after: last.id });
  return await page(
    c,
    <Layout page={pageOf(c)} title="Log">
      <form method="get" action="/console/operator/log" class="row" role="search">
        <Field label="By" name="by" type="search" value={by ?? ""} />
        <Field
          label="About (email, team or ID)"
          name="about"
          type="search"
          value={about ?? ""}
        />
        <button type="submit" class="plain">Filter</button>
      </form>
      <Table<LogEntry>
        caption="What operators changed, newest first"
        rows={entries}
        empty={by === undefined && about === undefined
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
          {
            name: "object",
            cell: ({ objectId }) =>
              objectId === null ? "–" : <ObjectName id={objectId} labels={labels} />,
          },
          {
            name: "outcome",
            bare: true,
            cell: ({ outcome, error }) =>
              outcome === "done" ? <Badge tone="good">done</Badge> : (
                <>
                  <Badge tone="bad">failed</Badge> {error?.replace(ERROR_CODE, "")}
                </>
              ),
          },
          {
            name: "from",
            cell: ({ door, address }) => address === null ? door : `${door}, ${address}`,
          },
          { name: "change", cell: (entry) => <Change entry={entry} labels={labels} /> },
        ]}
      />
      {older === undefined ? null : (
        <p>
          <a href={`/console/operator/log?${older}`}>Older</a>
        </p>
      )}
    </Layout>,
  );
}
