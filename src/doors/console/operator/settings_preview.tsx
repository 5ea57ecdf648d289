import type { Child } from "@hono/hono/jsx";
import type { EntryPath, EntryPreview, Json } from "../../../operating/operations/mod.ts";
import { Copyable, Form, Name } from "../components.tsx";
import { Layout, type PageContext } from "../layout.tsx";
import { type ConsoleParts, page as respond, pageOf, type PageRequest } from "../request.tsx";
import { type DiffLine, settingsDiff } from "./settings_diff.ts";

/** What would be written, and the form that does it. */
function SettingsPreviewPage(
  { page, title, forms, path, lines, fields, digest, warning, changes = [] }: {
    page: PageContext;
    title: string;
    /** Where the form is sent to be carried out, and to be changed again. */
    forms: { readonly save: string; readonly edit: string };
    /** Path of the settings file. */
    path: string;
    lines: readonly DiffLine[];
    /** The form as it was submitted. */
    fields: readonly (readonly [string, string])[];
    digest: string;
    /** What else would happen. */
    warning: string | undefined;
    /** What the changes mean. */
    changes?: readonly string[] | undefined;
  },
) {
  const kept = fields.map(([name, value]) => <input type="hidden" name={name} value={value} />);
  return (
    <Layout page={page} title={title}>
      {lines.length === 0 ? <p class="empty">The form has no changes.</p> : (
        <>
          <p>
            Requests in progress keep the settings that they began with. The file:{" "}
            <Name text={path} code />
          </p>
          {changes.length === 0 ? null : <ul>{changes.map((one) => <li>{one}</li>)}</ul>}
          {warning === undefined ? null : <p class="notice bad">{warning}</p>}
          <Diff lines={lines} />
        </>
      )}
      <div class="buttons">
        {lines.length === 0 ? null : (
          <Form action={forms.save} csrf={page.csrf}>
            {kept}
            <input type="hidden" name="digest" value={digest} />
            <button type="submit">Write the file and reload</button>
          </Form>
        )}
        <Form action={forms.edit} csrf={page.csrf}>
          {kept}
          <button type="submit" class="plain">Back to the form</button>
        </Form>
      </div>
    </Layout>
  );
}

const SIGNS = { same: " ", removed: "−", added: "+", gap: " " } as const;
const WORDS = { same: "", removed: "removed: ", added: "added: ", gap: "" } as const;

/** Lines with signs, which do not need colours. */
function Diff({ lines }: { lines: readonly DiffLine[] }) {
  return (
    <pre class="diff" tabindex={0} role="group" aria-label="Changes of the settings file">
      {lines.map(({ kind, text }): Child => (
        <span class={kind}>
          <span aria-hidden="true">{SIGNS[kind]} </span>
          <span class="unseen">{WORDS[kind]}</span>
          {`${text}\n`}
        </span>
      ))}
    </pre>
  );
}

interface Previewed {
  readonly entry: EntryPath;
  readonly settings: Json;
  readonly preview: Exclude<EntryPreview, { kind: "invalid" }>;
  readonly title: string;
  readonly forms: { readonly save: string; readonly edit: string };
  /** Where to go from there. */
  readonly back: { readonly href: string; readonly text: string };
  readonly changes?: readonly string[];
}

/** What to put into the settings file where the gateway cannot write it. */
function SettingsByHandPage(
  { page, title, why, path, entry: [section, name], settings, back }:
    & Pick<Previewed, "title" | "entry" | "settings" | "back">
    & { page: PageContext; why: string; /** Of the settings file. */ path: string },
) {
  return (
    <Layout page={page} title={title}>
      <p>
        The settings cannot be written here: {why}. Put this into <code>{path}</code>
        , into its section <code>{section}</code> if it has one, and run <code>sluice reload</code>.
      </p>
      <Copyable
        text={JSON.stringify({ [section]: { [name]: settings } }, null, 2)}
        label="the settings"
      />
      <p>
        <a href={back.href}>{back.text}</a>
      </p>
    </Layout>
  );
}

/** Shows what a change of an entry would do: the lines of the file with a form that writes them, or what to do by hand. */
export async function previewPage(
  c: PageRequest,
  { config }: Pick<ConsoleParts, "config">,
  { entry, settings, preview, title, forms, back, changes }: Previewed,
): Promise<Response> {
  const shown = { page: pageOf(c), path: preview.path };
  if (preview.kind === "read-only") {
    const { why } = preview;
    return await respond(
      c,
      <SettingsByHandPage {...shown} {...{ title, why, entry, settings, back }} />,
    );
  }
  const { before, after, digest } = preview;
  return await respond(
    c,
    <SettingsPreviewPage
      {...shown}
      {...{ forms, digest, changes }}
      title={`${title}?`}
      lines={before === after ? [] : settingsDiff(before, after, entry)}
      fields={c.var.form.entries.filter(([name]) => name !== "csrf" && name !== "digest")}
      warning={digest === config.digest
        ? undefined
        : "The file has changes already that the gateway does not use yet: they take effect, too."}
    />,
  );
}
