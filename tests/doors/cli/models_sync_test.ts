import { assert, assertEquals, assertMatch, assertStringIncludes } from "../../assert.ts";
import { sluice } from "../../fake/shell.ts";
import { tempDir } from "../../fake/temp.ts";
import { fakeUpstream } from "../../fake/upstream.ts";

/** An upstream that lists these models. */
function listing(...ids: (string | Record<string, unknown>)[]) {
  return fakeUpstream(() =>
    Response.json({
      object: "list",
      data: ids.map((id) => typeof id === "string" ? { id } : id),
    })
  );
}

Deno.test("models sync: what is listed next to what is served; --write adds what is missing, once", async () => {
  await using plain = listing(
    { id: "llama3", max_model_len: 16_384 },
    "gpt-4o-mini",
    "used-already",
    "nomic-embed-text",
    "bge-reranker-v2-m3",
    "two words",
    "evil\u001b[31m",
    "both",
  );
  await using other = listing("both");
  await using own = listing("qwen3");
  await using claude = listing("text-embedding-x");
  await using silent = fakeUpstream(() => new Response("no", { status: 404 }));
  await using dir = await tempDir();
  const before = `{
  // who replies
  "upstreams": {
    "plain": { "url": "${plain.url}" },
    "other": { "url": "${other.url}" },
    "own": { "url": "${own.url}", "discover": true },
    "claude": { "url": "${claude.url}", "dialect": "messages" },
    "silent": { "url": "${silent.url}" } // lists nothing
  },
  "routes": {
    "house": { "targets": [{ "upstream": "plain", "model": "used-already" }] }, // ours
    "old": { "targets": [{ "upstream": "plain", "model": "retired" }] },
  },
}
`;
  const file = `${dir.path}/sluice.jsonc`;
  await Deno.writeTextFile(file, before);
  const run = (...args: string[]) =>
    sluice(["models", "sync", "--config", file, ...args], { directory: dir.path });

  const shown = await run();
  assertEquals([shown.code, shown.err], [0, ""]);
  assertEquals(await Deno.readTextFile(file), before);
  const rows = JSON.parse((await run("--json")).out);
  const of = (upstream: string, model: string | null) =>
    rows.find((row: Record<string, unknown>) => row.upstream === upstream && row.model === model);
  assertEquals(of("plain", "llama3").adds, "llama3");
  assertEquals(of("plain", "used-already"), {
    upstream: "plain",
    model: "used-already",
    served_as: ["house"],
    note: null,
    adds: null,
  });
  assertEquals(of("plain", "nomic-embed-text").adds, "nomic-embed-text");
  assertStringIncludes(of("plain", "bge-reranker-v2-m3").note, "neither a chat nor an embeddings");
  assertStringIncludes(of("claude", "text-embedding-x").note, "has no embeddings");
  assertStringIncludes(of("plain", "two words").note, "spaces");
  assertEquals([of("plain", "both").adds, of("other", "both").adds], ["plain/both", "other/both"]);
  assertEquals(of("own", "qwen3").served_as, ["qwen3"]);
  assertEquals(of("silent", null).note, "does not list its models (status 404)");
  assertEquals(of("plain", "retired").note, "the upstream does not list it");
  assertEquals(of("plain", "retired").served_as, ["old"]);
  assert(!shown.out.includes("\u001b"), "an upstream's text reached the terminal as it was");
  assertStringIncludes(
    shown.out,
    `To add 5 routes to the settings file: sluice models sync --config '${file}' --write`,
  );

  const written = await run("--write");
  assertEquals([written.code, written.err], [0, ""]);
  assertStringIncludes(written.out, "apply with: sluice reload");
  const after = await Deno.readTextFile(file);
  for (const kept of ["// who replies", "// lists nothing", `"retired" }] },`, "}, // ours"]) {
    assertStringIncludes(after, kept);
  }
  assertStringIncludes(after, `"context": 16384`); // what the upstream lists
  const { code, out } = await sluice(["models", "--json"], { directory: dir.path });
  assertEquals(code, 0);
  const served = JSON.parse(out);
  const mini = served.find(({ id }: { id: string }) => id === "gpt-4o-mini");
  assertEquals([mini.prices.input, mini.images], [150, "remote"]); // what is known of it
  const nomic = served.find(({ id }: { id: string }) => id === "nomic-embed-text");
  assertEquals([nomic.kind, nomic.context, nomic.prices.output], ["embeddings", 2_048, 0]);
  assertEquals((await sluice(["config", "check"], { directory: dir.path })).code, 0);

  const again = await run("--write");
  assertStringIncludes(again.out, "No routes to add.");
  assertEquals(await Deno.readTextFile(file), after);
});

Deno.test("models sync: without upstreams, and with a file that has errors", async () => {
  await using dir = await tempDir();
  const none = await sluice(["models", "sync"], { directory: dir.path });
  assertEquals([none.code, none.out.startsWith("No upstreams are configured")], [0, true]);
  const extra = await sluice(["models", "sink"], { directory: dir.path });
  assertEquals(extra.code, 2);
  await Deno.writeTextFile(`${dir.path}/sluice.jsonc`, `{ "upstreamz": {} }`);
  assertEquals((await sluice(["models", "sync", "--write"], { directory: dir.path })).code, 1);
});

Deno.test("models sync: prices are those of the provider that the settings name, and those that sources do not agree on are said", async () => {
  const models = ["openai/gpt-oss-safeguard-20b", "openai/gpt-oss-120b"];
  await using fake = listing(...models);
  await using dir = await tempDir();
  const file = `${dir.path}/sluice.jsonc`;
  const write = (more: object) =>
    Deno.writeTextFile(
      file,
      JSON.stringify({
        upstreams: { groq: { provider: "groq", url: fake.url, key: "k", ...more } },
      }),
    );
  const run = async (...args: string[]) => {
    const given = [...args, "--json", "--config", file];
    const { code, out, err } = await sluice(given, { directory: dir.path });
    assertEquals([code, err], [0, ""]);
    return JSON.parse(out);
  };
  const disputed = /check the price: input \$0\.15, models\.dev says \$0\.075/;
  await write({ discover: true });
  const [guard, other] = await run("models", "sync");
  assertMatch(guard.note, disputed);
  assertEquals(other.note, null);
  const prices = async () =>
    (await run("models")).filter(({ id }: { id: string }) => models.includes(id)).map((
      { id, prices }: { id: string; prices: unknown },
    ) => [id, prices]);
  const discovered = await prices();
  assertEquals(discovered.length, 2);
  await write({ discover: false });
  const [added] = await run("models", "sync", "--write");
  assertMatch(added.note, disputed);
  assertEquals(await prices(), discovered);
});
