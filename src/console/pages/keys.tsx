import { type Key, newKeyId } from "../../accounts/mod.ts";
import { type Budget, budgetText } from "../../ledger/mod.ts";
import { Badge, Copyable, Field, Form, Table, Time } from "../components.tsx";
import { relative } from "../format.ts";
import { Layout, noticeOf, type PageContext } from "../layout.tsx";
import { snippets } from "../snippets.ts";

/** An account's keys, and a form to create one. */
export function KeysPage(
  { page, csrf, keys, budgets, lastUse, models, made, address, error, done, nowMs }: {
    page: PageContext;
    csrf: string;
    keys: readonly Key[];
    budgets: ReadonlyMap<string, readonly Budget[]>;
    lastUse: ReadonlyMap<string, number>;
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
      <KeyTable
        keys={keys}
        budgets={budgets}
        lastUse={lastUse}
        csrf={csrf}
        nowMs={nowMs}
        action="/console/keys"
      />
      <h2>Create a key</h2>
      <Form action="/console/keys" csrf={csrf} class="card narrow">
        <input type="hidden" name="id" value={newKeyId()} />
        <Field
          label="Name"
          name="name"
          maxlength={200}
          placeholder="laptop"
          hint="Helps you tell keys apart."
        />
        <label class="field">
          <span>Expires</span>
          <select name="expires">
            <option value="">never</option>
            {[7, 30, 90, 365].map((days) => <option value={String(days)}>in {days} days</option>)}
          </select>
        </label>
        <fieldset class="field">
          <legend>Models (all if none is selected)</legend>
          {models.map((id) => (
            <label>
              <input type="checkbox" name="models" value={id} />
              {id}
              <br />
            </label>
          ))}
        </fieldset>
        <Field
          label="Budget"
          name="budget"
          type="number"
          min={0}
          hint="Credits this key may spend."
        />
        <label class="field">
          <span>Budget renews</span>
          <select name="period">
            <option value="life">never</option>
            <option value="day">daily (UTC)</option>
            <option value="week">weekly (UTC)</option>
            <option value="month">monthly (UTC)</option>
          </select>
        </label>
        <button type="submit">Create key</button>
      </Form>
    </Layout>
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

/** Keys with their state. Forms to revoke them post below the path `action`. */
export function KeyTable(
  { keys, budgets, lastUse, csrf, nowMs, action }: {
    keys: readonly Key[];
    /** Budgets of the keys, by key ID. */
    budgets: ReadonlyMap<string, readonly Budget[]>;
    lastUse: ReadonlyMap<string, number>;
    csrf: string;
    nowMs: number;
    action: string;
  },
) {
  return (
    <Table<Key>
      caption="Keys"
      rows={keys}
      empty="No keys yet."
      columns={[
        { name: "name", cell: ({ name, id }) => name || id },
        { name: "key", cell: ({ hint }) => <code>{hint}</code> },
        { name: "state", cell: (key) => <KeyState value={key} nowMs={nowMs} /> },
        {
          name: "last used",
          cell: ({ id }) => lastUse.has(id) ? relative(lastUse.get(id)!, nowMs) : "never",
        },
        {
          name: "expires",
          cell: ({ expiresAtMs }) =>
            expiresAtMs === null ? "never" : <Time ms={expiresAtMs} dayOnly />,
        },
        { name: "models", cell: ({ models }) => models === null ? "all" : models.join(", ") },
        {
          name: "budget",
          cell: ({ id }) => budgets.get(id)?.map(budgetText).join("; ") ?? "–",
        },
        {
          name: "",
          cell: ({ id, name, hint, revokedAtMs }) =>
            revokedAtMs !== null ? "" : (
              <Form
                action={`${action}/${id}/revoke`}
                csrf={csrf}
                confirm={`Revoke ${
                  name || hint
                }? Programs that use it stop working within a second.`}
              >
                <button type="submit" class="danger" aria-label={`Revoke ${name || hint}`}>
                  Revoke
                </button>
              </Form>
            ),
        },
      ]}
    />
  );
}

function KeyState({ value, nowMs }: { value: Key; nowMs: number }) {
  if (value.revokedAtMs !== null) return <Badge tone="bad">revoked</Badge>;
  const expired = value.expiresAtMs !== null && value.expiresAtMs <= nowMs;
  return expired ? <Badge tone="warn">expired</Badge> : <Badge tone="good">active</Badge>;
}
