import type { Lot } from "../../../money/ledger/mod.ts";
import { Field, Form, FormId, RelativeTime, Table } from "../components.tsx";
import { number } from "../format.ts";
import { lotName, SOURCES } from "../pages/home_credits.tsx";

/** Lots with something left; each can be taken back. */
export function LotTable(
  { lots, csrf, nowMs, action }: {
    lots: readonly Lot[];
    csrf: string;
    nowMs: number;
    /** `undefined` if the visitor may not take credits back. */
    action: string | undefined;
  },
) {
  return (
    <Table<Lot>
      caption="Lots, in the order they are spent"
      rows={lots}
      empty="No credits left."
      columns={[
        { name: "source", cell: lotName },
        { name: "granted", numeric: true, cell: ({ granted }) => number(granted) },
        { name: "remaining", role: "figure", cell: ({ remaining }) => number(remaining) },
        {
          name: "expires",
          cell: ({ expiresAtMs }) =>
            expiresAtMs === null ? "never" : <RelativeTime ms={expiresAtMs} nowMs={nowMs} />,
        },
        {
          name: "",
          cell: (lot) =>
            action === undefined ? "" : (
              <details>
                <summary>Take back</summary>
                <Form
                  action={action}
                  csrf={csrf}
                  confirm={`Take back credits of ${lot.note || SOURCES[lot.source]} (${lot.id})?`}
                >
                  <FormId />
                  <p class="quiet">
                    Lot <code>{lot.id}</code>
                  </p>
                  <input type="hidden" name="lot" value={lot.id} />
                  <Field
                    label="Credits"
                    name="credits"
                    min={1}
                    hint="Leave empty to take back all credits that are not held."
                  />
                  <Field label="Note" name="note" maxlength={500} required />
                  <button type="submit" class="danger">Take back</button>
                </Form>
              </details>
            ),
        },
      ]}
    />
  );
}
