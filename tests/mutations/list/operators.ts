import type { Mutation } from "../mutation.ts";

const FORM = "src/doors/console/key_form.ts";
const LOST = "tests/doors/console/lost_choices_test.ts";
const CHANGED = [{
  file: "tests/doors/console/budgets_test.ts",
  filter: "name, models and expiry",
}];
const ABSENT = "tests/operating/importers/absence_test.ts";
const LITELLM = "src/operating/importers/litellm/keys.ts";
const RENAMES = "tests/flow/renames_test.ts";
const NAMES = "tests/ground/platform/names_test.ts";
const SAME = "tests/people/accounts/same_names_test.ts";
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
    file: "src/doors/console/request.tsx",
    find: 'return this.sent(name) === "" ? undefined : this.amount',
    replace: 'return this.text(name) === "" ? undefined : this.amount',
    tests: [{ file: LOST, proofs: true }],
    why: "A form that lost its budget would make a key without one.",
  },
  {
    name: "all-is-also-a-route",
    file: "src/doors/cli/key.ts",
    find: '!Object.hasOwn(config.settings.routes, "all")',
    replace: "true",
    tests: [{ file: "tests/doors/cli/keys_test.ts" }],
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
    why: "A token that has expired would be imported without an end.",
  },
  {
    name: "pool-keeps-its-old-name",
    file: "src/people/accounts/accounts.ts",
    find: "where teams.pool_id = accounts.id",
    replace: "where false",
    tests: [{ file: RENAMES }],
    why: "The pool of a renamed team would have the name that another team has now.",
  },
  {
    name: "chart-adds-what-has-one-name",
    file: "src/doors/console/usage_chart.ts",
    find: "series.get(id) ??",
    replace: "[...series.values()].find((one) => one.name === name) ??",
    tests: [{ file: "tests/doors/console/chart_scale_test.ts", filter: "by their IDs" }],
    why: "A chart would add up two things that have the same name.",
  },
  {
    name: "keys-of-one-name-look-the-same",
    file: "src/doors/console/request_rows.tsx",
    find: "return toldApart(keys);",
    replace: "return new Map(keys.map((key) => [key.id, key.name || key.hint]));",
    tests: [{ file: "tests/doors/console/request_test.ts", filter: "two keys of one name" }],
    why: "A filter would offer the same name twice.",
  },
  {
    name: "csv-names-pools-by-address",
    file: "src/money/usage/record_csv.ts",
    find: "accountNames.set(id, labelOf(one))",
    replace: "accountNames.set(id, one.email)",
    tests: [{ file: RENAMES, proofs: true }],
    why: "CSV would name a pool by an ID that no report has.",
  },
  {
    name: "names-not-normalized",
    file: "src/ground/platform/names.ts",
    find: 'return text.normalize("NFC").replace(',
    replace: "return text.replace(",
    tests: [{ file: NAMES }],
    why: "One name that is typed on two keyboards would be two.",
  },
  {
    name: "names-that-show-nothing",
    file: "src/ground/platform/names.ts",
    find: 'name === "" || isVisible(name)',
    replace: "true",
    tests: [{ file: NAMES }],
    why: "A name could be a mark that is on nothing.",
  },
  {
    name: "invisible-letters-in-names",
    file: "src/ground/platform/display_text.ts",
    find: "|(?![\\u200c\\u200d",
    replace: "|(?!\\p{L}|[\\u200c\\u200d",
    tests: [{ file: NAMES }],
    why: "A name could have the Hangul filler in it, which nobody sees.",
  },
  {
    name: "hint-does-not-tell-apart",
    file: "src/ground/platform/names.ts",
    find: "said.get(id)! < 2",
    replace: "said.get(id)! < 1",
    tests: [{ file: NAMES }],
    why: "Two imported keys of one name and hint would look the same.",
  },
  {
    name: "teams-that-look-the-same",
    file: "src/people/accounts/teams.ts",
    find: "if (others.length === 0 ||",
    replace: "if (others.length >= 0 ||",
    tests: [{ file: SAME }],
    why: "Two teams could have names that nobody tells apart.",
  },
  {
    name: "form-names-as-they-are-typed",
    file: "src/people/accounts/key.ts",
    find: 'name: readName(options.name ?? ""),',
    replace: 'name: options.name ?? "",',
    tests: [{ file: SAME }],
    why: "A key could have blanks around its name.",
  },
  {
    name: "signing-in-leads-out",
    file: "src/doors/console/wanted_page.ts",
    find: "return seeOther(c, wanted === undefined ? HOME : pageAt(wanted));",
    replace: "return seeOther(c, wanted ?? HOME);",
    tests: [{ file: "tests/doors/console/wanted_page_test.ts", filter: "no cookie leads out" }],
    why: "A cookie of another host would lead somebody who signs in to a page of its choice.",
  },
  {
    name: "page-of-accounts-begins-again",
    file: "src/people/accounts/accounts.ts",
    find: '${after === undefined ? "" : `and ${IS_AFTER}`}',
    replace: '${after === undefined ? "" : "and ? is not null"}',
    tests: [{
      file: "tests/doors/console/operator_pages_test.ts",
      filter: "list of accounts has pages",
    }],
    why: "No page but the first would ever be seen.",
  },
  {
    name: "used-key-was-never-used",
    file: "src/operating/operations/key_operations.ts",
    find: "  return described!;\n}\n\nexport const KEY_GET",
    replace: "  return { ...described!, last_used_at: null };\n}\n\nexport const KEY_GET",
    tests: [{ file: "tests/doors/cli/keys_test.ts", filter: "says when it was used" }],
    why: "A key in use would look as if nobody missed it.",
  },
  {
    name: "package-that-shows-nothing",
    file: "src/settings/config/values.ts",
    find: '(name) => name === "" || isVisible(name)',
    replace: '(name) => name === "" || isVisible("a")',
    tests: [{ file: "tests/settings/config/load_test.ts", filter: "names of packages" }],
    why: "A package could be sold under a name that nobody sees.",
  },
];
