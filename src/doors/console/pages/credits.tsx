import type { CreditPackage } from "../../../money/payments/mod.ts";
import type { Invitation } from "../../../money/billing/mod.ts";
import { Copyable, Stat, Table, Time } from "../components.tsx";
import { number } from "../format.ts";
import { Layout, type PageContext } from "../layout.tsx";
import { BalanceStat } from "../live_stats.tsx";
import { CreditStatementSection, type StatementView } from "./credit_statement.tsx";
import { Debt, Packages, type Shop } from "./packages.tsx";

/** People who joined that a page lists: a thousand are a third of a megabyte. */
export const JOINED_SHOWN = 200;

/** Says of how many people the latest are listed. */
export function OtherJoined({ all }: { all: number }) {
  if (all <= JOINED_SHOWN) return null;
  return <p class="quiet">The latest {number(JOINED_SHOWN)} of {number(all)} people.</p>;
}

/** Packages, the statement of a month, and invitations. */
export function CreditsPage(
  { page, balance, perUsd, packages, shop, view, invite, joined }: {
    page: PageContext;
    balance: number;
    /** Credits for one US dollar; undefined if the settings do not say. */
    perUsd: number | undefined;
    packages: readonly CreditPackage[];
    shop: Shop;
    view: StatementView;
    invite: { readonly code: string; readonly link: string };
    /** Oldest first. */
    joined: readonly Invitation[];
  },
) {
  return (
    <Layout page={page} title="Credits">
      <Debt shop={shop} />
      <dl class="stats">
        <Stat {...BalanceStat({ balance, held: 0, perUsd })} />
        <Stat name="Invited" value={joined.length} note="people" />
        <Stat
          name="Earned by inviting"
          value={joined.reduce((sum, { earned }) => sum + earned, 0)}
          note="credits"
        />
      </dl>
      <nav class="tabs" aria-label="On this page">
        <a href="#buy">Buy</a>
        <a href="#statement">Statement</a>
        <a href="#invite">Invite</a>
      </nav>
      <h2 id="buy">Packages</h2>
      <Packages packages={packages} shop={shop} />
      <CreditStatementSection {...view} />
      <h2 id="invite">Invite others</h2>
      <p>
        You earn credits for everyone who registers with your code, and more at their first payment.
      </p>
      <div class="grid">
        <Copyable text={invite.code} label="your invite code" />
        <Copyable text={invite.link} label="your invite link" />
      </div>
      <h2>Invited people</h2>
      <Table<Invitation>
        caption="People who joined with your code, newest first"
        rows={joined.toReversed().slice(0, JOINED_SHOWN)}
        empty="Nobody has joined with your code yet."
        columns={[
          { name: "email", cell: ({ email }) => email },
          { name: "joined", cell: ({ joinedAtMs }) => <Time ms={joinedAtMs} dayOnly /> },
          { name: "earned", role: "figure", cell: ({ earned }) => number(earned) },
        ]}
      />
      <OtherJoined all={joined.length} />
    </Layout>
  );
}
