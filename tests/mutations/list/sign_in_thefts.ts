import type { Mutation } from "../mutation.ts";

const ACCESS = "src/people/accounts/access.ts";
const IDENTITIES = "src/people/sign_in/identities.ts";
const PROVIDER = "src/people/sign_in/provider.ts";
const VOUCHERS = "src/people/sign_in/vouchers.ts";
const AUTH_PAGES = "src/doors/console/auth_pages.tsx";
const PROVIDER_PAGES = "src/doors/console/provider_pages.tsx";
const THEFTS = "tests/doors/console/sign_in_thefts_test.ts";
const WHO = [{ file: "tests/people/sign_in/identities_test.ts" }];
const REFRESH = [{ file: "tests/people/sign_in/refresh_test.ts" }];
const GUESSES = [{ file: "tests/doors/oauth/attacks_test.ts", filter: "guesses are limited" }];
const HOSTS = [{ file: "tests/people/sign_in/check_provider_test.ts", filter: "private host" }];
const STEP_UP = [{ file: THEFTS, filter: "takes a sign-in" }];

/** What a thief keeps or gets of somebody's account, and what guesses do to others. */
export const SIGN_IN_THEFTS: readonly Mutation[] = [
  {
    name: "account-with-a-password-linked",
    file: IDENTITIES,
    find: "select 'password' as way where ${password.sql}",
    replace: "select 'password' as way where false and ${password.sql}",
    tests: WHO,
    why: "Who registered somebody's address would share that person's account.",
  },
  {
    name: "account-with-a-passkey-linked",
    file: IDENTITIES,
    find: "select 'passkey' from passkeys where account_id = ?",
    replace: "select 'passkey' from passkeys where false and account_id = ?",
    tests: WHO,
    why: "Who has a passkey of the account would share it with whom the company sends.",
  },
  {
    name: "link-begun-by-an-old-session",
    file: PROVIDER_PAGES,
    find: '      if (link !== undefined) checkRecent(link, "link an identity");\n',
    replace: "",
    tests: STEP_UP,
    why: "Who finds a session open would be sent to the provider to link an own identity.",
  },
  {
    name: "link-ended-by-an-old-session",
    file: IDENTITIES,
    find: '    checkRecent(session, "link an identity");\n',
    replace: "",
    tests: STEP_UP,
    why: "What was begun in time could be ended at any time.",
  },
  {
    name: "first-password-by-an-old-session",
    file: AUTH_PAGES,
    find: '      if (!asks) checkRecent(session, "set a password");\n',
    replace: "",
    tests: STEP_UP,
    why: "Who finds a session open could come back with a password.",
  },
  {
    name: "password-guesses-at-once",
    file: AUTH_PAGES,
    find:
      '      this.#attempts.failed(account.email, address);\n      if (!await passwords.matches(account, form.raw("current"))) {\n',
    replace:
      '      if (!await passwords.matches(account, form.raw("current"))) {\n        this.#attempts.failed(account.email, address);\n',
    tests: [{ file: THEFTS, filter: "many at once" }],
    why: "Of a session that is open, any number of passwords could be tried at once.",
  },
  {
    name: "sessions-of-an-unlinked-identity",
    file: ACCESS,
    find:
      '      sql: "delete from sessions where account_id = ? and provider = ? and digest <> ?",',
    replace:
      '      sql: "delete from sessions where false and account_id = ? and provider = ? and digest <> ?",',
    tests: [{ file: THEFTS, filter: "linked an own identity" }],
    why: "A thief would stay signed in after the identity was unlinked.",
  },
  {
    name: "codes-that-outlive-signing-out",
    file: ACCESS,
    find: "{ sql: `delete from tool_codes where ${whose} and key_id is null`, args },",
    replace: "",
    tests: [{ file: THEFTS, filter: "no tool has fetched" }],
    why: "A code that was held back would sign a tool in after all were signed out.",
  },
  {
    name: "device-codes-that-outlive-signing-out",
    file: ACCESS,
    find: "{ sql: `delete from device_codes where ${whose}`, args },",
    replace: "",
    tests: [{ file: THEFTS, filter: "no tool has fetched" }],
    why: "A device that was approved would be signed in after all tools were signed out.",
  },
  {
    name: "rights-after-a-refused-sign-in",
    file: PROVIDER_PAGES,
    find: "if (error instanceof SignInError && error.refused !== undefined) {",
    replace: "if (false) {",
    tests: [{ file: THEFTS, filter: "lets in no more" }],
    why: "Who is out of the group would keep what it gave, by a passkey or password.",
  },
  {
    name: "visits-that-crowd-out",
    file: PROVIDER_PAGES,
    find: "    this.#begun.add(c.env.visitor.address);\n",
    replace: "",
    tests: [{ file: THEFTS, filter: "crowds out nobody" }],
    why: "One address could keep everybody from signing in.",
  },
  {
    name: "refresh-token-lost",
    file: PROVIDER,
    find: "if (response.ok && next !== undefined && next !== refreshToken) await keep(next);",
    replace: "",
    tests: REFRESH,
    why: "Tools would be signed out after a provider had sent one token that could not be checked.",
  },
  {
    name: "refresh-of-somebody-else",
    file: PROVIDER,
    find: "if (claims.sub !== subject) throw",
    replace: "if (false) throw",
    tests: REFRESH,
    why: "A provider's word for one person would count for another.",
  },
  {
    name: "refresh-signed-by-anybody",
    file: PROVIDER,
    find:
      "        await oauth.validateApplicationLevelSignature(server, response, http);\n        // OpenID Connect Core",
    replace: "        // OpenID Connect Core",
    tests: REFRESH,
    why: "An identity token that nobody signed would count.",
  },
  {
    name: "later-sign-in-disowned",
    file: VOUCHERS,
    find: "and (?3 is null or refresh_sealed = ?3)`",
    replace: "and (?3 is null or true)`",
    tests: REFRESH,
    why: "Who has just signed in would lose the tools by a refresh of before.",
  },
  {
    name: "right-tokens-refused",
    file: "src/doors/oauth/oauth.ts",
    find: '      switch (form.get("grant_type")) {\n',
    replace:
      '      if (this.#guessesOfAll.waitMs(ALL) > 0) this.#guessed(address);\n      switch (form.get("grant_type")) {\n',
    tests: GUESSES,
    why: "Anybody who guesses could keep everybody's tools from refreshing.",
  },
  {
    name: "guesses-of-all-without-limit",
    file: "src/doors/oauth/oauth.ts",
    find: "    this.#guessesOfAll.add(ALL);\n",
    replace: "",
    tests: GUESSES,
    why: "Many addresses together could guess without end.",
  },
  {
    name: "right-tokens-of-jobs-refused",
    file: "src/doors/oauth/workload_exchange.ts",
    find: "    let workload: Workload;\n",
    replace: "    this.#exchanges.add(address);\n    let workload: Workload;\n",
    tests: [{ file: "tests/doors/oauth/workloads_test.ts", filter: "becomes a key" }],
    why: "A job that guesses could keep the others of its network from their keys.",
  },
  {
    name: "right-codes-of-devices-refused",
    file: "src/doors/console/attempts.ts",
    find: "return limit.waitMs(accountId) > 0;",
    replace: 'return this.#all.waitMs("") > 0 || limit.waitMs(accountId) > 0;',
    tests: [{ file: "tests/doors/console/attempts_test.ts", filter: "wrong codes" }],
    why: "Accounts that guess could keep everybody from approving a tool.",
  },
  {
    name: "private-hosts-of-everybody",
    file: "src/people/sign_in/workloads.ts",
    find: "this.#rules.filter((rule) => rule.issuer === issuer)\n      .flatMap",
    replace: "this.#rules\n      .flatMap",
    tests: HOSTS,
    why: "One issuer could have the gateway ask a host that was allowed to another.",
  },
  {
    name: "private-hosts-refused",
    file: "src/people/sign_in/ways.ts",
    find: "allowPrivateHosts: this.#allowPrivateHosts,",
    replace: "allowPrivateHosts: [],",
    tests: HOSTS,
    why: "A provider whose keys are on another host of the network could not be used.",
  },
  {
    name: "capitals-that-become-others",
    file: "src/people/sign_in/identity.ts",
    find: "return email.replace(/[A-Z]+/g, (letters) => letters.toLowerCase());",
    replace: "return email.toLowerCase();",
    tests: [{ file: "tests/people/sign_in/clocks_and_keys_test.ts", filter: "says little" }],
    why: "An address with the sign of Kelvin would sign in to the account of one with a k.",
  },
  {
    name: "groups-left-out-beside-a-list",
    file: "src/people/sign_in/groups.ts",
    find: '  if (isLeftOut(claims, name)) return "too many";\n',
    replace: '  if (value === undefined && isLeftOut(claims, name)) return "too many";\n',
    tests: [{ file: "tests/people/sign_in/groups_test.ts", filter: "left out" }],
    why: "A list that is empty for its length would take away what groups give.",
  },
];
