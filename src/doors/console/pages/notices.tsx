import type { Delivery, Notice } from "../../../operating/alerts/mod.ts";
import { AlertText } from "../alert_text.tsx";
import { Badge, Form, Table, Time } from "../components.tsx";
import { Layout, type PageContext } from "../layout.tsx";

const TONES = { waiting: "warn", delivered: "good", given_up: "bad" } as const;

/** Alerts, newest first, for an account or for operators. */
export function NoticesPage(
  { page, title, action, notices, nowMs, isRead, shows }: {
    page: PageContext;
    title: string;
    /** Where the form that marks them as read is sent. */
    action: string;
    notices: readonly Notice[];
    nowMs: number;
    isRead: (notice: Notice) => boolean;
    /** Whether deliveries are shown. */
    shows: "deliveries" | "nothing else";
  },
) {
  const newest = notices[0]?.createdAtMs ?? nowMs;
  const email = shows === "deliveries" ? "" : page.session?.account.email ?? "";
  return (
    <Layout page={page} title={title}>
      {notices.every(isRead) ? null : (
        <Form action={action} csrf={page.csrf}>
          <input type="hidden" name="up_to" value={String(newest)} />
          <button type="submit">Mark all as read</button>
        </Form>
      )}
      <Table<Notice>
        caption={`${title}, newest first`}
        rows={notices}
        empty={shows === "deliveries" ? "No alerts." : "No notices."}
        columns={[
          { name: "time", bare: true, cell: ({ createdAtMs }) => <Time ms={createdAtMs} /> },
          {
            name: "notice",
            role: "primary",
            cell: (one) => (
              <>
                <strong>{withoutOwner(one.title, email)}</strong>{" "}
                {isRead(one) ? null : <Badge tone="warn">new</Badge>}
                <span class="below regular">
                  <AlertText alert={{ ...one, text: withoutOwner(one.text, email) }} />
                </span>
              </>
            ),
          },
          ...(shows === "deliveries" && notices.some(({ deliveries }) => deliveries.length > 0)
            ? [{
              name: "deliveries",
              cell: ({ deliveries }: Notice) =>
                deliveries.length === 0 ? "–" : <Deliveries all={deliveries} />,
            }]
            : []),
        ]}
      />
    </Layout>
  );
}

/** Leaves out whose something is where the reader is the owner. */
function withoutOwner(text: string, email: string): string {
  if (email === "") return text;
  const exact = email.replaceAll(/[^\w@]/g, "\\$&");
  // not the beginning of a longer address
  return text.replaceAll(new RegExp(` of ${exact}(?=[\\s,:;]|\\.\\s|\\.?$)|: ${exact}$`, "g"), "");
}

function Deliveries({ all }: { all: readonly Delivery[] }) {
  return (
    <>
      {all.map(({ receiver, state, attempts, error }) => (
        <div>
          {receiver} <Badge tone={TONES[state]}>{state.replace("_", " ")}</Badge>
          {error === null ? null : ` attempt ${attempts}: ${error}`}
        </div>
      ))}
    </>
  );
}
