import type { Mutation } from "../mutation.ts";

const ACCESS = "src/people/accounts/access.ts";
const PROVISIONING = "src/operating/provisioning/user_provisioning.ts";
const DIRECTORY = "src/people/scim/directory_changes.ts";
const TEST = "tests/operating/provisioning/provisioning_test.ts";
const DOOR = "tests/doors/http/scim_test.ts";
const HISTORY = [{ file: TEST, filter: "any history" }];
const CUT = [{ file: TEST, filter: "who is deactivated or deleted" }];

/** What a company's directory may do, and what it may not. */
export const SCIM: readonly Mutation[] = [
  {
    name: "keys-of-the-deactivated",
    file: ACCESS,
    find: "where (account_id ${whose} or member_id ${whose}) and revoked_at_ms is null",
    replace: "where (account_id ${whose} and member_id ${whose}) and revoked_at_ms is null",
    tests: CUT,
    why: "Keys of somebody who has left would work again with the account.",
  },
  {
    name: "sessions-of-the-deactivated",
    file: ACCESS,
    find: "{ sql: `delete from sessions where account_id ${whose}`, args: [accountId] },",
    replace: "",
    tests: CUT,
    why: "A session would outlive the time in which its account was deactivated.",
  },
  {
    name: "waiting-tools-of-the-deactivated",
    file: ACCESS,
    find: "{ sql: `delete from device_codes where account_id ${whose}`, args: [accountId] },",
    replace: "",
    tests: CUT,
    why: "A tool that was approved before would be signed in once the account is active again.",
  },
  {
    name: "owner-deactivated-by-a-directory",
    file: PROVISIONING,
    find: "if (isActive && !document.active) mustNotBeOwner(account);",
    replace: "",
    tests: [{ file: TEST, filter: "an owner is neither" }],
    why: "Who runs the directory would not be told that an owner is not the directory's.",
  },
  {
    name: "owner-since-a-moment-deactivated",
    file: ACCESS,
    find: `sql: "exists (select 1 from accounts where id = ? and role <> 'owner')",`,
    replace: `sql: "exists (select 1 from accounts where id = ?)",`,
    tests: [{ file: TEST, filter: "an owner is neither" }],
    why: "Who became an owner while a directory writes would be taken for deactivated.",
  },
  {
    name: "account-taken-over-by-any-address",
    file: PROVISIONING,
    find: "if (claiming.length > 0 && !isHeld) return { account, before, isAnother: false };",
    replace: "if (!isHeld) return { account, before, isAnother: false };",
    tests: [{ file: TEST, filter: "whom a directory sends" }],
    why: "A directory would take over accounts of people of other companies.",
  },
  {
    name: "account-taken-over-with-who-waits-in-it",
    file: PROVISIONING,
    find: 'const isHeld = ways.includes("group") || ways.length > 0 && !isVouchedFor;',
    replace: 'const isHeld = ways.includes("group");',
    tests: [{ file: TEST, filter: "whom a directory sends" }],
    why: "Who registered somebody's address would get what the directory gives that person.",
  },
  {
    name: "account-taken-over-by-an-unverified-address",
    file: PROVISIONING,
    find: 'ways.includes("group") || ',
    replace: "",
    tests: [{ file: TEST, filter: "whom a directory sends" }],
    why: "Somebody who signed in with another's address would get the other's rights.",
  },
  {
    name: "directory-id-of-any-provider",
    file: "src/people/sign_in/identities.ts",
    find: "if (this.#providers.length !== 1) return undefined;",
    replace: "",
    tests: [{ file: TEST, filter: "whom a directory has sent" }],
    why: "A second provider could sign in as anybody whom the directory of the first has sent.",
  },
  {
    name: "owner-signs-in-by-a-directory-id",
    file: "src/people/sign_in/identities.ts",
    find: 'account === undefined || account.role === "owner" ? undefined : usable(account)',
    replace: "account === undefined ? undefined : usable(account)",
    tests: [{ file: TEST, filter: "whom a directory has sent" }],
    why: "Who runs the directory would own the gateway.",
  },
  {
    name: "enabled-by-a-directory-that-did-not-disable",
    file: PROVISIONING,
    find: "return byDirectoryAtMs === null || byDirectoryAtMs !== isDisabledAtMs\n" +
      "      ? { disabledAtMs: null, statements: [] }\n" +
      "      : { disabledAtMs: null, statements: [giveAccess(id, byDirectoryAtMs)] };",
    replace: "return isDisabledAtMs === null\n" +
      "      ? { disabledAtMs: null, statements: [] }\n" +
      "      : { disabledAtMs: null, statements: [giveAccess(id, isDisabledAtMs)] };",
    tests: HISTORY,
    why: "A directory would let in again whom an operator has shut out.",
  },
  {
    name: "enabled-by-a-change-that-says-nothing-of-it",
    file: PROVISIONING,
    find: "const document = readUser(edit(before), wasActive);",
    replace: "const document = readUser(edit(before));",
    tests: [{ file: TEST, filter: "who was deactivated" }],
    why: "A change of a name would let in again who has left.",
  },
  {
    name: "keys-of-whom-an-operator-disabled-before",
    file: PROVISIONING,
    find: "statements: byDirectoryAtMs === isDisabledAtMs ? [] : takeAccess(id, nowMs),",
    replace: "statements: [],",
    tests: [{ file: TEST, filter: "who was deactivated" }],
    why: "Keys of somebody who has left would work again once an operator enables the account.",
  },
  {
    name: "what-the-person-before-had",
    file: PROVISIONING,
    find: "...(isAnother ? forgetAll(account.id, nowMs) : []),",
    replace: "",
    tests: [{ file: TEST, filter: "another person's" }],
    why:
      "Who has left would sign in with a passkey as the next one of that address, with the role of before.",
  },
  {
    name: "members-of-a-deleted-user",
    file: DIRECTORY,
    find: '{ sql: "delete from scim_members where user_id = ?", args: [id] },',
    replace: "",
    tests: HISTORY,
    why: "Who was deleted would keep what the groups gave.",
  },
  {
    name: "rights-of-a-renamed-group",
    file: DIRECTORY,
    find: "and exists (select 1 from scim_groups\n            where id = ? and (not",
    replace: "and not exists (select 1 from scim_groups\n            where id = ? and (not",
    tests: HISTORY,
    why: "Members of a group would keep what its former name gave.",
  },
  {
    name: "two-changes-of-a-group",
    file: "src/operating/provisioning/group_provisioning.ts",
    find: "guardStatement(isSameGroup(group)),\n        ...updateGroup",
    replace: "...updateGroup",
    tests: [{ file: TEST, filter: "two changes at once" }],
    why: "Of two changes at once, one would undo the other.",
  },
  {
    name: "rights-of-groups-that-were-left-meanwhile",
    file: "src/operating/provisioning/directory_rights.ts",
    find: "guardStatement(haveChanges(users)),",
    replace: "",
    tests: [{ file: TEST, filter: "who leaves a group while it is evaluated" }],
    why: "Who leaves a group while a directory's request is carried out would keep its rights.",
  },
  {
    name: "rights-of-one-for-all-of-a-piece",
    file: "src/operating/provisioning/directory_rights.ts",
    find: "Map.groupBy(due, ({ rights }) => digestOfRights(rights, settings))",
    replace: "Map.groupBy(due, () => settings)",
    tests: [{ file: TEST, filter: "a group of many" }],
    why: "Of several people in one request, all would get what the groups of the first give.",
  },
  {
    name: "team-that-another-provider-gives",
    file: "src/people/accounts/group_grants.ts",
    find:
      "and others.kind = 'team' and others.name = group_grants.name and others.provider <> ?)`;",
    replace:
      "and others.kind = 'team' and others.name = group_grants.name and others.provider <> ? and false)`;",
    tests: [{
      file: "tests/people/accounts/group_grants_test.ts",
      filter: "goes with the last provider",
    }],
    why: "Who leaves a group of one provider would lose a team that another still gives.",
  },
  {
    name: "key-of-a-directory-reads-credits",
    file: "src/doors/http/callers.ts",
    find:
      'if (caller.scopes.size === 1 && caller.scopes.has("scim")) checkScope(caller, "inference");',
    replace: "",
    tests: [{ file: DOOR, filter: "only a key of an owner" }],
    why: "A directory's key would open more than its API.",
  },
  {
    name: "operator-with-a-directory-key",
    file: "src/people/accounts/permissions.ts",
    find: 'by which a directory manages people and groups",\n    allowed: ["owner"],',
    replace: 'by which a directory manages people and groups",\n    allowed: OPERATORS,',
    tests: [{ file: DOOR, filter: "only a key of an owner" }],
    why: "An operator could make operators by way of a directory's key.",
  },
  {
    name: "password-of-a-directory-kept",
    file: "src/people/scim/documents.ts",
    find: '  "password",\n];',
    replace: "];",
    tests: [{
      file: "tests/people/scim/patch_test.ts",
      filter: "a user has what an account needs",
    }],
    why: "Passwords of the company would be in the database, in backups and in replies.",
  },
];
