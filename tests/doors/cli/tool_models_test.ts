import { toolModels } from "../../../src/doors/cli/tool_models.ts";
import { loadConfig } from "../../../src/settings/config/mod.ts";
import { assertEquals } from "../../assert.ts";
import { tempDir } from "../../fake/temp.ts";

/** A gateway that lists these models. */
function listing(data: readonly Record<string, unknown>[]) {
  const server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen() {} },
    () => Response.json({ data }),
  );
  return {
    url: `http://127.0.0.1:${server.addr.port}`,
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
}

/** The tools' models at a gateway, or by settings alone. */
async function modelsAt(url: string | undefined, settings: unknown = {}) {
  await using dir = await tempDir();
  const file = `${dir.path}/sluice.jsonc`;
  await Deno.writeTextFile(file, JSON.stringify(settings));
  const config = await loadConfig({ env: {}, directory: dir.path, file });
  const context = { directory: dir.path, env: {}, now: Date.now } as unknown as Parameters<
    typeof toolModels
  >[0];
  const { all, main, small } = await toolModels(context, config, url);
  return { all: all.map(({ id }) => id), main: main?.id, small: small?.id };
}

Deno.test("tools are never set up with a model for embeddings, whatever it is called", async () => {
  await using gateway = listing([
    { id: "house-vectors", kind: "embeddings" },
    { id: "embedded-llm", kind: "generation" },
    { id: "house-vectors-2", kind: "embeddings" },
  ]);
  assertEquals(await modelsAt(gateway.url), {
    all: ["embedded-llm"],
    main: "embedded-llm",
    small: "embedded-llm",
  });
});

Deno.test("a gateway of an earlier version names no kinds: names tell", async () => {
  await using gateway = listing([{ id: "nomic-embed-text" }, { id: "llama3" }]);
  assertEquals((await modelsAt(gateway.url)).all, ["llama3"]);
});

Deno.test("a gateway with nothing but models for embeddings: no model for tools", async () => {
  await using gateway = listing([{ id: "svc-k3", kind: "embeddings" }]);
  assertEquals(await modelsAt(gateway.url), { all: [], main: undefined, small: undefined });
});

Deno.test("without a gateway, the settings tell", async () => {
  const settings = { routes: { e: { kind: "embeddings" } } };
  const { all, main, small } = await modelsAt(undefined, settings);
  assertEquals([all.includes("e"), main, small], [false, "svc-k3", "svc-k2"]);
});
