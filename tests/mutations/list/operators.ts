import type { Mutation } from "../mutation.ts";

const FORM = "src/doors/console/key_form.ts";
const LOST = "tests/doors/console/lost_choices_test.ts";
const CHANGED = [{
  file: "tests/doors/console/budgets_test.ts",
  filter: "name, models and expiry",
}];
const ABSENT = "tests/operating/importers/absence_test.ts";
const LITELLM = "src/operating/importers/litellm/keys.ts";
const NEW_API = "src/operating/importers/new_api/users.ts";

/** What operators met: absence that means more, and names that are not what they seem. */
export const OPERATORS: readonly Mutation[] = [
  {
    name: "no-tick-is-all-models",
    file: FORM,
    find: "  if (isAll) return null;",
    replace: "  if (isAll || chosen.length === 0) return null;",
    tests: CHANGED,
    why: "A form that lost its models while it was open would allow all of them.",
  },
  {
    name: "gone-models-left-out",
    file: "src/doors/console/request.tsx",
    find: "this.#fields.getAll(name).map((text) => offered(text, what, words))",
    replace: "this.#fields.getAll(name).filter((text) => words.includes(text))",
    tests: CHANGED,
    why: "A model that is gone would be dropped without a word.",
  },
  {
    name: "form-follows-aliases",
    file: FORM,
    find: "  const served = catalog.routes.map(({ id }) => id);",
    replace:
      "  const served = form.entries.map(([, id]) => id).filter((id) => catalog.find(id) !== undefined);",
    tests: [{ file: LOST, proofs: true }],
    why: "A model that went while a form was open would become another one by an alias.",
  },
  {
    name: "no-member-is-the-team",
    file: "src/doors/console/team_pages.tsx",
    find: 'if (id === "team") return null;',
    replace: 'if (id === "team" || id === "") return null;',
    tests: [{ file: LOST, proofs: true }],
    why: "A form without a member would make a key for the whole team.",
  },
  {
    name: "no-budget-field-is-no-budget",
    file: "src/doors/console/budget_form.ts",
    find: '  form.mustHave("budget");\n',
    replace: "",
    tests: [{ file: LOST, proofs: true }],
    why: "A form that lost its budget would make a key without one.",
  },
  {
    name: "all-is-also-a-route",
    file: "src/doors/cli/key.ts",
    find: '!Object.hasOwn(config.settings.routes, "all")',
    replace: "true",
    tests: [{ file: "tests/doors/cli/models_option_test.ts" }],
    why: "A key limited to the route 'all' would be allowed every model.",
  },
  {
    name: "litellm-team-models-left-out",
    file: LITELLM,
    find: "{ models: team === undefined ? own : own.filter((one) => isAmong(one, team)) }",
    replace: "{ models: own }",
    tests: [{ file: ABSENT }],
    why: "A key would be imported with models that its team does not have.",
  },
  {
    name: "litellm-unreadable-models-are-all",
    file: LITELLM,
    find: "if (!Array.isArray(value)) return null;",
    replace: "if (!Array.isArray(value)) return undefined;",
    tests: [{ file: ABSENT }],
    why: "A list of models that cannot be read would allow all.",
  },
  {
    name: "litellm-unreadable-budget-is-none",
    file: LITELLM,
    find: "maxUsd === undefined && !isNull(record.max_budget)",
    replace: "false",
    tests: [{ file: ABSENT }],
    why: "A budget that cannot be read would be none.",
  },
  {
    name: "new-api-zero-never-expires",
    file: NEW_API,
    find: "expiredTime === -1 ?",
    replace: "expiredTime <= 0 ?",
    tests: [{ file: ABSENT }],
    why: "A token that has expired would be imported for ever.",
  },
];
