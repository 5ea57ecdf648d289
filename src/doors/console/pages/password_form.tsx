import { Field, Form } from "../components.tsx";

/** Changes the password of an account, or sets its first one. @param asks Whether the current one is asked for. */
export function PasswordForm(
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
