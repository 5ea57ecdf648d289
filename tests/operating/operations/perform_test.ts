/** What became of a write: what the log has of it, what its caller gets, and what a repetition gets. */

import * as z from "zod";
import { defineWrite, type WriteDefinition } from "../../../src/operating/operations/operation.ts";
import type { OperationParts } from "../../../src/operating/operations/parts.ts";
import { performOnce } from "../../../src/operating/operations/perform.ts";
import { UndoneError } from "../../../src/operating/operations/undone_error.ts";
import { AccountError, Accounts } from "../../../src/people/accounts/mod.ts";
import {
  conflict,
  invalid,
  missing,
  OperationError,
  Requests,
  sessionActor,
} from "../../../src/people/operation_log/mod.ts";
import { settings } from "../../../src/settings/config/mod.ts";
import { assertEquals } from "../../assert.ts";
import { ledgerBench } from "../../fake/ledger.ts";

type Definition = WriteDefinition<Record<string, unknown>, null>;

/** A row of the log: its outcome, the name before and after, and why it failed; marked if a repetition would not find it. */
type Row = readonly [
  outcome: string,
  before: string,
  after: string | null,
  error: string | null,
  other?: "other",
];

const RENAME: Definition["run"] = async ({ database }) => {
  await database.batch([{ sql: "update accounts set name = 'new' where role = 'owner'" }]);
};
const NOTHING = () => Promise.resolve();
const fails = (error: unknown) => () => Promise.reject(error);

/** A write, what its caller gets and a repetition as well, and what the log has after both. */
const CASES: Readonly<
  Record<
    string,
    {
      readonly definition: Partial<Definition>;
      readonly gets: string;
      readonly log: readonly Row[];
    }
  >
> = {
  "rejected before": {
    definition: { find: fails(missing("Thing", "x")) },
    gets: 'throws not_found: Thing "x" not found.',
    log: [],
  },
  "done": {
    definition: { run: RENAME },
    gets: '201 {"name":"new"}',
    log: [["done", "old", "new", null]],
  },
  "done, and nothing is changed": {
    definition: { run: NOTHING },
    gets: '201 {"name":"old"}',
    log: [["done", "old", "old", null]],
  },
  "failed by a rule of the operation": {
    definition: { run: fails(invalid("name", "No: such name.")) },
    gets: "400 invalid_request name: No: such name.",
    log: [["failed", "old", null, "invalid_request: No: such name."]],
  },
  "failed by a rule of a noun": {
    definition: { run: fails(new AccountError("It is in use", { fault: "conflict" })) },
    gets: "409 conflict null: It is in use.",
    log: [["failed", "old", null, "conflict: It is in use."]],
  },
  "done without a reply": {
    definition: { run: RENAME, reply: fails(conflict("The outcome is lost.")) },
    gets: "409 conflict null: The outcome is lost.",
    log: [["done", "old", "new, refused: The outcome is lost.", null]],
  },
  "without a reply, and nothing is changed": {
    definition: { run: NOTHING, reply: fails(conflict("It was not there.")) },
    gets: "409 conflict null: It was not there.",
    log: [["failed", "old", null, "conflict: It was not there."]],
  },
  "undone": {
    definition: {
      async run({ database }, _c, { logIf }) {
        await database.batch([logIf({ sql: "true", args: [] })]);
        throw new UndoneError("It was taken back.");
      },
    },
    gets: "409 conflict null: It was taken back.",
    log: [["done", "old", "old", null], [
      "failed",
      "old",
      null,
      "conflict: It was taken back.",
      "other",
    ]],
  },
  "a fault of the gateway's": {
    definition: { run: fails(new TypeError("secret")) },
    gets: "throws TypeError",
    log: [
      ["failed", "old", null, "internal_error: TypeError", "other"],
      ["failed", "old", null, "internal_error: TypeError", "other"],
    ],
  },
  "a fault that is no error": {
    definition: { run: fails("secret") },
    gets: "throws string",
    log: [
      ["failed", "old", null, "internal_error: unknown", "other"],
      ["failed", "old", null, "internal_error: unknown", "other"],
    ],
  },
};

// Proves P2, P13.
Deno.test("the log, the caller and a repetition get what became of a write (table)", async (t) => {
  for (const [words, { definition, gets, log }] of Object.entries(CASES)) {
    await t.step(words, async () => {
      await using bench = await ledgerBench("file");
      const { database } = bench;
      const now = Date.now;
      const account = await new Accounts(database, now).create({
        email: "owner@example.com",
        name: "old",
        role: "owner",
      });
      const parts = {
        database,
        config: { settings: settings.parse({}) },
        now,
        payments: { on: () => undefined },
        gateway: { requests: new Requests(database, { secret: new Uint8Array(32), now }) },
      } as unknown as OperationParts;
      const operation = defineWrite({ input: z.looseObject({}), output: z.looseObject({}) }, {
        name: "thing.rename",
        path: "/things",
        summary: "Rename a thing",
        action: "account.manage",
        status: 201,
        find: () => Promise.resolve({ target: null }),
        state: async () => {
          const row = await database.one("select name from accounts where id = ?", [account.id]);
          return { name: String(row!.name) };
        },
        run: NOTHING,
        ...definition,
      });
      const by = {
        actor: sessionActor({ account, teams: new Map() }),
        origin: { door: "api", address: null },
      } as const;
      const send = () =>
        performOnce(parts, by, operation, { input: {}, key: "k" }).then(
          ({ status, body }) => {
            const { error } = JSON.parse(body);
            return error === undefined
              ? `${status} ${body}`
              : `${status} ${error.code} ${error.param}: ${error.message}`;
          },
          (error) =>
            error instanceof OperationError
              ? `throws ${error.code}: ${error.message}`
              : `throws ${error instanceof Error ? error.name : typeof error}`,
        );
      assertEquals([await send(), await send()], [gets, gets]);
      const rows = await database.all("select * from operation_log order by outcome, rowid");
      assertEquals(
        rows.map(({ id, outcome, before, after, error }) => {
          const { name, refused } = JSON.parse(String(after)) ?? {};
          return [
            outcome,
            JSON.parse(String(before)).name,
            refused === undefined ? name ?? null : `${name}, refused: ${refused}`,
            error,
            // a repetition finds the row whose ID follows from the key
            ...(/^op_[0-9a-f]{40}$/.test(String(id)) ? [] : ["other"]),
          ];
        }),
        log.map((row) => [...row]),
      );
    });
  }
});
