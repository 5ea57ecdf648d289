import type { CreditPackage, Invitation } from "../../billing/mod.ts";
import type { Entry } from "../../ledger/mod.ts";
import { Copyable, Stat, Table, Time } from "../components.tsx";
import { number } from "../format.ts";
import { Layout, type Notice, type PageContext } from "../layout.tsx";
import { SOURCES } from "./home.tsx";
import { Packages, type Shop } from "./payments.tsx";

/** Packages, invitations, and the history of credits. */
export function CreditsPage(
  { page, balance, packages, shop, notice, entries, invite, joined, more }: {
    page: PageContext;
    balance: number;
    packages: readonly CreditPackage[];
    shop: Shop;
    notice?: Notice | undefined;
    entries: readonly Entry[];
    invite: { readonly code: string; readonly link: string };
    joined: readonly Invitation[];
    /** Query of the page with older entries. */
    more: string | undefined;
  },
) {
  return (
    <Layout page={page} title="Credits" notice={notice}>
      <dl class="stats">
        <Stat name="Balance" value={balance} note="credits" />
        <Stat name="Invited" value={joined.length} note="people" />
        <Stat
          name="Earned by inviting"
          value={joined.reduce((sum, { earned }) => sum + earned, 0)}
          note="credits"
        />
      </dl>
      <h2>Packages</h2>
      <Packages packages={packages} shop={shop} />
      <h2>Invite others</h2>
      <p>
        You earn credits for everyone who registers with your code, and more at their first payment.
      </p>
      <div class="grid">
        <Copyable text={invite.code} label="your invite code" />
        <Copyable text={invite.link} label="your invite link" />
      </div>
      <h2>Invited people</h2>
      <Table<Invitation>
        caption="People who joined with your code"
        rows={joined}
        empty="Nobody has joined with your code yet."
        columns={[
          { name: "email", cell: ({ email }) => email },
          { name: "invitee", cell: ({ joinedAtMs }) => <Time ms={joinedAtMs} dayOnly /> },
          { name: "earned", numeric: true, cell: ({ earned }) => number(earned) },
        ]}
      />
      <h2>History</h2>
      <EntryTable entries={entries} />
      {more === undefined ? null : (
        <p>
          <a href={`/console/credits?${more}`}>Older entries</a>
        </p>
      )}
    </Layout>
  );
}

/** Ledger entries, newest first. */
export function EntryTable({ entries }: { entries: readonly Entry[] }) {
  return (
    <Table<Entry>
      caption="Entries, newest first"
      rows={entries}
      empty="No entries yet."
      columns={[
        { name: "time", cell: ({ atMs }) => <Time ms={atMs} /> },
        { name: "description", cell: (entry) => <What entry={entry} /> },
        {
          name: "credits",
          numeric: true,
          cell: ({ credits }) => `${credits > 0 ? "+" : ""}${number(credits)}`,
        },
      ]}
    />
  );
}

function What({ entry: { kind, causeId, source, note, reason } }: { entry: Entry }) {
  const lot = note || SOURCES[source as keyof typeof SOURCES];
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
