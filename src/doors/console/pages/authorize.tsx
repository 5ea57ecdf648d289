import { Facts, Form } from "../components.tsx";
import { Layout, type PageContext } from "../layout.tsx";

/** Which tool asks to be signed in by this browser, and where its answer goes: a page elsewhere may have led here. */
export function AuthorizePage(
  { page, tool, host, email, fields }: {
    page: PageContext;
    tool: string;
    /** Where the answer goes; `undefined` for this machine. */
    host: string | undefined;
    email: string;
    /** What the tool sent. */
    fields: Readonly<Record<string, string>>;
  },
) {
  return (
    <Layout page={page} title="Sign in a tool">
      <p>
        {tool}{" "}
        asks to use models in your name. Approve it only if you have just started it yourself.
      </p>
      <Facts
        class="card"
        rows={[
          ["Tool", tool],
          ["Answer goes to", host ?? "a program on the machine of this browser"],
          ["For", "requests to models, paid by your account"],
          ["Account", email],
        ]}
      />
      <Form action="/console/authorize" csrf={page.csrf} class="card narrow">
        {Object.entries(fields).map(([name, value]) => (
          <input type="hidden" name={name} value={value} />
        ))}
        <button type="submit" name="decision" value="approve">Approve</button>
        <button type="submit" name="decision" value="deny" class="danger">Deny</button>
      </Form>
    </Layout>
  );
}
