import type { Mutation } from "../mutation.ts";

const VISITOR = "src/console/visitor.ts";
const FORWARDED = "tests/console/forwarded_test.ts";
const DOORS = "tests/console/closed_doors_test.ts";
const NAMES = "tests/accounts/names_test.ts";
const SIMULATOR = "tests/upstreams/simulator_test.ts";
const CLIENT_KEYS = "tests/cli/client_keys_test.ts";
const GUARD = "tests/telemetry/process_guard_test.ts";

/** Who is let in, whose word is believed, and what ends the process. */
export const ACCESS: readonly Mutation[] = [
  {
    name: "session-of-disabled-account",
    file: "src/accounts/accounts.ts",
    find: "{ sql: `delete from sessions ${whose}`, args: [id] },",
    replace: "",
    tests: [{ file: "tests/billing/grants_test.ts", filter: "disabling ends sessions" }],
    why: "Sessions of before would go on when a disabled account is enabled again.",
  },
  {
    name: "link-of-disabled-account",
    file: "src/accounts/accounts.ts",
    find: "{ sql: `delete from sign_in_links ${whose}`, args: [id] },",
    replace: "",
    tests: [{ file: "tests/billing/grants_test.ts", filter: "disabling ends sessions" }],
    why: "Sign-in links of before would work when a disabled account is enabled again.",
  },
  {
    name: "operator-revokes-any-key",
    file: "src/console/operator/account_routes.tsx",
    find: "if (key === undefined || key.accountId !== account.id) {",
    replace: "if (key === undefined) {",
    tests: [{ file: DOORS, filter: "an operator's page" }],
    why: "A page about one account would revoke another's key.",
  },
  {
    name: "stale-keys-accepted",
    file: "src/accounts/key_ring.ts",
    find: "if (performance.now() - this.#lastSeenMs > this.#staleMs) return undefined;",
    replace: "",
    tests: [{ file: "tests/accounts/stale_key_test.ts" }],
    why: "A database that has stopped answering would keep revoked keys alive.",
  },
  {
    name: "forwarded-by-anybody",
    file: VISITOR,
    find: "const isProxied = trusted.includes(peer);",
    replace: `const isProxied = true;
  trusted = new TrustedProxies([peer]);`,
    tests: [{ file: FORWARDED, filter: "nobody is trusted by default" }],
    why: "Forged addresses would get round the bounds of sign-in and registration.",
  },
  {
    name: "forwarded-protocol-by-anybody",
    file: VISITOR,
    find: "const isProxied = trusted.includes(peer);",
    replace: "const isProxied = true;",
    tests: [{ file: FORWARDED, filter: "speaks TLS" }],
    why: "Callers could say that their connection is TLS, and lock themselves out by the cookie.",
  },
  {
    name: "forwarded-leftmost",
    file: VISITOR,
    find: "...forwarded.reverse().map(",
    replace: "...forwarded.map(",
    tests: [{ file: FORWARDED, filter: "the caller says the rest of itself" }],
    why: "A caller behind a trusted proxy could choose its address.",
  },
  {
    name: "forwarded-only-last",
    file: VISITOR,
    find: ".find((one) => !trusted.includes(one));",
    replace: ".find((_, at) => at === 1);",
    tests: [{ file: FORWARDED, filter: "another trusted proxy on the way" }],
    why: "All callers behind two proxies would share one bound.",
  },
  {
    name: "forwarded-single-ipv6",
    file: VISITOR,
    find: "networkAddressFromCIDR(`${address}/64`)",
    replace: "networkAddressFromCIDR(`${address}/128`)",
    tests: [{ file: FORWARDED, filter: "the rest of a /64" }],
    why: "Whoever has a /64 would have 2^64 addresses to try from.",
  },
  {
    name: "names-may-mislead",
    file: "src/platform/display_text.ts",
    find: "return text.search(MISLEADING) < 0",
    replace: "return text !== MISLEADING.source",
    tests: [{ file: NAMES, filter: "Accounts.create refuses controls" }],
    why: "Names could turn the direction of the text around them.",
  },
  {
    name: "old-names-shown-as-they-are",
    file: "src/platform/display_text.ts",
    find: "return text.replace(\n    MISLEADING,",
    replace: "return text.replace(\n    /^$/g,",
    tests: [{ file: NAMES, filter: "are shown with such characters escaped" }],
    why: "Names from before the rule would mislead.",
  },
  {
    name: "unhandled-errors-end-the-process",
    file: "src/telemetry/process_guard.ts",
    find: "    event.preventDefault();\n",
    replace: "",
    tests: [{ file: GUARD, filter: "a promise that nobody handles" }],
    why: "A bug in one request would end all others.",
  },
  {
    name: "unhandled-errors-not-counted",
    file: "src/telemetry/process_guard.ts",
    find: "    unhandled();\n",
    replace: "",
    tests: [{ file: GUARD, filter: "a promise that nobody handles" }],
    why: "Nobody would notice bugs by the metrics.",
  },
  {
    name: "programs-may-run",
    file: "src/telemetry/process_guard.ts",
    find: `  Deno.permissions.revokeSync({ name: "run" });\n`,
    replace: "",
    tests: [{ file: GUARD, filter: "a promise that nobody handles" }],
    why: "Whoever takes over the process could run programs.",
  },
  {
    name: "any-gateway-at-the-port",
    file: "src/cli/address.ts",
    find: "proof === await proofOf(secret, challenge)",
    replace: "proof !== undefined",
    tests: [{ file: "tests/cli/two_gateways_test.ts", filter: "killed gateway" }],
    why: "Keys and prompts would go to whatever gateway has the port of one that was killed.",
  },
  {
    name: "gateway-of-another-machine",
    file: "src/database/announcement.ts",
    find: " && isOfThisMachine(data.url)",
    replace: "",
    tests: [{ file: "tests/cli/two_gateways_test.ts", filter: "another machine" }],
    why: "A data directory in somebody's repository would lead keys and prompts to their server.",
  },
  {
    name: "simulator-acts",
    file: "src/simulator/plan.ts",
    find: `if (choice === "auto" || choice === "none" || directives.say`,
    replace: `if (choice === "none" || directives.say`,
    tests: [{ file: SIMULATOR, filter: "calls no tool that was neither" }],
    why: "A coding agent without an upstream would run what its tools offer.",
  },
  {
    name: "pasted-directives",
    file: "src/simulator/own_text.ts",
    find: ": text.lastIndexOf(closing);",
    replace: ": text.indexOf(closing, inside);",
    tests: [{ file: SIMULATOR, filter: "own text: a pasted file" }],
    why: "A file that closes its own element could have a coding agent run commands.",
  },
  {
    name: "kept-keys-readable",
    file: "src/cli/client_keys.ts",
    find: "{ mode: 0o600, createNew: true }",
    replace: "{ mode: 0o644, createNew: true }",
    tests: [{ file: CLIENT_KEYS, filter: "finds its key again" }],
    why: "Every user of the machine could use the keys of sluice run.",
  },
  {
    name: "kept-key-of-another-account",
    file: "src/cli/client_keys.ts",
    find: "if (key === undefined || key.accountId !== account.id || key.revokedAtMs !== null) {",
    replace: "if (key === undefined || key.accountId !== account.id) {",
    tests: [{ file: CLIENT_KEYS, filter: "is revoked, expired" }],
    why: "A program would be started with a key that was revoked.",
  },
];
