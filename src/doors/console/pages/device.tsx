import { Field } from "../components.tsx";
import { Layout, type PageContext } from "../layout.tsx";

/** Where somebody types the code that a tool shows. */
export function DevicePage({ page }: { page: PageContext }) {
  return (
    <Layout page={page} title="Sign in a tool">
      <form method="get" action="/console/device" class="card narrow">
        <Field
          label="Code"
          name="code"
          value=""
          required
          autocomplete="off"
          hint="The tool shows it: eight letters."
        />
        <button type="submit">Continue</button>
      </form>
    </Layout>
  );
}
