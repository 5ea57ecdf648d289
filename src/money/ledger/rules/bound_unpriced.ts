import { greatest, type Rule } from "../../../ground/database/mod.ts";

/**
 * A charged record without its prices, which only gateways older than schema 5 write, moves the bound up to
 * which records may lack them. The audit demands prices of all later ones.
 */
export const BOUND_UNPRICED: Rule = {
  name: "bound_unpriced",
  objects: [{
    trigger: "usage_records_insert_without_prices",
    event: "after insert",
    on: "usage_records",
    when: "new.usage_source is not null and new.input_price is null",
    statements: [
      `update price_storage set unpriced_through = ${
        greatest("unpriced_through", "new.request_id")
      }`,
    ],
  }],
};
