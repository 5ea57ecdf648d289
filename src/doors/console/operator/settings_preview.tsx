import type { Child } from "@hono/hono/jsx";
import type { EntryPath, EntryPreview, Json } from "../../../operating/operations/mod.ts";
import { Copyable, Form, Name } from "../components.tsx";
import { Layout } from "../layout.tsx";
import { type ConsoleParts, page, pageOf, type PageRequest } from "../request.tsx";
import { type DiffLine, settingsDiff } from "./settings_diff.ts";

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

/** Shows what a change of an entry would do: the lines of the file with a form that writes them, or what to do by hand. */
export async function previewPage(
  c: PageRequest,
  { config }: Pick<ConsoleParts, "config">,
  { entry, settings, preview, title, forms, back, changes = [] }: Previewed,
): Promise<Response> {
  const context = pageOf(c);
  if (preview.kind === "read-only") {
    const [section, name] = entry;
    return await page(
      c,
      <Layout page={context} title={title}>
        <p>
          The settings cannot be written here: {preview.why}. Put this into{" "}
          <code>{preview.path}</code>
          , into its section <code>{section}</code> if it has one, and run{" "}
          <code>sluice reload</code>.
        </p>
        <Copyable
          text={JSON.stringify({ [section]: { [name]: settings } }, null, 2)}
          label="the settings"
        />
        <p>
          <a href={back.href}>{back.text}</a>
        </p>
      </Layout>,
    );
  }
  const { before, after, digest } = preview;
  const lines = before === after ? [] : settingsDiff(before, after, entry);
  const kept = c.var.form.entries.filter(([name]) => name !== "csrf" && name !== "digest")
    .map(([name, value]) => <input type="hidden" name={name} value={value} />);
  return await page(
    c,
    <Layout page={context} title={`${title}?`}>
      {lines.length === 0 ? <p class="empty">The form has no changes.</p> : (
        <>
          <p>
            Requests in progress keep the settings that they began with. The file:{" "}
            <Name text={preview.path} code />
          </p>
          {changes.length === 0 ? null : <ul>{changes.map((one) => <li>{one}</li>)}</ul>}
          {digest === config.digest ? null : (
            <p class="notice bad">
              The file has changes already that the gateway does not use yet: they take effect, too.
            </p>
          )}
          <Diff lines={lines} />
        </>
      )}
      <div class="buttons">
        {lines.length === 0 ? null : (
          <Form action={forms.save} csrf={context.csrf}>
            {kept}
            <input type="hidden" name="digest" value={digest} />
            <button type="submit">Write the file and reload</button>
          </Form>
        )}
        <Form action={forms.edit} csrf={context.csrf}>
          {kept}
          <button type="submit" class="plain">Back to the form</button>
        </Form>
      </div>
    </Layout>,
  );
}
