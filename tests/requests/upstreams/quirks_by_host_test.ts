/** Quirks that nobody set: by the host name of a known service, and from the environment. */

import { loadConfig } from "../../../src/settings/config/mod.ts";
import { knownProviders } from "../../../src/settings/known_providers/mod.ts";
import { configuredUpstreams } from "../../../src/requests/upstreams/mod.ts";
import { assertEquals } from "../../assert.ts";
import { startGateway } from "../../fake/gateway.ts";
import { tempDir } from "../../fake/temp.ts";
import { completion, fakeUpstream } from "../../fake/upstream.ts";
import { sluice } from "../../fake/command.ts";

async function quirksOf(url: string, more: Record<string, string> = {}) {
  await using directory = await tempDir();
  const env = { SLUICE_UPSTREAM_URL: url, ...more };
  const { settings } = await loadConfig({ env, directory: directory.path });
  return configuredUpstreams(settings).default!.quirks;
}

Deno.test("each known service is known by its host name, in its dialect, however it is written", async () => {
  const known = knownProviders().filter(({ quirks, url }) =>
    quirks !== undefined && !url.includes("{")
  );
  for (const { url, dialect, quirks, otherHosts } of known) {
    const own = { SLUICE_UPSTREAM_DIALECT: dialect };
    assertEquals(await quirksOf(url, own), quirks);
    const { hostname } = new URL(url);
    for (
      const host of [
        hostname,
        hostname.toUpperCase(),
        `${hostname}.`,
        `${hostname}:8443`,
        ...otherHosts,
      ]
    ) {
      assertEquals(await quirksOf(`https://${host}/anything`, own), quirks, host);
    }
    const other = dialect === "chat" ? "messages" : "chat";
    assertEquals(await quirksOf(url, { SLUICE_UPSTREAM_DIALECT: other }), undefined);
    const inResponses = await quirksOf(url, { SLUICE_UPSTREAM_DIALECT: "responses" });
    assertEquals(inResponses, quirks === "openai" ? "openai" : undefined);
    for (const host of [`x${hostname}`, `${hostname}.example`, `eu.${hostname}`]) {
      assertEquals(await quirksOf(`https://${host}/v1`, own), undefined, host);
    }
  }
  for (const url of ["http://127.0.0.1:11434/v1", "http://[::1]:8000/v1", "http://localhost/v1"]) {
    assertEquals(await quirksOf(url), undefined);
  }
});

Deno.test("a customer's own host at a cloud is known by the rest of its name", async () => {
  for (
    const [url, dialect, quirks] of [
      ["https://acme.openai.azure.com/openai/v1", "chat", "azure"],
      ["https://acme.openai.azure.com/openai?api-version=2024-10-21", "responses", "azure"],
      ["https://acme.services.ai.azure.com/anthropic/v1", "messages", "anthropic"],
      ["https://bedrock-runtime.eu-central-1.amazonaws.com", "messages", "bedrock-anthropic"],
      ["https://bedrock-runtime.eu-central-1.amazonaws.com/openai/v1", "chat", undefined],
      ["https://europe-west1-aiplatform.googleapis.com/v1/x", "generate", "vertex-gemini"],
      ["https://openai.azure.com/openai/v1", "chat", undefined],
      ["https://a.b.openai.azure.com/openai/v1", "chat", undefined],
      ["https://acme.openai.azure.com.example/v1", "chat", undefined],
      ["https://acme.example/ai-gateway/mlflow/v1", "chat", undefined],
    ] as const
  ) {
    assertEquals(await quirksOf(url, { SLUICE_UPSTREAM_DIALECT: dialect }), quirks, url);
  }
});

Deno.test("what is set wins over the host name, none included", async () => {
  const openai = "https://api.openai.com/v1";
  for (const quirks of ["none", "vllm"] as const) {
    assertEquals(await quirksOf(openai, { SLUICE_UPSTREAM_QUIRKS: quirks }), quirks);
  }
});

Deno.test("upstreams of the file are known by their host names, too; the environment's comes first", async () => {
  await using directory = await tempDir();
  await Deno.writeTextFile(
    `${directory.path}/sluice.jsonc`,
    JSON.stringify({
      upstreams: {
        a: { url: "https://api.deepseek.com/v1" },
        b: { url: "https://api.deepseek.com/v1", quirks: "none" },
      },
    }),
  );
  const env = { SLUICE_UPSTREAM_URL: "http://127.0.0.1:1/v1" };
  const { settings } = await loadConfig({ env, directory: directory.path });
  const quirks = Object.entries(configuredUpstreams(settings)).map((
    [name, one],
  ) => [name, one.quirks]);
  assertEquals<unknown>(quirks, [["default", undefined], ["a", "deepseek"], ["b", "none"]]);
  const { out } = await sluice(["config", "show", "--json"], { directory: directory.path });
  const shown = JSON.parse(out) as { path: string; value: string; origin: string }[];
  const row = shown.filter(({ path }) => path.endsWith(".quirks"));
  assertEquals(row.map(({ path, value, origin }) => [path, value, origin]), [
    ["upstreams.b.quirks", "none", "file sluice.jsonc"],
    ["upstreams.a.quirks", "deepseek", "host name"],
  ]);
});

Deno.test("SLUICE_UPSTREAM_QUIRKS: the environment's upstream is sent what its service takes", async () => {
  await using upstream = fakeUpstream(() => completion("ok"));
  await using gateway = await startGateway({
    env: { SLUICE_UPSTREAM_URL: upstream.url, SLUICE_UPSTREAM_QUIRKS: "moonshot" },
  });
  await (await gateway.chat("Hi", { temperature: 1, max_tokens: 50 })).body?.cancel();
  assertEquals(Object.keys(upstream.received.at(-1)!.body).sort(), [
    "max_completion_tokens",
    "messages",
    "model",
  ]);
});
