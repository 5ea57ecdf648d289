import type { ListedSession } from "../../../people/accounts/mod.ts";
import type { Link } from "../../../people/sign_in/mod.ts";
import { Form, RelativeTime, Table } from "../components.tsx";
import { SignInAgain } from "./sign_in_again.tsx";

/** Sessions of the account, each with a form that ends it. */
export function Sessions(
  { sessions, csrf, nowMs }: {
    sessions: readonly ListedSession[];
    csrf: string;
    nowMs: number;
  },
) {
  return (
    <Table<ListedSession>
      caption="Sessions"
      rows={sessions}
      empty=""
      columns={[
        {
          name: "from",
          cell: ({ address, agent, isOwn }) => (
            <span title={agent ?? undefined}>
              {address ?? "–"} {isOwn ? "(this one)" : null}
            </span>
          ),
        },
        { name: "browser", cell: ({ agent }) => browserOf(agent) },
        {
          name: "signed in by",
          cell: ({ provider, isByPasskey }) =>
            provider ?? (isByPasskey ? "passkey" : "password or link"),
        },
        { name: "since", cell: ({ createdAtMs: ms }) => <RelativeTime ms={ms} nowMs={nowMs} /> },
        { name: "ends", cell: ({ expiresAtMs: ms }) => <RelativeTime ms={ms} nowMs={nowMs} /> },
        {
          name: "",
          cell: ({ id, address }) => (
            <Form action={`/console/account/sessions/${id}/end`} csrf={csrf}>
              <button type="submit" class="danger" aria-label={`End the session from ${address}`}>
                End
              </button>
            </Form>
          ),
        },
      ]}
    />
  );
}

/** Identities at providers that sign in the account. */
export function Identities(
  { links, providers, mayAdd, csrf, nowMs }: {
    links: readonly Link[];
    /** Names of providers that an identity can be linked at. */
    providers: readonly string[];
    mayAdd: boolean;
    csrf: string;
    nowMs: number;
  },
) {
  if (links.length === 0 && providers.length === 0) return null;
  return (
    <>
      <h2>Sign-in by a provider</h2>
      <Table<Link>
        caption="Identities that sign in this account"
        rows={links}
        empty="No identity is linked."
        columns={[
          { name: "provider", cell: ({ provider }) => provider },
          { name: "identity", cell: ({ subject }) => subject },
          { name: "since", cell: ({ linkedAtMs: ms }) => <RelativeTime ms={ms} nowMs={nowMs} /> },
          {
            name: "",
            cell: ({ provider, issuer, subject }) => (
              <Form
                action="/console/account/unlink"
                csrf={csrf}
                confirm={`Unlink the identity at ${provider}? The sessions and tools end that were signed in by it.`}
              >
                <input type="hidden" name="issuer" value={issuer} />
                <input type="hidden" name="subject" value={subject} />
                <button
                  type="submit"
                  class="danger"
                  aria-label={`Unlink ${subject} at ${provider}`}
                >
                  Unlink
                </button>
              </Form>
            ),
          },
        ]}
      />
      {!mayAdd && providers.length > 0 && <SignInAgain what="Linking an identity" csrf={csrf} />}
      {mayAdd &&
        providers.map((name) => (
          <Form key={name} action={`/console/account/link/${name}`} csrf={csrf}>
            <button type="submit">Link an identity at {name}</button>
          </Form>
        ))}
    </>
  );
}

/** Names by which browsers are told apart, those that call themselves others' names as well first. */
const BROWSERS = [["Edg/", "Edge"], ["Firefox/", "Firefox"], ["Chrome/", "Chrome"], [
  "Safari/",
  "Safari",
]];

function browserOf(agent: string | null): string {
  return BROWSERS.find(([part]) => agent?.includes(part!))?.[1] ?? "–";
}
