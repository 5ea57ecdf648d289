import { hashOfRules } from "../src/database/mod.ts";
import { RULES } from "../src/ledger/mod.ts";
console.log(hashOfRules(RULES));
