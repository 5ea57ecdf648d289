import type { Mutation } from "../mutation.ts";

const WAY = "src/settings/config/proxy_settings.ts";
const EXCEPTIONS = "src/ground/ways_out/exceptions.ts";
const TUNNEL = "src/ground/ways_out/open_connection.ts";
const SETTINGS_TEST = "tests/settings/config/proxies_test.ts";
const EXCEPTIONS_TEST = "tests/ground/ways_out/exceptions_test.ts";
const CONNECT_TEST = "tests/ground/ways_out/connect_test.ts";
const FLOW = "tests/flow/proxy_test.ts";
const OTHERS = "tests/flow/proxy_others_test.ts";

/** Which way connections take, what a proxy may not get around, and secrets of proxies. */
export const PROXIES: readonly Mutation[] = [
  {
    name: "proxy-for-this-machine",
    file: WAY,
    find: " || isNear(url.hostname)",
    replace: "",
    tests: [{ file: SETTINGS_TEST, filter: "the way to an address" }],
    why: "Local models and metadata servers would be asked for at the company's proxy.",
  },
  {
    name: "proxy-of-an-upstream-ignored",
    file: WAY,
    find: "  if (proxy !== undefined) return proxy instanceof Secret ? known(proxy) : undefined;\n",
    replace: "",
    tests: [{ file: SETTINGS_TEST, filter: "the way to an address" }],
    why: "What an operator sets for an upstream would not win over the environment.",
  },
  {
    name: "no-proxy-of-look-alikes",
    file: EXCEPTIONS,
    find: "host.endsWith(`.${domain}`)",
    replace: "host.endsWith(domain)",
    tests: [{ file: EXCEPTIONS_TEST, filter: "NO_PROXY is read" }],
    why: "A host whose name merely ends like an exception would go around the proxy.",
  },
  {
    name: "proxy-fault-counts-as-sent",
    file: "src/requests/upstreams/http_transport.ts",
    find: 'const kind = stage === "connecting"',
    replace: 'const kind = stage === "aborted"',
    tests: [{ file: FLOW, filter: "was sent nothing" }],
    why: "A request that never left would be taken for one that may have been worked on.",
  },
  {
    name: "proxy-407-taken-for-the-upstreams",
    file: "src/ground/ways_out/connect.ts",
    find: "status === 407 && forwarded !== undefined",
    replace: "false",
    tests: [{ file: FLOW, filter: "was sent nothing" }],
    why: "A proxy that wants credentials would fail requests that another target could reply to.",
  },
  {
    name: "checked-address-looked-up",
    file: TUNNEL,
    find: "proxy === undefined && address !== undefined",
    replace: "false",
    tests: [{ file: "tests/ground/ways_out/connect_tcp_test.ts", filter: "names are looked up" }],
    why: "What the guard checked would be looked up once more, and could be another address.",
  },
  {
    name: "proxy-refusal-taken-for-a-tunnel",
    file: TUNNEL,
    find: "      checkReply(reply, proxy);\n",
    replace: "",
    tests: [{ file: CONNECT_TEST, filter: "has its own words" }],
    why: "Nobody would be told that the proxy is what fails.",
  },
  {
    name: "proxy-connection-left-open",
    file: TUNNEL,
    find: "    if (current !== undefined) closeQuietly(current);\n",
    replace: "",
    tests: [{ file: CONNECT_TEST, filter: "has its own words" }],
    why: "Each attempt through a proxy that fails would keep a connection.",
  },
  {
    name: "proxy-around-the-check-of-receivers",
    file: "src/requests/images/way_to.ts",
    find: "  await checkName(target, options);\n",
    replace: "",
    tests: [{ file: OTHERS, filter: "alerts go through" }],
    why: "A receiver's name could lead to the network that the proxy is in.",
  },
  {
    name: "proxy-resolves-names-of-images",
    file: "src/requests/images/fetcher.ts",
    find: "      address,\n",
    replace: "",
    tests: [{ file: OTHERS, filter: "images go through" }],
    why: "An image's host could resolve to another address than the one that was checked.",
  },
  {
    name: "proxy-password-shown",
    file: "src/settings/config/show.ts",
    find: "return maskAddress(value.reveal());",
    replace: "return value.reveal();",
    tests: [{ file: SETTINGS_TEST, filter: "effective settings" }],
    why: "The settings as they are shown would have the proxy's password.",
  },
  {
    name: "proxy-password-in-an-error",
    file: "src/settings/config/faults.ts",
    find: "proxy|proxies|",
    replace: "",
    tests: [{ file: SETTINGS_TEST, filter: "faulty proxies" }],
    why: "An error about a proxy's address would repeat its password.",
  },
  {
    name: "proxy-password-in-a-reply",
    file: "src/requests/upstreams/upstream.ts",
    find: "      ...proxy?.secrets ?? [],\n",
    replace: "",
    tests: [{ file: FLOW, filter: "without its name and secrets" }],
    why: "A proxy that repeats what it was sent would tell callers its password.",
  },
];
