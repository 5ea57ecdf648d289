import type { ListedSession, Session } from "../../../people/accounts/mod.ts";
import type { Link } from "../../../people/sign_in/mod.ts";
import { Facts, Field, Form } from "../components.tsx";
import { Layout, type PageContext } from "../layout.tsx";
import { OwnKeys, type OwnKeysView } from "./own_keys.tsx";
import { Identities, Sessions } from "./sessions.tsx";

/** The user's account: password, own keys of upstreams and sessions. */
export function AccountPage(
  { page, session, hasPassword, ownKeys, sessions, signIn, nowMs }: {
    page: PageContext;
    session: Session;
    /** Undefined if it may have none. */
    hasPassword: boolean | undefined;
    ownKeys: OwnKeysView;
    sessions: readonly ListedSession[];
    /** Identities of the account, and providers at which another can be linked. */
    signIn: { readonly links: readonly Link[]; readonly providers: readonly string[] };
    nowMs: number;
  },
) {
  const { account, byLink } = session;
  return (
    <Layout page={page} title="Account">
      <Facts
        class="card"
        rows={[
          ["Email", account.email],
          ["Name", account.name || "–"],
          ["Role", account.role === "none" ? "user" : account.role],
        ]}
      />
      {hasPassword === undefined
        ? <p class="quiet">Only owners sign in with a password here.</p>
        : (
          <PasswordForm
            email={account.email}
            isSet={hasPassword}
            asks={hasPassword && !byLink}
            csrf={page.csrf}
          />
        )}
      <OwnKeys {...ownKeys} csrf={page.csrf} base="/console/account" nowMs={nowMs} />
      <Identities {...signIn} csrf={page.csrf} nowMs={nowMs} />
      <h2>Sessions</h2>
      <Sessions sessions={sessions} csrf={page.csrf} nowMs={nowMs} />
      <Form action="/console/account/sign-out-everywhere" csrf={page.csrf} class="card narrow">
        <p>Signs out every session of this account, including this one.</p>
        <button type="submit" class="danger">Sign out everywhere</button>
      </Form>
    </Layout>
  );
}

/** @param asks Whether the current password is asked for. */
function PasswordForm(
  { email, isSet, asks, csrf }: {
    email: string;
    isSet: boolean;
    asks: boolean;
    csrf: string;
  },
) {
  return (
    <>
      <h2>{isSet ? "Change password" : "Set a password"}</h2>
      <Form action="/console/account/password" csrf={csrf} class="card narrow">
        <input type="hidden" name="username" autocomplete="username" value={email} />
        {asks
          ? (
            <Field
              label="Current password"
              name="current"
              type="password"
              required
              autocomplete="current-password"
            />
          )
          : null}
        <Field
          label="New password"
          name="password"
          type="password"
          required
          minlength={10}
          maxlength={200}
          autocomplete="new-password"
          hint="At least 10 characters. Saving signs out all other sessions."
        />
        <button type="submit">Save</button>
      </Form>
    </>
  );
}
