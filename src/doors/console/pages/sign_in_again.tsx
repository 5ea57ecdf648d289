import { Form } from "../components.tsx";

/** Stands where a form would be that adds a way to sign in, if nobody has signed in a short while ago. @param what "Adding a passkey". */
export function SignInAgain({ what, csrf }: { what: string; csrf: string }) {
  return (
    <Form action="/console/account/sign-in-again" csrf={csrf} class="card narrow">
      <p>{what} takes a sign-in within the last ten minutes.</p>
      <button type="submit">Sign in again</button>
    </Form>
  );
}
