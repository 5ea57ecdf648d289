/** Lists of models, as each family of clients reads them. */

import { codexModels } from "../../../src/doors/http/codex.ts";
import { modelInfo, modelList } from "../../../src/doors/http/models.ts";
import { type Catalog, type Route, SIMULATOR } from "../../../src/settings/catalog/mod.ts";
import { assertEquals } from "../../assert.ts";

const route = (id: string, more: Partial<Route> = {}) =>
  ({
    id,
    displayName: `Model ${id}`,
    kind: "generation",
    maxInput: 10,
    maxOutput: 5,
    targets: [{ upstream: "up", model: "m" }],
    ...more,
  }) as unknown as Route;
const EMBEDDER = route("embedder", { kind: "embeddings", dimensions: 256 });

Deno.test("a model says what it is, what it takes, and whether it is simulated (table)", () => {
  for (
    const [one, sampling, more] of [
      [route("a"), true, {}],
      [EMBEDDER, false, { dimensions: 256 }],
      [route("a", { targets: [{ upstream: SIMULATOR, model: "m" }] }), true, { simulated: true }],
      [route("a", { targets: [] }), true, {}],
    ] as const
  ) {
    const { dimensions, simulated, permission, ...info } = modelInfo("alias", one);
    assertEquals({
      ...(dimensions !== undefined && { dimensions }),
      ...(simulated !== undefined && { simulated }),
    }, more);
    assertEquals(permission[0]!.allow_sampling, sampling);
    assertEquals([info.id, info.root, info.display_name], ["alias", one.id, one.displayName]);
  }
  assertEquals(Object.keys(modelInfo("a", route("a"))).includes("dimensions"), false);
});

Deno.test("aliases are for clients that list them, which have no use for embeddings; a list may be empty", () => {
  const [one, other] = [route("a"), route("b")];
  const catalog = {
    routes: [one, EMBEDDER, other],
    aliases: [{ name: "also", route: one }, { name: "vectors", route: EMBEDDER }],
  } as unknown as Catalog;
  const idsOf = (of: Catalog, listsAliases: boolean) => {
    const { data, first_id: first, last_id: last } = modelList(of, { listsAliases });
    assertEquals([first, last], [data[0]?.id ?? null, data.at(-1)?.id ?? null]);
    return data.map(({ id, display_name: name }) => name === `Model ${id}` ? id : name);
  };
  assertEquals(idsOf(catalog, false), ["a", "embedder", "b"]);
  assertEquals(idsOf(catalog, true), ["a", "b", "Model a (also)"]);
  assertEquals(idsOf({ routes: [], aliases: [] } as unknown as Catalog, true), []);
});

Deno.test("Codex is told of models for replies: their efforts, and whether they see images", () => {
  const [plain, seeing] = [
    route("a", { efforts: [], images: "none" }),
    route("b", { efforts: ["low", "high"], images: "all" as never }),
  ];
  const { models } = codexModels({ routes: [plain, EMBEDDER, seeing] } as unknown as Catalog);
  assertEquals(
    models.map((one) => [
      one.slug,
      one.supports_reasoning_summaries,
      one.default_reasoning_level,
      one.input_modalities,
    ]),
    [["a", false, null, ["text"]], ["b", true, "high", ["text", "image"]]],
  );
});
