import { setBudget as set } from "../../src/money/ledger/mod.ts";
import { DEADLINE_MS } from "./temp.ts";

/** Sets a budget, however long gateways take on a busy machine to return what they were lent: from then on it is not exceeded. */
export const setBudget: typeof set = (database, terms, options) =>
  set(database, terms, { patienceMs: DEADLINE_MS, ...options });
