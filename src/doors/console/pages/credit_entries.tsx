import type { Entry } from "../../../money/ledger/mod.ts";
import { Table, Time } from "../components.tsx";
import { signed } from "../format.ts";
import { SOURCES } from "./home_credits.tsx";

/** Kinds of entries besides charges, in words. */
export const KINDS = { grant: "Granted", expire: "Expired", take_back: "Taken back" } as const;

/** Ledger entries, newest first. */
export function EntryTable({ entries }: { entries: readonly Entry[] }) {
  return (
    <Table<Entry>
      caption="Entries, newest first"
      rows={entries}
      empty="No entries yet."
      columns={[
        { name: "time", bare: true, cell: ({ atMs }) => <Time ms={atMs} /> },
        { name: "description", role: "primary", cell: (entry) => <EntryText entry={entry} /> },
        { name: "credits", role: "figure", cell: ({ credits }) => signed(credits) },
      ]}
    />
  );
}

/** Names the lot of an entry: by its note, else by where it came from. */
export function lotName({ note, source }: Entry): string {
  return note || SOURCES[source as keyof typeof SOURCES];
}

/** What an entry is of. */
export function EntryText({ entry }: { entry: Entry }) {
  const { kind, causeId, reason } = entry;
  const lot = lotName(entry);
  switch (kind) {
    case "charge":
      return <a href={`/console/requests/${causeId}`}>Request</a>;
    case "expire":
      return <>{`Expired: ${lot}`}</>;
    case "take_back":
      return <>{`Taken back: ${lot} (${reason})`}</>;
    case "grant":
      return <>{lot}</>;
  }
}
