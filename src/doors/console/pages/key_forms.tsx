import type { Child } from "@hono/hono/jsx";
import { type Key, newKeyId } from "../../../people/accounts/mod.ts";
import { BudgetFields } from "../budgets.tsx";
import { Copyable, Field, Form, Select } from "../components.tsx";
import { relative } from "../format.ts";
import { snippets } from "../snippets.ts";
import { ModelChoice } from "./model_choice.tsx";

/** Choices of a key's lifetime, in days. */
const EXPIRIES = [7, 30, 90, 365].map((days) => [String(days), `in ${days} days`] as const);
/** Choices of how long the secret before stays valid, in hours. */
const OVERLAPS = [
  ["0", "not at all"],
  ["1", "for an hour"],
  ["24", "for a day"],
  ["168", "for a week"],
] as const;

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
      <Field label="Name" name="name" maxlength={200} placeholder="laptop" hint={hint} />
      {children}
      <Select label="Expires" name="expires" options={["never", ...EXPIRIES]} />
      <ModelChoice models={models} chosen={null} />
      <AtOnce value={null} />
      <BudgetFields />
      <button type="submit">Create key</button>
    </Form>
  );
}

/** A key that was just made or rotated. */
export interface MadeKey {
  readonly secret: string;
  /** Models for replies that it may use, which its snippets can name. */
  readonly models: readonly string[];
}

/** Shows a new key once, with snippets. */
export function NewKey({ secret, address, models }: MadeKey & { address: string }) {
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

/** Forms to change, rotate and revoke a key, which post below a path. */
export function KeyForms(
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
            <Select
              label="Expires"
              name="expires"
              options={[
                ["keep", `${expiryText(expiresAtMs, nowMs)} (no change)`],
                ...(expiresAtMs === null ? [] : ["never"]),
                ...EXPIRIES,
              ]}
              value="keep"
            />
            <ModelChoice models={models} chosen={value.models} />
            <AtOnce value={value.atOnce} />
            <button type="submit" class="plain" aria-label={`Save key ${label}`}>Save key</button>
          </Form>
          <Form action={`${path}/rotate`} csrf={csrf}>
            <Select
              label="The present secret stays valid"
              name="hours"
              options={OVERLAPS}
              value="24"
            />
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

/** How many requests of a key may be in flight at a time. */
function AtOnce({ value }: { value: number | null }) {
  return (
    <Field
      label="Requests at once"
      name="at_once"
      min={1}
      value={String(value ?? "")}
      hint="Requests in flight, on all gateways together. Empty: any number."
    />
  );
}

function expiryText(expiresAtMs: number | null, nowMs: number): string {
  if (expiresAtMs === null) return "never";
  return expiresAtMs > nowMs ? relative(expiresAtMs, nowMs) : "expired";
}
