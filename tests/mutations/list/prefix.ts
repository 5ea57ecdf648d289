import type { Mutation } from "../mutation.ts";

const BASE = "src/ground/web/base_path.ts";
const APP = "src/doors/http/app.ts";
const VALUES = "src/settings/config/values.ts";
const COOKIES = "src/doors/console/cookies.ts";
const CONSOLE = "src/doors/console/console.tsx";
const RANDOM = [{ file: "tests/ground/web/base_path_test.ts" }];
const CRAWL = [{ file: "tests/doors/console/prefix_test.ts", filter: "below a path" }];
const SETTING = [{ file: "tests/doors/console/prefix_test.ts", filter: "public URL" }];
const BROWSER = [{ file: "tests/docs/subpath_test.ts" }];

/** A gateway below a path of a host. */
export const PREFIX: readonly Mutation[] = [
  {
    name: "prefix-of-a-longer-name",
    file: BASE,
    find: 'return rest.startsWith("/") ? rest : path;',
    replace: "return rest;",
    tests: RANDOM,
    why: "/gatewayx/console/ would be taken for a page of /gateway.",
  },
  {
    name: "prefix-in-a-text",
    file: BASE,
    find: "(?=\\/[^>/])",
    replace: "(?=\\/)",
    tests: RANDOM,
    why: "What somebody typed, and links to other hosts, would be changed.",
  },
  {
    name: "prefix-not-before-redirects",
    file: CONSOLE,
    find: 'headers.set("location", this.#base.link(location));',
    replace: 'headers.set("location", location);',
    tests: CRAWL,
    why: "Who signs in would be led to another program of the host.",
  },
  {
    name: "prefix-not-in-live-parts",
    file: "src/doors/console/live_streams.ts",
    find: "this.#parts.base.page(html)",
    replace: "html",
    tests: CRAWL,
    why: "Links would lead elsewhere as soon as a page has changed.",
  },
  {
    name: "cookie-of-the-whole-host",
    file: COOKIES,
    find: 'path: base.link("/")',
    replace: 'path: "/"',
    tests: CRAWL,
    why: "The session would be sent to every program of the host.",
  },
  {
    name: "cookies-of-one-name",
    file: COOKIES,
    find: '`${own}${base.path.replaceAll("/", "+")}`;',
    replace: "own;",
    tests: BROWSER,
    why: "Gateways whose paths are below each other would end each other's sessions.",
  },
  {
    name: "metrics-below-the-prefix",
    file: APP,
    find: "INTERNAL.includes(path) ? sent : path",
    replace: "path",
    tests: CRAWL,
    why: "A proxy that passes the path on would show what is for the machines inside.",
  },
  {
    name: "prefix-of-the-gateways-own",
    file: VALUES,
    find: "return OWN_PATHS.includes(first)",
    replace: "return false",
    tests: SETTING,
    why: "/v1 as a path of the public URL would be taken off requests that do not have it.",
  },
  {
    name: "public-url-with-a-query",
    file: VALUES,
    find: "if (/[?#]/.test(text)) return",
    replace: "if (false) return",
    tests: SETTING,
    why: "Paths would be appended to a query.",
  },
];
