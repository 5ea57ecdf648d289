import { iif, jsonType } from "../../sql/mod.ts";
import type { Migration } from "./migration.ts";

const MODELS = `models text check (${jsonType("models")} = 'array' and models <> '[]')`;

/** Credits of packages that pay for some models only. */
export const BOUND_CREDITS: Migration = {
  version: 34,
  name: "bound_credits",
  statements: [
    // IDs of routes, and prefixes that end in *; null for all models
    ...["lots", "grants", "orders", "redemption_codes"].map((table) =>
      `alter table ${table} add column ${MODELS}`
    ),
    // what holds reserve of a bound lot; of the others it is not known which lot they hold
    `alter table lots add column reserved integer not null default 0
      check (reserved between 0 and ${iif("models is null", "0", "remaining")})`,
    // an account's bound lots: hardly any has some
    `create index lots_bound on lots (account_id) where models is not null and remaining > 0`,
    // the route of the request
    "alter table holds add column route text",
    // What a hold reserves of bound lots, of the credits that it holds.
    `create table bound_holds (
      request_id text not null,
      lot_id text not null references lots (id),
      credits integer not null check (credits > 0),
      primary key (request_id, lot_id)
    ) strict, without rowid`,
    // credits of the balance that do not pay for the request's model
    "alter table decisions add column bound integer not null default 0",
  ],
};
