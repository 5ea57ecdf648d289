import type { ListedSession, Session } from "../../../people/accounts/mod.ts";
import type { Link, Passkey } from "../../../people/sign_in/mod.ts";
import { Facts, Form } from "../components.tsx";
import { Layout, type PageContext } from "../layout.tsx";
import { OwnKeys, type OwnKeysView } from "./own_keys.tsx";
import { Passkeys } from "./passkeys.tsx";
import { PasswordForm } from "./password_form.tsx";
import { Identities, Sessions } from "./sessions.tsx";

/** The user's account: password, own keys of upstreams and sessions. */
export function AccountPage(
  { page, session, hasPassword, ownKeys, signIn, nowMs }: {
    page: PageContext;
    session: Session;
    /** Undefined if it may have none. */
    hasPassword: boolean | undefined;
    ownKeys: OwnKeysView;
    /** Sessions and identities of the account, and providers at which another can be linked. */
    signIn:
      | {
        readonly sessions: readonly ListedSession[];
        readonly links: readonly Link[];
        readonly providers: readonly string[];
        /** `undefined` where people do not sign in with passkeys. */
        readonly passkeys: readonly Passkey[] | undefined;
      }
      | undefined;
    nowMs: number;
  },
) {
  const { account, byLink, isRecent } = session;
  return (
    <Layout page={page} title="Account" script={signIn?.passkeys && "passkeys.js"}>
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
            mayAdd={isRecent}
            csrf={page.csrf}
          />
        )}
      {signIn?.passkeys && (
        <Passkeys
          passkeys={signIn.passkeys}
          mayAdd={isRecent}
          csrf={page.csrf}
          nowMs={nowMs}
        />
      )}
      <OwnKeys {...ownKeys} csrf={page.csrf} base="/console/account" nowMs={nowMs} />
      {signIn && <Identities {...signIn} mayAdd={isRecent} csrf={page.csrf} nowMs={nowMs} />}
      <h2>Sessions</h2>
      {signIn && <Sessions sessions={signIn.sessions} csrf={page.csrf} nowMs={nowMs} />}
      <Form action="/console/account/sign-out-everywhere" csrf={page.csrf} class="card narrow">
        <p>Signs out every session of this account, including this one.</p>
        <button type="submit" class="danger">Sign out everywhere</button>
      </Form>
    </Layout>
  );
}
