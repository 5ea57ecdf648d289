import type { Mutation } from "../mutation.ts";

const PASSWORDS = "src/people/accounts/passwords.ts";
const PAGES = "src/doors/console/auth_pages.tsx";
const PROVIDER = "src/people/sign_in/provider.ts";
const WAYS = "src/people/sign_in/ways.ts";
const OFF = "tests/doors/console/passwords_off_test.ts";
const ATTACKS = "tests/doors/console/sign_in_attacks_test.ts";
const LIES = [{ file: "tests/people/sign_in/provider_test.ts", filter: "a provider that lies" }];
const SETUP = [{ file: "tests/people/sign_in/check_provider_test.ts" }];

/** Who is signed in to the console, by what, for how long, and whom its providers make the gateway ask. */
export const CONSOLE_SIGN_IN: readonly Mutation[] = [
  {
    name: "claimed-address-registered",
    file: PAGES,
    find: "      this.#checkUnclaimed(email);\n",
    replace: "",
    tests: [{ file: ATTACKS, filter: "registers an address" }],
    why: "Somebody could wait in an account, with a password, for the person whose address it has.",
  },
  {
    name: "password-of-others",
    file: PASSWORDS,
    find: 'return !this.#onlyOwners || role === "owner";',
    replace: 'return !this.#onlyOwners || role !== "none";',
    tests: [{ file: OFF, filter: "only owners" }],
    why: "An operator could stay signed in past the provider that has removed them.",
  },
  {
    name: "password-matches-although-off",
    file: PASSWORDS,
    find: "right && account !== undefined && this.mayUse(account);",
    replace: "right && account !== undefined;",
    tests: [{ file: OFF, filter: "only owners" }],
    why: "Passwords from before the setting would go on.",
  },
  {
    name: "password-set-although-off",
    file: PASSWORDS,
    find: "if (!this.mayUse(account)) {",
    replace: "if (account === undefined) {",
    tests: [{ file: OFF, filter: "only owners" }],
    why: "A link from an operator would set a password that works once passwords are back.",
  },
  {
    name: "registration-although-off",
    file: PAGES,
    find: 'return signIn?.password === false ? "closed" : registration;',
    replace: "return signIn === undefined ? registration : registration;",
    tests: [{ file: OFF, filter: "only owners" }],
    why: "A page would offer strangers what they cannot have.",
  },
  {
    name: "owner-past-providers-untold",
    file: PAGES,
    find: 'if (account.role !== "owner" || oidc.length === 0) return [];',
    replace: "if (account !== undefined) return [];",
    tests: [{ file: OFF, filter: "each time that an owner" }],
    why: "Who has an owner's password would come in unseen.",
  },
  {
    name: "owner-sign-in-told-again",
    file: "src/operating/alerts/marks.ts",
    find: "mark: `owner_signed_in:${id}`,",
    replace: "mark: `owner_signed_in:${atMs}:${Math.random()}`,",
    tests: [{ file: OFF, filter: "each time that an owner" }],
    why: "One sign-in would be an alert every half minute.",
  },
  {
    name: "session-longer-than-the-setting",
    file: "src/people/accounts/sessions.ts",
    find: "and sessions.created_at_ms > ?\n",
    replace: "and ? is not null\n",
    tests: [{ file: OFF, filter: "sessionHours" }],
    why: "Sessions of 30 days would outlive a setting of twelve hours.",
  },
  {
    name: "session-that-was-planted",
    file: "src/people/accounts/sessions.ts",
    find: '{ sql: "delete from sessions where digest = ?", args: [digestOf(before)] },',
    replace: "",
    tests: [{ file: ATTACKS, filter: "put into a browser" }],
    why: "The session before a sign-in would go on beside the new one.",
  },
  {
    name: "visits-without-bound",
    file: "src/people/sign_in/single_uses.ts",
    find: "args: [MAX_WAITING - 1],",
    replace: "args: [10 * MAX_WAITING],",
    tests: [{ file: ATTACKS, filter: "are bounded" }],
    why: "Anybody could fill the database without signing in.",
  },
  {
    name: "identity-of-nobody",
    file: PROVIDER,
    find: 'if (claims.sub === "" || ',
    replace: "if (",
    tests: LIES,
    why: "All of a provider's users without a subject would be one account.",
  },
  {
    name: "token-of-the-future",
    file: PROVIDER,
    find: "if (claims.iat > nowS + SKEW_S)",
    replace: "if (claims.iat > nowS + 100 * SKEW_S)",
    tests: [{ file: "tests/people/sign_in/clocks_and_keys_test.ts", filter: "clocks" }],
    why: "Tokens could be made ahead, to be used when their maker has left.",
  },
  {
    name: "verified-whatever-the-provider-says",
    file: "src/people/sign_in/identity.ts",
    find: "includes(String(verified ?? entraVerified))",
    replace: "includes(String(entraVerified ?? verified))",
    tests: [{ file: "tests/people/sign_in/clocks_and_keys_test.ts", filter: "says little" }],
    why: "A provider that says that an address is not verified would be overruled.",
  },
  {
    name: "provider-names-any-address",
    file: WAYS,
    find: "if (isOwn && !isTyped) return",
    replace: "if (!isTyped) return",
    tests: SETUP,
    why: "A provider's document could have the gateway ask hosts inside the network.",
  },
  {
    name: "typed-issuer-trusted",
    file: WAYS,
    find: "if (isOwn && !isTyped) return",
    replace: "if (isOwn) return",
    tests: SETUP,
    why: "A form of the console could look around in the network.",
  },
  {
    name: "provider-without-encryption",
    file: WAYS,
    find: 'url.protocol === "http:" && isOwn && this.isNear',
    replace: 'url.protocol === "http:"',
    tests: LIES,
    why: "Codes and secrets would go over the network for everybody to read.",
  },
  {
    name: "page-that-is-a-script",
    file: WAYS,
    find: 'if (url.protocol === "https:" ||',
    replace: 'if (url.protocol !== "http:" ||',
    tests: LIES,
    why: "A provider could have the console's pages run its script.",
  },
];
