/** Entries that are no charges: statements list them one by one, and an account may have a million charges beside them. */
export const STATEMENTS = [
  `create index entries_but_charges on entries (account_id, at_ms, kind, credits)
    where kind <> 'charge'`,
];
