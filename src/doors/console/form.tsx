import type { Child } from "@hono/hono/jsx";
import { randomText } from "../../ground/platform/mod.ts";

/** A labelled field of a form. */
export function Field(
  { label, name, min, type = min === undefined ? "text" : "number", hint, ...rest }: {
    label: string;
    name: string;
    /** Default: `number` of one with a least value, else `text`. */
    type?: string;
    hint?: string | undefined;
    value?: string;
    required?: boolean;
    autocomplete?: string;
    placeholder?: string;
    minlength?: number;
    maxlength?: number;
    min?: number;
    list?: string;
    title?: string;
  },
) {
  return (
    <label class="field">
      <span>{label}</span>
      <input name={name} type={type} min={min} {...rest} />
      {hint === undefined ? null : <small>{hint}</small>}
    </label>
  );
}

/** A labelled choice of a form: values, with their words where those are others. */
export function Select(
  { label, name, options, value, hint, ...rest }: {
    label: string;
    name: string;
    options: readonly (string | readonly [value: string, words: Child])[];
    /** The chosen one, which stays so if it is no longer among the options: never another one instead. Default: the first. */
    value?: string | undefined;
    hint?: string;
    autocomplete?: string;
  },
) {
  const offered = options.map((one) => typeof one === "string" ? [one, one] as const : one);
  const isGone = value !== undefined && value !== "" && offered.every(([each]) => each !== value);
  const all = isGone ? [[value, `${value} (no longer offered)`] as const, ...offered] : offered;
  return (
    <label class="field">
      <span>{label}</span>
      <select name={name} {...rest}>
        {all.map(([each, words]) => <option value={each} selected={each === value}>{words}
        </option>)}
      </select>
      {hint === undefined ? null : <small>{hint}</small>}
    </label>
  );
}

/** Makes a form idempotent: posting it again changes nothing. */
export function FormId() {
  return <input type="hidden" name="form" value={randomText(16)} />;
}

/** A form for a write, with the session's token. */
export function Form(
  { action, csrf, children, class: className, confirm, id }: {
    action: string;
    csrf: string;
    children?: Child;
    class?: string;
    /** Question to confirm before the form is sent, if scripts run. */
    confirm?: string;
    /** ID, by which a button elsewhere on the page belongs to it. */
    id?: string;
  },
) {
  return (
    <form method="post" action={action} class={className} data-confirm={confirm} id={id}>
      <input type="hidden" name="csrf" value={csrf} />
      {children}
    </form>
  );
}
