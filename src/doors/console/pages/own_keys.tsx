import { OWN_KEY_USES, type OwnKeyUse, type OwnUpstreamKey } from "../../../people/accounts/mod.ts";
import { Field, Form, RelativeTime, Select, Table } from "../components.tsx";

const USES: Readonly<Record<OwnKeyUse, string>> = {
  only: "only, never the gateway's",
  first: "first, then the gateway's",
  last: "after the gateway's",
};

/** What is shown of an owner's keys of upstreams. */
export interface OwnKeysView {
  readonly keys: readonly OwnUpstreamKey[];
  /** Names of upstreams that requests to carry a key. */
  readonly upstreams: readonly string[];
  /** When a team's are used; `undefined` for those of an account. */
  readonly use?: OwnKeyUse | undefined;
}

/** Keys of upstreams that belong to an account or team, with forms to set and remove them. */
export function OwnKeys(
  { keys, upstreams, use, csrf, base, nowMs }: OwnKeysView & {
    readonly csrf: string;
    readonly base: string;
    readonly nowMs: number;
  },
) {
  if (keys.length === 0 && upstreams.length === 0) return null;
  const path = `${base}/upstream-keys`;
  return (
    <>
      <h2>Own keys of upstreams</h2>
      {keys.length === 0 ? null : (
        <Table<OwnUpstreamKey>
          caption="Own keys of upstreams, by their last characters"
          rows={keys}
          empty=""
          columns={[
            { name: "upstream", cell: ({ upstream }) => upstream },
            { name: "key", cell: ({ hint }) => hint === "" ? "–" : `…${hint}` },
            { name: "set", cell: ({ setAtMs }) => <RelativeTime ms={setAtMs} nowMs={nowMs} /> },
            {
              name: "",
              cell: ({ upstream }) => (
                <Form
                  action={`${path}/${upstream}/remove`}
                  csrf={csrf}
                  confirm={`Remove the key of ${upstream}?`}
                >
                  <button type="submit" class="danger" aria-label={`Remove the key of ${upstream}`}>
                    Remove
                  </button>
                </Form>
              ),
            },
          ]}
        />
      )}
      {upstreams.length === 0 ? null : (
        <Form action={path} csrf={csrf} class="card line">
          <h3>Set a key</h3>
          <Select label="Upstream" name="upstream" options={upstreams} />
          <Field
            label="Key"
            name="key"
            type="password"
            required
            maxlength={4_096}
            autocomplete="off"
            hint="Stored encrypted. The upstream is asked first whether it accepts it."
          />
          <button type="submit">Set key</button>
        </Form>
      )}
      {use === undefined ? null : (
        <Form action={`${base}/own-keys`} csrf={csrf} class="card line">
          <h3>When the team's own keys are used</h3>
          <Select
            label="Use them"
            name="use"
            options={OWN_KEY_USES.map((one) => [one, USES[one]])}
            value={use}
          />
          <button type="submit">Save</button>
        </Form>
      )}
    </>
  );
}
