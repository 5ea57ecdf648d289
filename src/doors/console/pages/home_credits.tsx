import { DAY_MS } from "../../../ground/time.ts";
import type { Lot } from "../../../money/ledger/mod.ts";
import { Name, RelativeTime, Table } from "../components.tsx";
import { dollars } from "../dollars.ts";
import { count, number } from "../format.ts";
import type { HomeProps } from "./home_props.ts";

/** Lots and keys that expire within this many days are pointed out. */
const LOT_DAYS = 30;
const KEY_DAYS = 14;

/** What expires soon, and what of it is not going to be used. */
export function Expiring({ credits: { lots }, rate, keys, perUsd, nowMs }: HomeProps) {
  const isSoon = (expiresAtMs: number | null, days: number): expiresAtMs is number =>
    expiresAtMs !== null && expiresAtMs - nowMs <= days * DAY_MS;
  const soonLots = lots.filter(({ expiresAtMs }) => isSoon(expiresAtMs, LOT_DAYS));
  // one that is valid for a day at most, as the playground's, is not about to expire from the beginning
  const soonKeys = keys
    .filter(({ createdAtMs, expiresAtMs: ms }) =>
      isSoon(ms, KEY_DAYS) && ms! - createdAtMs > DAY_MS
    )
    .toSorted((a, b) => a.expiresAtMs! - b.expiresAtMs!);
  if (soonLots.length + soonKeys.length === 0) return null;
  return (
    <section class="card">
      <h2>Expires soon</h2>
      <ul class="lines">
        {soonLots.map(({ id, remaining, expiresAtMs }) => {
          const left = rate?.unspent.get(id);
          return (
            <li>
              <b>{count(remaining, "credit")}</b>
              {perUsd === undefined ? "" : ` (${dollars(remaining, perUsd)})`} expire{" "}
              <RelativeTime ms={expiresAtMs!} nowMs={nowMs} />
              {left === undefined ? "" : `; at this rate, ${number(left)} of them stay unused`}.
            </li>
          );
        })}
        {soonKeys.slice(0, 5).map(({ id, name, hint, expiresAtMs }) => (
          <li>
            Key <Name text={name || hint} href={`/console/keys#${id}`} /> expires{" "}
            <RelativeTime ms={expiresAtMs!} nowMs={nowMs} />.
          </li>
        ))}
        {soonKeys.length > 5 && (
          <li>
            <a href="/console/keys">{count(soonKeys.length - 5, "more key")}</a> expire within{" "}
            {KEY_DAYS} days.
          </li>
        )}
      </ul>
    </section>
  );
}

/** Lots that are listed: who has invited many has a lot for each. */
const LOTS_SHOWN = 12;

/** The lots that the balance is made of. */
export function Lots({ credits, perUsd, nowMs }: HomeProps) {
  const rest = credits.lots.slice(LOTS_SHOWN);
  const left = rest.reduce((sum, { remaining }) => sum + remaining, 0);
  return (
    <section class="card">
      <h2>Balance by lot</h2>
      <Table<Lot>
        caption="Lots, in the order they are spent"
        rows={credits.lots.slice(0, LOTS_SHOWN)}
        empty={
          <>
            No credits.{" "}
            <a href="/console/credits">Buy a package</a>, or ask your operator for a grant.
          </>
        }
        columns={[
          { name: "source", cell: lotName },
          { name: "remaining", role: "figure", cell: ({ remaining }) => number(remaining) },
          ...(perUsd === undefined ? [] : [{
            name: "in dollars",
            numeric: true,
            cell: ({ remaining }: Lot) => dollars(remaining, perUsd),
          }]),
          {
            name: "expires",
            cell: ({ expiresAtMs }) =>
              expiresAtMs === null ? "never" : <RelativeTime ms={expiresAtMs} nowMs={nowMs} />,
          },
        ]}
      />
      {rest.length === 0 ? null : (
        <p class="quiet">
          {`and ${count(rest.length, "lot")} more with ${count(left, "credit")}`}
        </p>
      )}
    </section>
  );
}

/** What a lot came from, and the models that it pays for if not all. */
export function lotName({ source, note, models }: Lot): string {
  const name = note || SOURCES[source];
  return models === null ? name : `${name} (for ${models.join(", ")})`;
}

/** Names of the sources of credits. */
export const SOURCES: Readonly<Record<Lot["source"], string>> = {
  signup: "Welcome",
  owner: "Owner's grant",
  invite_signup: "Invite used",
  invite_payment: "Invitee's first payment",
  package: "Package",
  grant: "Grant",
};
