import { assertEquals } from "@std/assert";
import { groupsOf, rightsOf } from "../../../src/people/sign_in/groups.ts";
import { signInSettings } from "../../../src/settings/config/mod.ts";

Deno.test("groups are read as each provider sends them, and never taken for none when they were left out", () => {
  const rows: readonly (readonly [name: string, claims: Record<string, unknown>, unknown])[] = [
    ["groups", { groups: ["a", "b"] }, ["a", "b"]],
    ["groups", { groups: "a" }, ["a"]],
    ["groups", { groups: [] }, []],
    ["groups", { groups: ["a", 7, null] }, ["a"]],
    ["groups", {}, undefined],
    ["groups", { groups: null }, undefined],
    ["cognito:groups", { "cognito:groups": ["a"] }, ["a"]],
    ["realm_access.roles", { realm_access: { roles: ["a"] } }, ["a"]],
    ["realm_access.roles", { realm_access: "x" }, undefined],
    ["https://example.com/groups", { "https://example.com/groups": ["a"] }, ["a"]],
    // of more than 200 groups Entra sends where to ask
    ["groups", { _claim_names: { groups: "src1" }, _claim_sources: { src1: {} } }, "too many"],
    ["groups", { hasgroups: true }, "too many"],
    // also beside a list, which is none then
    ["groups", { groups: [], _claim_names: { groups: "src1" } }, "too many"],
    ["groups", { groups: ["a"], hasgroups: "true" }, "too many"],
    ["roles", { roles: ["a"], hasgroups: true }, ["a"]],
    ["roles", { roles: ["a"], _claim_names: { groups: "src1" } }, ["a"]],
    ["roles", { _claim_names: { groups: "src1" } }, undefined],
  ];
  for (const [name, claims, groups] of rows) assertEquals(groupsOf(claims, name), groups);
});

Deno.test("settings give no group the role of an owner", () => {
  const provider = { name: "company", issuer: "https://login.example.com", client: "sluice" };
  const parse = (role: string) =>
    signInSettings.safeParse({ oidc: [{ ...provider, groups: { all: { role } } }] });
  assertEquals(parse("operator").success, true);
  assertEquals(parse("owner").error?.issues.map(({ path, message }) => [path.join("."), message]), [
    ["oidc.0.groups.all.role", 'must be "operator" or "finance": owners are made by owners'],
  ]);
});

Deno.test("of several groups the role that may more counts, and the larger budget of each period", () => {
  const { groups } = signInSettings.parse({
    oidc: [{
      name: "company",
      issuer: "https://login.example.com",
      client: "sluice",
      groups: {
        finance: { role: "finance", budget: { credits: 500 } },
        platform: { role: "operator", teams: { Platform: "lead" }, budget: { credits: 200 } },
        all: {
          teams: { Platform: "member", All: "member" },
          budget: { credits: 9, period: "day" },
        },
      },
    }],
  }).oidc[0]!;
  assertEquals(rightsOf(["platform", "finance", "all", "unknown"], groups), {
    role: "operator",
    teams: new Map([["Platform", "lead"], ["All", "member"]]),
    budgets: new Map([["month", 500], ["day", 9]]),
  });
  assertEquals(rightsOf(["unknown"], groups), {
    role: undefined,
    teams: new Map(),
    budgets: new Map(),
  });
});
