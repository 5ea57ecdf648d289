/** What a source leaves out, or says in a way that cannot be read, never allows more than the source does. */

import fc from "fast-check";
import { Notices } from "../../../src/operating/importers/mod.ts";
import { readKeys } from "../../../src/operating/importers/litellm/keys.ts";
import { readUsers } from "../../../src/operating/importers/new_api/users.ts";
import { assert, assertEquals } from "../../assert.ts";
import { testSeed } from "../../fake/random.ts";
import { sized } from "../../tier.ts";

const NOW_MS = Date.UTC(2026, 10, 26);
const MODELS = ["gpt-a", "gpt-b", "o-c"];

/** What LiteLLM lets a key use: its own models that its team has as well. */
function allowed(
  record: { models: unknown; team_models?: unknown; team_id?: string },
): Set<string> {
  const of = (list: unknown) =>
    Array.isArray(list)
      ? MODELS.filter((model) =>
        list.length === 0 || list.includes("all-proxy-models") ||
        list.some((one) =>
          one === model ||
          (typeof one === "string" && one.endsWith("*") && model.startsWith(one.slice(0, -1)))
        )
      )
      : list === null || list === undefined
      ? MODELS
      : [];
  const team = new Set(of(record.team_models));
  const isTeams = Array.isArray(record.models) && record.models.includes("all-team-models");
  const isEmpty = (list: unknown) =>
    list === undefined || list === null || Array.isArray(list) && list.length === 0;
  const isAll = isTeams || isEmpty(record.models) ||
    Array.isArray(record.models) && record.models.includes("all-proxy-models");
  // nobody has said what its team may use
  if (isAll && record.team_id !== undefined && isEmpty(record.team_models)) return new Set();
  return isTeams ? team : team.intersection(new Set(of(record.models)));
}

const word = fc.constantFrom<unknown>(
  ...MODELS,
  "gpt-*",
  "gone",
  "",
  null,
  7,
  {},
  "all-proxy-models",
  "all-team-models",
);
const list = fc.oneof(
  { weight: 5, arbitrary: fc.array(word, { maxLength: 3 }) },
  fc.constantFrom<unknown>(null, undefined, "gpt-a", { "gpt-a": 1 }, 0, true, {}, ""),
);

Deno.test("a key of LiteLLM may use no model here that it may not use there, whatever its lists are", () => {
  fc.assert(
    fc.property(
      fc.record({ models: list, team_models: list }),
      fc.boolean(),
      (lists, isOfTeam) => {
        const record = {
          ...lists,
          ...(isOfTeam ? { team_id: "t1" } : {}),
          token: "a".repeat(64),
          key_alias: "k",
        };
        const { keys } = readKeys([[record]], {
          creditsPerUsd: 1_000,
          nowMs: NOW_MS,
          notices: new Notices(),
        });
        if (keys.length === 0) return;
        const [{ models }] = keys as [typeof keys[number]];
        const may = allowed(record);
        for (const model of MODELS) {
          const isAllowed = models === undefined ||
            models.some((one) =>
              one === model || (one.endsWith("*") && model.startsWith(one.slice(0, -1)))
            );
          assert(!isAllowed || may.has(model), `${model} of ${JSON.stringify(record)}`);
        }
      },
    ),
    { seed: testSeed(), numRuns: sized(300, 20_000) },
  );
});

Deno.test("a key of LiteLLM that may use its team's models may use no others, whatever else its list says", () => {
  const models = (more: Record<string, unknown>) =>
    readKeys([{
      token: "c".repeat(64),
      key_alias: "k",
      team_id: "t1",
      models: ["all-team-models", "all-proxy-models"],
      ...more,
    }], { creditsPerUsd: 1_000, nowMs: NOW_MS, notices: new Notices() }).keys
      .map(({ models }) => models);
  assertEquals(models({}), []);
  assertEquals(models({ team_models: ["gpt-a"] }), [["gpt-a"]]);
});

Deno.test("a key of a LiteLLM team may use what the list of teams says, and nothing if that says nothing", () => {
  // as /key/list has it, whatever the team's models are
  const key = { token: "d".repeat(64), key_alias: "k", team_id: "t1", team_models: [] };
  const team = (models: unknown, more: object = {}) => ({
    team_id: "t1",
    team_alias: "T",
    models,
    members_with_roles: [],
    ...more,
  });
  const read = (models: unknown, teams: unknown) =>
    readKeys([{ keys: [{ ...key, models }], total_pages: 1 }, teams], {
      creditsPerUsd: 1_000,
      nowMs: NOW_MS,
      notices: new Notices(),
    }).keys.map(({ models }) => models);
  for (const all of [[], ["all-team-models"], ["all-proxy-models"], null]) {
    assertEquals(read(all, []), []);
    assertEquals(read(all, [team(["gpt-a"], { team_id: "t2" })]), []);
    const said = [team(["gpt-a"])];
    for (const reply of [said, { teams: said }, { team_id: "t1", team_info: said[0] }]) {
      assertEquals(read(all, reply), [["gpt-a"]]);
    }
    assertEquals(read(all, [team([])]), [undefined]);
    assertEquals(read(all, [team("gpt-a")]), []);
    assertEquals(read(all, [team([], { blocked: true })]), []);
  }
  // another key says nothing of its team
  for (const other of [{ key_alias: "o" }, { user_id: "u" }, { key_name: "sk-…" }, { token: "" }]) {
    assertEquals(read([], { keys: [team([], { ...other, members_with_roles: undefined })] }), []);
  }
  assertEquals(read(["gpt-a"], []), [["gpt-a"]]);
  assertEquals(read(["gpt-a", "o-c"], [team(["gpt-*"])]), [["gpt-a"]]);
});

Deno.test("a limit of LiteLLM that cannot be read keeps its key out", () => {
  const read = (more: Record<string, unknown>) => {
    const record = { token: "b".repeat(64), key_alias: "k", ...more };
    const { keys } = readKeys([record], {
      creditsPerUsd: 1_000,
      nowMs: NOW_MS,
      notices: new Notices(),
    });
    return keys.map(({ expiresAtMs, budgetCredits }) => [expiresAtMs, budgetCredits]);
  };
  for (const expires of [1_764_115_200, "soon", {}, true]) assertEquals(read({ expires }), []);
  for (const max_budget of ["a lot", {}, -1, true, NaN]) assertEquals(read({ max_budget }), []);
  for (const blocked of ["true", 1]) assertEquals(read({ blocked }), []);
  assertEquals(read({ team_blocked: true }), []);
  for (
    const allowed_routes of [["management_routes"], ["info_routes", "/key/*"], "llm_api_routes", {
      a: 1,
    }]
  ) assertEquals(read({ allowed_routes }), []);
  for (const allowed_routes of [[], ["llm_api_routes"], ["/key/info", "/chat/completions"]]) {
    assertEquals(read({ allowed_routes }), [[undefined, undefined]]);
  }
  const table = { max_budget: 3, budget_duration: "7d" };
  assertEquals(read({ litellm_budget_table: table }), [[undefined, 3_000]]);
  assertEquals(read({ litellm_budget_table: table, max_budget: 2 }), [[undefined, 2_000]]);
  assertEquals(read({ litellm_budget_table: { max_budget: "a lot" } }), []);
  assertEquals(read({ budget_id: "b1" }), []);
  assertEquals(read({ budget_id: "b1", max_budget: 2 }), [[undefined, 2_000]]);
  assertEquals(read({}), [[undefined, undefined]]);
  assertEquals(read({ max_budget: 0 }), [[undefined, 0]]);
});

Deno.test("a token of New-API or One-API never expires, and may use all, only where its row says so", () => {
  const read = (token: Record<string, unknown>) => {
    const rows: Readonly<Record<string, readonly Record<string, unknown>[]>> = {
      users: [{ id: "1", username: "ada", status: 1, quota: 1 }],
      tokens: [{ id: "2", user_id: "1", status: 1, key: "c".repeat(48), ...token }],
    };
    const source = { rows: (table: string) => rows[table] ?? [] };
    const { keys } = readUsers(source as unknown as Parameters<typeof readUsers>[0], {
      group: "default",
      creditsPerUsd: 1_000,
      quotaPerUsd: 500_000,
      nowMs: NOW_MS,
      notices: new Notices(),
    });
    return keys.map(({ expiresAtMs, models }) => [expiresAtMs, models]);
  };
  assertEquals(read({ expired_time: -1 }), [[undefined, undefined]]);
  for (const expired_time of [0, null, undefined, "soon", -2]) {
    assertEquals(read({ expired_time }), []);
  }
  const never = { expired_time: -1 };
  assertEquals(read({ ...never, models: "" }), [[undefined, undefined]]);
  for (const models of [",", " , "]) assertEquals(read({ ...never, models }), [[undefined, []]]);
  const limits = { ...never, model_limits_enabled: 1 };
  for (const model_limits of [undefined, "", ","]) {
    assertEquals(read({ ...limits, model_limits }), [[undefined, []]]);
  }
});
