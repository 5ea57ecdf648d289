import deno from "../deno.json" with { type: "json" };
import { assert, assertEquals } from "./assert.ts";

interface Lock {
  readonly specifiers: Readonly<Record<string, string>>;
  readonly npm: Readonly<Record<string, { readonly integrity: string }>>;
}

const read = async (path: string): Promise<Lock> =>
  JSON.parse(await Deno.readTextFile(new URL(path, import.meta.url)));
const [program, tests] = await Promise.all([read("../deno.lock"), read("deno.lock")]);

const packageOf = (specifier: string) => /^npm:((?:@[^/]+\/)?[^/@]+)@([^/]+)/.exec(specifier)!;

Deno.test("the import map names exact versions", () => {
  const all = [deno.imports, ...Object.values(deno.scopes)].flatMap((part) => Object.values(part));
  for (const specifier of all) {
    assert(/^\d+\.\d+\.\d+(-[\w.]+)?$/.test(packageOf(specifier)[2]!), specifier);
  }
});

Deno.test("a first start downloads the program's packages, not those of the tests", () => {
  const own = new Set(Object.values(deno.imports).map((one) => packageOf(one)[0]));
  // what is compared with the types of Node's is asked for by Deno itself
  assertEquals(
    Object.keys(program.specifiers).toSorted(),
    [...own, "npm:@types/node@*"].toSorted(),
    "deno task lock",
  );
});

Deno.test("the program's lock file holds no library for musl, which Deno does not run on", () => {
  assertEquals(Object.keys(program.npm).filter((name) => name.includes("musl")), []);
});

Deno.test("the tests run with the same packages as the program", () => {
  for (const [name, { integrity }] of Object.entries(program.npm)) {
    assertEquals(tests.npm[name]?.integrity, integrity, `${name}: deno task lock`);
  }
});
