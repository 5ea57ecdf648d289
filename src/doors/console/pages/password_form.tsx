import { Field, Form } from "../components.tsx";
import { SignInAgain } from "./sign_in_again.tsx";

/**
 * Changes the password of an account, or sets its first one.
 *
 * @param asks Whether the current one is asked for.
 * @param mayAdd Whether a first one may be set.
 */
export function PasswordForm(
  { email, isSet, asks, mayAdd, csrf }: {
    email: string;
    isSet: boolean;
    asks: boolean;
    mayAdd: boolean;
    csrf: string;
  },
) {
  if (!isSet && !mayAdd) {
    return (
      <>
        <h2>Set a password</h2>
        <SignInAgain what="Setting a first password" csrf={csrf} />
      </>
    );
  }
  return (
    <>
      <h2>{isSet ? "Change password" : "Set a password"}</h2>
      <Form action="/console/account/password" csrf={csrf} class="card narrow">
        <input type="hidden" name="username" autocomplete="username" value={email} />
        {asks && (
          <Field
            label="Current password"
            name="current"
            type="password"
            required
            autocomplete="current-password"
          />
        )}
        <NewPassword label="New password" more=" Saving signs out all other sessions." />
        <button type="submit">Save</button>
      </Form>
    </>
  );
}

/** A password that is to be one from then on. @param props What its hint says besides. */
export function NewPassword({ label, more = "" }: { label: string; more?: string }) {
  return (
    <Field
      label={label}
      name="password"
      type="password"
      required
      minlength={10}
      maxlength={200}
      autocomplete="new-password"
      hint={`At least 10 characters.${more}`}
    />
  );
}
