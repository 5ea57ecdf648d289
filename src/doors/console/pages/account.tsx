import type { ListedSession, Session } from "../../../people/accounts/mod.ts";
import type { Link, Passkey } from "../../../people/sign_in/mod.ts";
import { Facts, Field, Form } from "../components.tsx";
import { Layout, type PageContext } from "../layout.tsx";
import { OwnKeys, type OwnKeysView } from "./own_keys.tsx";
import { Passkeys } from "./passkeys.tsx";
import { Identities, Sessions } from "./sessions.tsx";

/** The user's account: password, own keys of upstreams and sessions. */
export function AccountPage(
  { page, session, hasPassword, ownKeys, sessions, signIn, nowMs }: {
    page: PageContext;
    session: Session;
    hasPassword: boolean;
    ownKeys: OwnKeysView;
    sessions: readonly ListedSession[];
    signIn: {
      /** Identities of the account, and providers at which another can be linked. */
      readonly links: readonly Link[];
      readonly providers: readonly string[];
      /** `undefined` where people do not sign in with passkeys. */
      readonly passkeys: readonly Passkey[] | undefined;
    };
    nowMs: number;
  },
) {
  const { account, byLink, isRecent } = session;
  const { passkeys, ...ofProviders } = signIn;
  return (
    <Layout
      page={page}
      title="Account"
      {...(passkeys === undefined ? {} : { script: "passkeys.js" })}
    >
      <Facts
        class="card"
        rows={[
          ["Email", account.email],
          ["Name", account.name || "–"],
          ["Role", account.role === "none" ? "user" : account.role],
        ]}
      />
      <h2>{hasPassword ? "Change password" : "Set a password"}</h2>
      <Form action="/console/account/password" csrf={page.csrf} class="card narrow">
        <input type="hidden" name="username" autocomplete="username" value={account.email} />
        {hasPassword && !byLink
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
      {passkeys === undefined ? null : (
        <Passkeys
          passkeys={passkeys}
          mayAdd={isRecent || byLink}
          csrf={page.csrf}
          nowMs={nowMs}
        />
      )}
      <OwnKeys {...ownKeys} csrf={page.csrf} base="/console/account" nowMs={nowMs} />
      <Identities {...ofProviders} csrf={page.csrf} nowMs={nowMs} />
      <h2>Sessions</h2>
      <Sessions sessions={sessions} csrf={page.csrf} nowMs={nowMs} />
      <Form action="/console/account/sign-out-everywhere" csrf={page.csrf} class="card narrow">
        <p>Signs out every session of this account, including this one.</p>
        <button type="submit" class="danger">Sign out everywhere</button>
      </Form>
    </Layout>
  );
}
