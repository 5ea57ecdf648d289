import { elementsOf, type GroupWrite, integerAt, textAt } from "../../src/ground/database/mod.ts";

/** Adds things to a table `things (id, n)`, each once. */
export const ADD: GroupWrite<{ id: string; n: number }, undefined> = {
  name: "add",
  key: "id",
  columns: ["id", "n"],
  repeatable: true,
  statements: [
    `insert into things (id, n) select ${textAt("value", 0)}, ${integerAt("value", 1)}
      from ${elementsOf("?1")} where true on conflict (id) do nothing`,
  ],
};

/** That table, which refuses 13. */
export const THINGS =
  "create table if not exists things (id text primary key, n integer check (n <> 13)) strict";
