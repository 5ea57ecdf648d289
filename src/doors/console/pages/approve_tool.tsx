import type { Child } from "@hono/hono/jsx";
import { Facts, Form } from "../components.tsx";
import { Layout, type PageContext } from "../layout.tsx";

/** Which tool asks to be signed in: a page elsewhere, or a thief's mail with a code, may have led here. */
export function ApproveToolPage(
  { page, action, tool, email, facts, fields }: {
    page: PageContext;
    /** Where the answer is sent. */
    action: string;
    tool: string;
    email: string;
    /** What else is known of it. */
    facts: readonly (readonly [name: string, value: Child])[];
    /** What is sent with the answer; `code` is one that the tool shows. */
    fields: Readonly<Record<string, string>>;
  },
) {
  const { code } = fields;
  return (
    <Layout page={page} title="Sign in a tool">
      <p>
        {tool} asks to use models in your name. Approve it only if you have just started it yourself
        {code !== undefined && (
          <>
            , and it shows the code <strong>{code}</strong>
          </>
        )}.
      </p>
      <Facts
        class="card"
        rows={[
          ["Tool", tool],
          ...facts,
          ["For", "requests to models, paid by your account"],
          ["Account", email],
        ]}
      />
      <Form action={action} csrf={page.csrf} class="card narrow">
        {Object.entries(fields).map(([name, value]) => (
          <input type="hidden" name={name} value={value} />
        ))}
        <button type="submit" name="decision" value="approve">Approve</button>
        <button type="submit" name="decision" value="deny" class="danger">Deny</button>
      </Form>
    </Layout>
  );
}
