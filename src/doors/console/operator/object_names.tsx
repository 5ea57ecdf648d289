import { toldApart } from "../../../ground/platform/mod.ts";
import { storedOrders } from "../../../money/payments/mod.ts";
import { labelOf } from "../../../people/accounts/mod.ts";
import type { ConsoleParts } from "../request.tsx";
import { Name, Time } from "../components.tsx";

/** What an object is called, and the page about it. */
export interface ObjectLabel {
  readonly text: string;
  readonly href?: string;
}

/** Labels by ID. */
export type ObjectLabels = ReadonlyMap<string, ObjectLabel>;

/** IDs of accounts, keys, teams and orders, also as parts of longer ones such as that of a member, `team_…:acc_…`. */
const ID = /\b(?:acc|key|team|ord)_[A-Za-z0-9]+/g;

/**
 * Looks up what is behind IDs in texts: the email address of an account, the names of keys and teams, and pages of orders.
 *
 * @param parts Where to look.
 * @param texts IDs, or texts that have some in them; each kind is one query.
 */
export async function objectLabels(
  { accounts, database, keys, teams }: Pick<
    ConsoleParts,
    "accounts" | "database" | "keys" | "teams"
  >,
  texts: readonly string[],
): Promise<ObjectLabels> {
  const ids = [...new Set(texts.flatMap((text) => text.match(ID) ?? []))];
  const of = (kind: string) => ids.filter((id) => id.startsWith(`${kind}_`));
  const [foundAccounts, foundKeys, foundTeams, foundOrders] = await Promise.all([
    accounts.byIds(of("acc")),
    keys.byIds(of("key")),
    of("team").length === 0 ? [] : teams.list(),
    storedOrders(database, of("ord")),
  ]);
  const labels = new Map<string, ObjectLabel>();
  for (const account of foundAccounts.values()) {
    const { id } = account;
    labels.set(id, { text: labelOf(account), href: `/console/operator/accounts/${id}` });
  }
  for (const [id, text] of toldApart(foundKeys.values())) {
    labels.set(id, { text, href: `/console/operator/accounts/${foundKeys.get(id)!.accountId}` });
  }
  for (const { id, name } of foundTeams) {
    labels.set(id, { text: name, href: `/console/teams/${id}` });
  }
  for (const id of foundOrders) {
    labels.set(id, { text: id, href: `/console/operator/orders/${id}` });
  }
  return labels;
}

/** An object by its name where it has one; its ID is the tooltip. */
export function ObjectName({ id, labels }: { id: string; labels: ObjectLabels }) {
  const parts = id.includes(":") && id.match(ID)?.join(":") === id ? id.split(":") : [id];
  return (
    <>
      {parts.toReversed().map((part, at) => {
        const { text, href }: ObjectLabel = labels.get(part) ?? { text: part };
        return (
          <>
            {at === 0 ? "" : " in "}
            <span title={part}>
              <Name text={text} href={href} />
            </span>
          </>
        );
      })}
    </>
  );
}

/** From when on a number that is to be a time is one, in milliseconds. */
export const FIRST_TIME_MS = 1e12;
const SPANS: Readonly<Record<string, string>> = {
  60000: "minute",
  3600000: "hour",
  86400000: "day",
};

/** The key of a row, whose parts are IDs, spans and times in milliseconds, in words: `laptop, minute from 23 Nov 2026, …`. */
export function RowKey({ id, labels }: { id: string; labels: ObjectLabels }) {
  const parts = id.split(" ");
  return (
    <span class={parts.length === 1 ? undefined : "breaks"} title={id}>
      {parts.map((part, at) => {
        const next = at === parts.length - 1 ? "" : ", ";
        const isNumber = /^\d+$/.test(part);
        if (isNumber && Number(part) >= FIRST_TIME_MS) {
          return (
            <>
              <Time ms={Number(part)} />
              {next}
            </>
          );
        }
        if (Object.hasOwn(SPANS, part)) return `${SPANS[part]} from `;
        const label = labels.get(part);
        if (label === undefined) return <>{/_/.test(part) ? <code>{part}</code> : part}{next}</>;
        return (
          <>
            <a href={label.href}>{label.text}</a>
            {next}
          </>
        );
      })}
    </span>
  );
}
