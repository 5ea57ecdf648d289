import { Table, Time } from "../components.tsx";
import { number } from "../format.ts";
import { Layout } from "../layout.tsx";
import { JOINED_SHOWN, OtherJoined } from "../pages/joined.tsx";
import { type ConsoleParts, page, pageOf, type PageRequest } from "../request.tsx";
import { type GuardedApp, may } from "../guard.ts";

/** Invitations of all accounts: who invited whom. */
export function invitesRoutes(app: GuardedApp, parts: ConsoleParts): void {
  app.get("/invites", may("invites.read", (c) => invitesPage(c, parts)));
}

async function invitesPage(c: PageRequest, { registration }: ConsoleParts): Promise<Response> {
  const all = (await registration.inviters()).flatMap(({ email, joined }) =>
    joined.map((one) => ({ inviter: email, ...one }))
  );
  const rows = all.toSorted((a, b) => b.joinedAtMs - a.joinedAtMs).slice(0, JOINED_SHOWN);
  return await page(
    c,
    <Layout page={pageOf(c)} title="Invites">
      <p class="quiet">
        Each account has an invite code on its Credits page, and earns credits when somebody
        registers with it, and once more at that account's first payment.
      </p>
      <Table<typeof rows[number]>
        caption="Who invited whom, newest first"
        rows={rows}
        empty="Nobody has joined with an invite code yet."
        columns={[
          { name: "invited by", cell: ({ inviter }) => inviter },
          { name: "invitee", cell: ({ email }) => email },
          { name: "joined", cell: ({ joinedAtMs }) => <Time ms={joinedAtMs} dayOnly /> },
          { name: "credits earned", role: "figure", cell: ({ earned }) => number(earned) },
        ]}
      />
      <OtherJoined all={all.length} />
    </Layout>,
  );
}
