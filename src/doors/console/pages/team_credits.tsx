import type { CreditPackage } from "../../../money/payments/mod.ts";
import type { Team } from "../../../people/accounts/mod.ts";
import { Stat } from "../components.tsx";
import { Layout, type PageContext } from "../layout.tsx";
import { Debt, Packages, type Shop } from "./packages.tsx";
import { TeamState } from "./teams.tsx";

/** Packages for a team's pool, and its orders. */
export function TeamCreditsPage(
  { page, team, balance, packages, shop }: {
    page: PageContext;
    team: Team;
    /** Of the pool. */
    balance: number;
    packages: readonly CreditPackage[];
    shop: Shop;
  },
) {
  return (
    <Layout page={page} title={`Credits of ${team.name}`}>
      <p>
        <TeamState team={team} /> <a href={`/console/teams/${team.id}`}>Members, keys and usage</a>
      </p>
      <Debt shop={shop} />
      <dl class="stats">
        <Stat name="Pool" value={balance} note="credits of the whole team" />
      </dl>
      <h2 id="buy">Packages</h2>
      <Packages packages={packages} shop={shop} />
    </Layout>
  );
}
