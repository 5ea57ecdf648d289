import type { SignedInTool } from "../../../people/accounts/mod.ts";
import { Form, Name, RelativeTime, Table } from "../components.tsx";

/** Tools that are signed in, each with a form that signs it out; nothing if there are none. */
export function ToolTable(
  { tools, csrf, nowMs }: {
    tools: readonly SignedInTool[];
    csrf: string;
    nowMs: number;
  },
) {
  if (tools.length === 0) return null;
  return (
    <>
      <h2 id="tools">Tools</h2>
      <Table<SignedInTool>
        caption="Tools that are signed in"
        rows={tools}
        empty=""
        columns={[
          { name: "tool", cell: ({ client }) => <Name text={client} /> },
          { name: "from", cell: ({ address }) => address ?? "–" },
          { name: "since", cell: ({ createdAtMs: ms }) => <RelativeTime ms={ms} nowMs={nowMs} /> },
          {
            name: "refreshed",
            cell: ({ refreshedAtMs: ms }) => <RelativeTime ms={ms} nowMs={nowMs} />,
          },
          {
            name: "",
            cell: ({ keyId, client, address }) => (
              <Form action={`/console/tools/${keyId}/end`} csrf={csrf}>
                <button
                  type="submit"
                  class="danger"
                  aria-label={`Sign out ${client} from ${address ?? "an unknown address"}`}
                >
                  Sign out
                </button>
              </Form>
            ),
          },
        ]}
      />
      <Form action="/console/tools/end" csrf={csrf} confirm="Sign out all tools?">
        <button type="submit" class="danger">Sign out all tools</button>
      </Form>
    </>
  );
}
