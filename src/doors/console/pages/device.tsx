import type { WaitingTool } from "../../../people/accounts/mod.ts";
import { Facts, Field, Form } from "../components.tsx";
import { Layout, type PageContext } from "../layout.tsx";
import { RelativeTime } from "../time.tsx";

/** Where somebody types the code that a tool shows. */
export function DevicePage({ page, code = "" }: { page: PageContext; code?: string }) {
  return (
    <Layout page={page} title="Sign in a tool">
      <form method="get" action="/console/device" class="card narrow">
        <Field
          label="Code"
          name="code"
          value={code}
          required
          autocomplete="off"
          hint="The tool shows it: eight letters."
        />
        <button type="submit">Continue</button>
      </form>
    </Layout>
  );
}

/** Which tool asks to be signed in, and from where: a stranger who sends a code by mail hopes that nobody reads this. */
export function ApproveToolPage(
  { page, code, tool, email, nowMs }: {
    page: PageContext;
    code: string;
    tool: WaitingTool;
    email: string;
    nowMs: number;
  },
) {
  return (
    <Layout page={page} title="Sign in a tool">
      <p>
        {tool.client}{" "}
        asks to use models in your name. Approve it only if you have just started it yourself, and
        it shows the code <strong>{code}</strong>.
      </p>
      <Facts
        class="card"
        rows={[
          ["Tool", tool.client],
          ["Its address", tool.address],
          ["Since", <RelativeTime ms={tool.sinceMs} nowMs={nowMs} />],
          ["For", "requests to models, paid by your account"],
          ["Account", email],
        ]}
      />
      <Form action="/console/device" csrf={page.csrf} class="card narrow">
        <input type="hidden" name="code" value={code} />
        <button type="submit" name="decision" value="approve">Approve</button>
        <button type="submit" name="decision" value="deny" class="danger">Deny</button>
      </Form>
    </Layout>
  );
}
