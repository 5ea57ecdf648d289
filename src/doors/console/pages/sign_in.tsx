import type { Settings } from "../../../settings/config/mod.ts";
import { Field } from "../components.tsx";
import { Layout, type PageContext } from "../layout.tsx";
import { PasskeyForm } from "./passkeys.tsx";
import { NewPassword } from "./password_form.tsx";

/** Sign-in form. Errors never say whether the email address or the password was wrong. */
export function SignInPage(
  { page, registration, email = "", providers = [], onlyOwners = false, passkeys = false }: {
    page: PageContext;
    registration: Settings["registration"];
    email?: string;
    /** Names of the company's providers. */
    providers?: readonly string[];
    /** Whether a password signs in nobody else. */
    onlyOwners?: boolean;
    /** Whether people sign in with passkeys. */
    passkeys?: boolean;
  },
) {
  return (
    <Layout page={page} title="Sign in" script={passkeys ? "passkeys.js" : undefined}>
      {providers.map((name) => (
        <p key={name}>
          <a class="button" href={`/console/sign-in/oidc/${name}`}>Sign in with {name}</a>
        </p>
      ))}
      {passkeys && (
        <PasskeyForm action="/console/sign-in/passkey" csrf="" does="get">
          <button type="submit">Sign in with a passkey</button>
        </PasskeyForm>
      )}
      <form method="post" action="/console/sign-in" class="card narrow">
        {onlyOwners ? <p>Only owners sign in with a password here.</p> : null}
        <Field
          label="Email"
          name="email"
          type="email"
          value={email}
          required
          autocomplete={passkeys ? "username webauthn" : "username"}
        />
        <Field
          label="Password"
          name="password"
          type="password"
          required
          autocomplete="current-password"
        />
        <button type="submit">Sign in</button>
      </form>
      {registration === "closed" ? null : (
        <p>
          No account yet? <a href="/console/register">Register</a>
          {registration === "invite" ? " with an invite code" : ""}.
        </p>
      )}
      <p class="quiet">
        {onlyOwners ? "No other way in?" : "No password, or forgot it?"}{" "}
        Ask your operator for a sign-in link (<code>
          sluice account link
        </code>).
      </p>
    </Layout>
  );
}

/** Registration form, with an invite code if required. */
export function RegisterPage(
  { page, registration, email = "", name = "", code = "" }: {
    page: PageContext;
    registration: Settings["registration"];
    email?: string;
    name?: string;
    code?: string;
  },
) {
  return (
    <Layout page={page} title="Register">
      <form method="post" action="/console/register" class="card narrow">
        <Field
          label="Email"
          name="email"
          type="email"
          value={email}
          required
          autocomplete="username"
        />
        <Field label="Name" name="name" value={name} maxlength={200} autocomplete="name" />
        <NewPassword label="Password" />
        <Field
          label={registration === "invite" ? "Invite code" : "Invite code, if you have one"}
          name="code"
          value={code}
          required={registration === "invite"}
          autocomplete="off"
        />
        <button type="submit">Register</button>
      </form>
      <p>
        Have an account? <a href="/console/sign-in">Sign in</a>.
      </p>
    </Layout>
  );
}
