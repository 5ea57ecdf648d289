import { toldApart } from "../../../ground/platform/mod.ts";
import type { Key } from "../../../people/accounts/mod.ts";
import {
  BUDGET_SET,
  KEY_REVOKE,
  KEY_UPDATE,
  type WriteOperation,
} from "../../../operating/operations/mod.ts";
import type { Budget } from "../../../money/ledger/mod.ts";
import { Budgets } from "../budgets.tsx";
import { Badge, Name, Names, RelativeTime, Table, Time } from "../components.tsx";
import { count, number } from "../format.ts";
import { KeyForms } from "./key_forms.tsx";

/** The time of an expiry this near is of interest, too. */
const SOON_MS = 2 * 86_400_000;

/** Whether the visitor may do a write of a key here. */
export type MayChange = (key: Key, operation: WriteOperation) => boolean;

/** What a table shows of keys. */
export interface KeysView {
  /** Those that the visitor may see, newest first. */
  readonly keys: readonly Key[];
  /** Budgets of the keys, by key ID. */
  readonly budgets: ReadonlyMap<string, readonly Budget[]>;
  /** When keys were last used, by key ID. */
  readonly lastUse: ReadonlyMap<string, number>;
  /** Credits by key ID. */
  readonly spent: ReadonlyMap<string, number>;
  /** Routes that are served. */
  readonly models: readonly string[];
  readonly nowMs: number;
}

/** What a table of keys is made with. */
interface KeyTableProps extends KeysView {
  /** What the table is called. Default: keys. */
  readonly caption?: string;
  /** Names of teams by ID; without it, the table has no column for them. */
  readonly teams?: ReadonlyMap<string, string> | undefined;
  /** Email addresses of members by account ID; without it, the table has no column for them. */
  readonly names?: ReadonlyMap<string, string>;
  /** Of when the credits are. Default: since ever. */
  readonly spentIn?: string;
  /** Whose models a key without a list may use. */
  readonly allModels?: string;
  readonly csrf: string;
  /** Path below which forms post. */
  readonly action: string;
  readonly mayChange: MayChange;
}

/** Past keys that are listed, those that ended last first, and how many have forms, of which each has all models: the playground makes many. */
const PAST_SHOWN = 200;
const PAST_CHANGEABLE = 20;

/** Keys with their state; revoked and expired ones are folded away. */
export function KeyTable({ keys, caption = "Keys", ...props }: KeyTableProps) {
  const active = keys.filter((key) => isActive(key, props.nowMs));
  const past = keys.filter((key) => !isActive(key, props.nowMs))
    .toSorted((a, b) => endOf(b) - endOf(a));
  const changeable = new Set(past.slice(0, PAST_CHANGEABLE).map(({ id }) => id));
  return (
    <>
      <KeyRows {...props} keys={active} caption={caption} />
      {past.length === 0 ? null : (
        <details>
          <summary>{count(past.length, "key")} revoked or expired</summary>
          <KeyRows
            {...props}
            keys={past.slice(0, PAST_SHOWN)}
            caption="Revoked and expired keys"
            mayChange={(key, operation) =>
              changeable.has(key.id) && props.mayChange(key, operation)}
            arePast
          />
          {past.length > PAST_SHOWN && (
            <p class="quiet">The latest {PAST_SHOWN} of {number(past.length)}.</p>
          )}
        </details>
      )}
    </>
  );
}

function KeyRows(
  {
    keys,
    budgets,
    lastUse,
    spent,
    teams,
    names,
    spentIn = "spent",
    allModels = "all",
    csrf,
    nowMs,
    action,
    mayChange,
    models,
    caption,
    arePast = false,
  }:
    & KeyTableProps
    & {
      caption: string;
      /** Whether they are revoked or expired; else all are active. */
      arePast?: boolean;
    },
) {
  const labels = toldApart(keys);
  return (
    <Table<Key>
      caption={caption}
      rows={keys}
      empty="No keys yet."
      columns={[
        {
          name: "name",
          cell: ({ name, id }) => (
            <span id={id}>
              <KeyName name={name} />
            </span>
          ),
        },
        { name: "key", bare: true, cell: ({ hint }) => <code>{hint}</code> },
        ...(teams === undefined ? [] : [{
          name: "team",
          cell: ({ teamId }: Key) =>
            teamId === null
              ? "–"
              : <Name href={`/console/teams/${teamId}`} text={teams.get(teamId) ?? teamId} />,
        }]),
        ...(names === undefined ? [] : [{
          name: "member",
          cell: ({ memberId }: Key) => memberId === null ? "–" : names.get(memberId) ?? memberId,
        }]),
        ...(arePast
          ? [{
            name: "state",
            bare: true,
            cell: (key: Key) => <KeyState value={key} nowMs={nowMs} />,
          }]
          : []),
        {
          name: "last used",
          cell: ({ id }) =>
            lastUse.has(id) ? <RelativeTime ms={lastUse.get(id)!} nowMs={nowMs} /> : "never",
        },
        { name: spentIn, role: "figure", cell: ({ id }) => number(spent.get(id) ?? 0) },
        {
          name: "expires",
          cell: ({ expiresAtMs }) =>
            expiresAtMs === null
              ? "never"
              : <Time ms={expiresAtMs} dayOnly={Math.abs(expiresAtMs - nowMs) > SOON_MS} />,
        },
        {
          name: "models",
          cell: ({ models }) => models === null ? allModels : <Names all={models} />,
        },
        ...(keys.every(({ atOnce }) => atOnce === null) ? [] : [{
          name: "at once",
          numeric: true,
          cell: ({ atOnce }: Key) => atOnce === null ? "any" : number(atOnce),
        }]),
        {
          name: "budget",
          bare: true,
          cell: (key) => {
            const found = budgets.get(key.id) ?? [];
            const mayBudget = key.revokedAtMs === null && mayChange(key, BUDGET_SET);
            const path = mayBudget ? `${action}/${key.id}` : undefined;
            if (found.length === 0 && path === undefined) return "–";
            const of = `the key ${labels.get(key.id)!}`;
            return <Budgets budgets={found} of={of} csrf={csrf} path={path} />;
          },
        },
        {
          name: "",
          cell: (key) =>
            key.revokedAtMs !== null ? "" : (
              <KeyForms
                value={key}
                label={labels.get(key.id)!}
                csrf={csrf}
                path={`${action}/${key.id}`}
                mayChange={mayChange(key, KEY_UPDATE)}
                mayRevoke={mayChange(key, KEY_REVOKE)}
                models={models}
                nowMs={nowMs}
              />
            ),
        },
      ]}
    />
  );
}

/** The name of a key; one without is told apart by its hint, which is beside it. */
function KeyName({ name }: Pick<Key, "name">) {
  return name === "" ? <span class="quiet">unnamed</span> : <Name text={name} />;
}

/** Whether a key is neither revoked nor expired. */
export function isActive({ revokedAtMs, expiresAtMs }: Key, nowMs: number): boolean {
  return revokedAtMs === null && (expiresAtMs === null || expiresAtMs > nowMs);
}

/** When a key that is not active ended. */
function endOf({ revokedAtMs, expiresAtMs }: Key): number {
  return Math.min(revokedAtMs ?? Infinity, expiresAtMs ?? Infinity);
}

/** Whether a key is active, expired or revoked. */
function KeyState({ value, nowMs }: { value: Key; nowMs: number }) {
  if (value.revokedAtMs !== null) return <Badge tone="bad">revoked</Badge>;
  const expired = value.expiresAtMs !== null && value.expiresAtMs <= nowMs;
  return expired ? <Badge tone="warn">expired</Badge> : <Badge tone="good">active</Badge>;
}
