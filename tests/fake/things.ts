import type { GroupWrite } from "../../src/ground/database/mod.ts";

/** Adds things to a table `things (id, n)`, each once. */
export const ADD: GroupWrite<{ id: string; n: number }, undefined> = {
  name: "add",
  key: "id",
  columns: ["id", "n"],
  repeatable: true,
  statements: [
    `insert into things (id, n) select value ->> 0, value ->> 1 from json_each(?1) where true
      on conflict (id) do nothing`,
  ],
};

/** That table, which refuses 13. */
export const THINGS =
  "create table if not exists things (id text primary key, n integer check (n <> 13)) strict";
