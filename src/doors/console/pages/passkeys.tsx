import type { Child } from "@hono/hono/jsx";
import type { Passkey } from "../../../people/sign_in/mod.ts";
import { Field, Form, RelativeTime, Table } from "../components.tsx";
import { SignInAgain } from "./sign_in_again.tsx";

/** Passkeys of the account: each can be renamed and removed; adding one takes a recent sign-in. */
export function Passkeys(
  { passkeys, mayAdd, csrf, nowMs }: {
    passkeys: readonly Passkey[];
    mayAdd: boolean;
    csrf: string;
    nowMs: number;
  },
) {
  return (
    <>
      <h2 id="passkeys">Passkeys</h2>
      <Table<Passkey>
        caption="Passkeys that sign in this account"
        rows={passkeys}
        empty="No passkey yet. With one, you sign in by fingerprint, face or PIN."
        columns={[
          { name: "name", cell: ({ name }) => name },
          { name: "added", cell: ({ createdAtMs: ms }) => <RelativeTime ms={ms} nowMs={nowMs} /> },
          {
            name: "last used",
            cell: ({ usedAtMs: ms }) =>
              ms === null ? "never" : <RelativeTime ms={ms} nowMs={nowMs} />,
          },
          {
            name: "",
            cell: ({ id, name }) => (
              <>
                <Form
                  action="/console/account/passkeys/remove"
                  csrf={csrf}
                  confirm={`Remove the passkey ${name}? The sessions that it began end.`}
                >
                  <input type="hidden" name="passkey" value={id} />
                  <button type="submit" class="danger" aria-label={`Remove ${name}`}>Remove</button>
                </Form>
                <details>
                  <summary>Rename</summary>
                  <Form action="/console/account/passkeys/rename" csrf={csrf}>
                    <input type="hidden" name="passkey" value={id} />
                    <Field label="Name" name="name" value={name} required maxlength={200} />
                    <button type="submit">Rename</button>
                  </Form>
                </details>
              </>
            ),
          },
        ]}
      />
      {mayAdd
        ? (
          <PasskeyForm action="/console/account/passkeys" csrf={csrf} does="create">
            <Field
              label="Name"
              name="name"
              required
              maxlength={200}
              autocomplete="off"
              hint="Where the passkey is: this laptop, a phone, a security key."
            />
            <button type="submit">Add a passkey</button>
          </PasskeyForm>
        )
        : <SignInAgain what="Adding a passkey" csrf={csrf} />}
    </>
  );
}

/** A form that sends what a passkey says: it needs the page's script, and is not there without one. */
export function PasskeyForm(
  { action, csrf, does, children }: {
    action: string;
    csrf: string;
    /** What the script asks the browser for: a new passkey, or one that there is. */
    does: "create" | "get";
    children?: Child;
  },
) {
  return (
    <>
      <noscript>
        <p class="quiet">Passkeys require JavaScript.</p>
      </noscript>
      <form method="post" action={action} class="card narrow" data-passkey={does}>
        <input type="hidden" name="csrf" value={csrf} />
        <input type="hidden" name="result" />
        {children}
        <p class="notice bad" role="alert" hidden></p>
      </form>
    </>
  );
}
