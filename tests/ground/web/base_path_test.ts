import { jsx } from "@hono/hono/jsx";
import fc from "fast-check";
import { BasePath } from "../../../src/ground/web/mod.ts";
import { assertEquals } from "../../assert.ts";
import { sized } from "../../tier.ts";

const RUNS = { numRuns: sized(300, 10_000) };
const prefix = fc.array(fc.stringMatching(/^[A-Za-z0-9._~-]{1,6}$/), { maxLength: 3 })
  .map((parts) => parts.map((part) => `/${part}`).join(""))
  .filter((path) => path === new URL(path || "/", "http://host").pathname.replace(/\/$/, ""));
const based = (path: string) => new BasePath(`https://host.example${path}`);

/** Text that looks like what is looked for. */
const text = fc.oneof(
  fc.string(),
  fc.array(fc.constantFrom(' href="', "/", '"', ">", " src=", "action", "=", "&quot;", "x", "'"))
    .map((parts) => parts.join("")),
);
/** An address: of the gateway, of another host, or of no page. */
const address = fc.oneof(
  text.map((one) => `/${one}`),
  fc.constantFrom(
    "/",
    "/console/",
    "//host/x",
    "https://host/",
    "?done=x",
    "#part",
    "",
    "mailto:x",
  ),
);

const part = fc.record({
  links: fc.dictionary(fc.constantFrom("href", "src", "action", "formaction"), address, {
    maxKeys: 2,
  }),
  others: fc.dictionary(fc.constantFrom("title", "value", "data-part", "class"), text),
  text,
});
type Part = typeof part extends fc.Arbitrary<infer T> ? T : never;

/** A page of which each link is what `link` makes of it. */
function render(parts: readonly Part[], link: (path: string) => string): string {
  const all = parts.map(({ links, others, text }) => {
    const own = Object.fromEntries(Object.entries(links).map(([name, to]) => [name, link(to)]));
    return jsx("div", { ...others, ...own }, text, jsx("input", { ...own, ...others }));
  });
  return String(jsx("main", {}, ...all));
}

Deno.test("the links of any page get the prefix, and nothing else does", () => {
  fc.assert(
    fc.property(prefix, fc.array(part, { maxLength: 5 }), (path, page) => {
      const base = based(path);
      assertEquals(
        base.page(render(page, (to) => to)),
        render(page, (to) => base.link(to)),
      );
    }),
    RUNS,
  );
});

Deno.test("a path is the same with the prefix, and without it", () => {
  fc.assert(
    fc.property(
      prefix,
      fc.array(fc.string()).map((parts) => `/${parts.join("/")}`),
      (own, path) => {
        const base = based(own);
        const other = own !== "" && (path === own || path.startsWith(`${own}/`));
        assertEquals(base.strip(`${own}${path}`), path);
        if (!other) assertEquals(base.strip(path), path);
      },
    ),
    RUNS,
  );
  const base = based("/gateway");
  for (const path of ["/gatewayx/console/", "/Gateway/console/", "/x/gateway/", "/%67ateway/"]) {
    assertEquals(base.strip(path), path);
  }
  assertEquals(base.strip("/gateway"), "/");
  assertEquals(base.strip("/gateway/gateway/v1"), "/gateway/v1", "once");
});
