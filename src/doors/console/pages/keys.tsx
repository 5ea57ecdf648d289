import type { Child } from "@hono/hono/jsx";
import { toldApart } from "../../../ground/platform/mod.ts";
import { type Key, newKeyId } from "../../../people/accounts/mod.ts";
import {
  BUDGET_SET,
  KEY_REVOKE,
  KEY_UPDATE,
  type WriteOperation,
} from "../../../operating/operations/mod.ts";
import type { Budget } from "../../../money/ledger/mod.ts";
import { BudgetFields, Budgets, TimeZones } from "../budgets.tsx";
import {
  Badge,
  Copyable,
  Field,
  Form,
  Name,
  Names,
  RelativeTime,
  Table,
  Time,
} from "../components.tsx";
import { count, number, relative } from "../format.ts";
import { Layout, noticeOf, type PageContext } from "../layout.tsx";
import { snippets } from "../snippets.ts";
import { ModelChoice } from "./model_choice.tsx";

/** The time of an expiry this near is of interest, too. */
const SOON_MS = 2 * 86_400_000;

/** With this many keys, the form for another one is far below. */
const MANY_KEYS = 5;

/** An account's keys, and a form to create one. */
export function KeysPage(
  {
    page,
    csrf,
    keys,
    budgets,
    lastUse,
    spent,
    teams,
    mayChange,
    models,
    made,
    address,
    error,
    done,
    nowMs,
  }: {
    page: PageContext;
    csrf: string;
    keys: readonly Key[];
    budgets: ReadonlyMap<string, readonly Budget[]>;
    lastUse: ReadonlyMap<string, number>;
    /** Credits by key ID. */
    spent: ReadonlyMap<string, number>;
    /** Names of teams by ID; `undefined` if no key is a team's. */
    teams: ReadonlyMap<string, string> | undefined;
    mayChange: MayChange;
    models: readonly string[];
    /** Secret of the key that was just created. */
    made?: string | undefined;
    address: string;
    error?: string | undefined;
    done?: string | undefined;
    nowMs: number;
  },
) {
  return (
    <Layout page={page} title="Keys" notice={noticeOf({ error, done })}>
      {made === undefined ? null : <NewKey secret={made} address={address} models={models} />}
      {keys.length < MANY_KEYS ? null : (
        <p>
          <a class="button" href="#create">Create a key</a>
        </p>
      )}
      <KeyTable
        keys={keys}
        budgets={budgets}
        lastUse={lastUse}
        spent={spent}
        teams={teams}
        csrf={csrf}
        nowMs={nowMs}
        action="/console/keys"
        mayChange={mayChange}
        models={models}
      />
      <TimeZones />
      <h2 id="create">Create a key</h2>
      <NewKeyForm
        path="/console/keys"
        csrf={csrf}
        models={models}
        hint="Helps you tell keys apart."
      />
    </Layout>
  );
}

/** A form that creates a key. */
export function NewKeyForm({ path, csrf, models, title, hint, children }: {
  path: string;
  csrf: string;
  /** Models that the key could use. */
  models: readonly string[];
  /** Heading in the form. */
  title?: string;
  /** What the name is for. */
  hint?: string;
  /** A field that says whom it is for. */
  children?: Child;
}) {
  return (
    <Form action={path} csrf={csrf} class="card wide">
      {title === undefined ? null : <h2>{title}</h2>}
      <input type="hidden" name="id" value={newKeyId()} />
      <Field
        label="Name"
        name="name"
        maxlength={200}
        placeholder="laptop"
        {...(hint === undefined ? {} : { hint })}
      />
      {children}
      <label class="field">
        <span>Expires</span>
        <select name="expires">
          <option value="never">never</option>
          {[7, 30, 90, 365].map((days) => <option value={String(days)}>in {days} days</option>)}
        </select>
      </label>
      <ModelChoice models={models} chosen={null} />
      <BudgetFields />
      <button type="submit">Create key</button>
    </Form>
  );
}

/** Shows a new key once, with snippets. */
export function NewKey(
  { secret, address, models }: { secret: string; address: string; models: readonly string[] },
) {
  return (
    <section class="card" id="new-key">
      <h2>Your new key</h2>
      <p>Copy it now. You won't be able to see it again.</p>
      <Copyable text={secret} label="the key" />
      <h2>Use it</h2>
      {snippets(address, secret, models).map(({ name, text }, at) => (
        <details open={at === 0}>
          <summary>{name}</summary>
          <Copyable text={text} label={name} />
        </details>
      ))}
    </section>
  );
}

/** Whether the visitor may do a write of a key here. */
export type MayChange = (key: Key, operation: WriteOperation) => boolean;

/** What a table of keys shows besides the keys. */
interface KeyTableProps {
  readonly keys: readonly Key[];
  /** Budgets of the keys, by key ID. */
  readonly budgets: ReadonlyMap<string, readonly Budget[]>;
  readonly lastUse: ReadonlyMap<string, number>;
  /** Credits by key ID. */
  readonly spent: ReadonlyMap<string, number>;
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
  readonly nowMs: number;
  /** Path below which forms post. */
  readonly action: string;
  readonly mayChange: MayChange;
  /** Routes that are served. */
  readonly models: readonly string[];
}

/** Keys with their state; revoked and expired ones are folded away. */
export function KeyTable({ keys, caption = "Keys", ...props }: KeyTableProps) {
  const active = keys.filter((key) => isActive(key, props.nowMs));
  const past = keys.filter((key) => !isActive(key, props.nowMs));
  return (
    <>
      <KeyRows {...props} keys={active} caption={caption} />
      {past.length === 0 ? null : (
        <details>
          <summary>{count(past.length, "key")} revoked or expired</summary>
          <KeyRows {...props} keys={past} caption="Revoked and expired keys" arePast />
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
        {
          name: spentIn,
          role: "figure",
          numeric: true,
          cell: ({ id }) => number(spent.get(id) ?? 0),
        },
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
        {
          name: "budget",
          bare: true,
          cell: (key) => {
            const found = budgets.get(key.id) ?? [];
            const path = mayChange(key, BUDGET_SET) ? `${action}/${key.id}` : undefined;
            if (isWithoutBudgets(key, found.length, path)) return "–";
            const label = labels.get(key.id)!;
            return <KeyBudgets value={key} label={label} budgets={found} csrf={csrf} path={path} />;
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

/** Whether a key's budgets are not shown, since there are none and none can be set. */
function isWithoutBudgets(
  { revokedAtMs }: Key,
  count: number,
  path: string | undefined,
): boolean {
  return count === 0 && (revokedAtMs !== null || path === undefined);
}

/** A key's budgets, with forms for visitors who may change them. */
function KeyBudgets(
  { value, label, budgets, csrf, path }: {
    value: Key;
    /** What tells it apart from the others of its table. */
    label: string;
    budgets: readonly Budget[];
    csrf: string;
    /** Path below which the forms post; `undefined` if the visitor may not change the budgets. */
    path: string | undefined;
  },
) {
  const isOver = value.revokedAtMs !== null;
  if (isWithoutBudgets(value, budgets.length, path)) return "–";
  return (
    <Budgets
      budgets={budgets}
      of={`the key ${label}`}
      csrf={csrf}
      path={isOver ? undefined : path}
    />
  );
}

/** Forms to change, rotate and revoke a key, which post below a path. */
function KeyForms(
  { value, label, csrf, path, mayChange, mayRevoke, models, nowMs }: {
    value: Key;
    /** What tells it apart from the others of its table. */
    label: string;
    csrf: string;
    path: string;
    mayChange: boolean;
    mayRevoke: boolean;
    /** Models that the key could use. */
    models: readonly string[];
    nowMs: number;
  },
) {
  const { name, expiresAtMs } = value;
  return (
    <>
      {!mayRevoke ? null : (
        <Form
          action={`${path}/revoke`}
          csrf={csrf}
          confirm={`Revoke ${label}? Programs that use it stop working within a second.`}
        >
          <button type="submit" class="danger" aria-label={`Revoke ${label}`}>Revoke</button>
        </Form>
      )}
      {!mayChange ? null : (
        <details>
          <summary>Change</summary>
          <Form action={`${path}/update`} csrf={csrf}>
            <Field label="Name" name="name" maxlength={200} value={name} />
            <label class="field">
              <span>Expires</span>
              <select name="expires">
                <option value="keep" selected>{expiryText(expiresAtMs, nowMs)} (no change)</option>
                {expiresAtMs === null ? null : <option value="never">never</option>}
                {[7, 30, 90, 365].map((days) => <option value={String(days)}>in {days} days
                </option>)}
              </select>
            </label>
            <ModelChoice models={models} chosen={value.models} />
            <button type="submit" class="plain" aria-label={`Save key ${label}`}>Save key</button>
          </Form>
          <Form action={`${path}/rotate`} csrf={csrf}>
            <label class="field">
              <span>The present secret stays valid</span>
              <select name="hours">
                <option value="0">not at all</option>
                <option value="1">for an hour</option>
                <option value="24" selected>for a day</option>
                <option value="168">for a week</option>
              </select>
            </label>
            {(value.previousUntilMs ?? 0) <= nowMs ? null : (
              <label>
                <input type="checkbox" name="end_earlier" /> The secret before it, valid{" "}
                {relative(value.previousUntilMs!, nowMs)}, ends now
              </label>
            )}
            <button type="submit" class="plain" aria-label={`Rotate ${label}`}>Rotate</button>
          </Form>
        </details>
      )}
    </>
  );
}

function expiryText(expiresAtMs: number | null, nowMs: number): string {
  if (expiresAtMs === null) return "never";
  return expiresAtMs > nowMs ? relative(expiresAtMs, nowMs) : "expired";
}

/** Whether a key is neither revoked nor expired. */
export function isActive({ revokedAtMs, expiresAtMs }: Key, nowMs: number): boolean {
  return revokedAtMs === null && (expiresAtMs === null || expiresAtMs > nowMs);
}

/** Whether a key is active, expired or revoked. */
function KeyState({ value, nowMs }: { value: Key; nowMs: number }) {
  if (value.revokedAtMs !== null) return <Badge tone="bad">revoked</Badge>;
  const expired = value.expiresAtMs !== null && value.expiresAtMs <= nowMs;
  return expired ? <Badge tone="warn">expired</Badge> : <Badge tone="good">active</Badge>;
}
