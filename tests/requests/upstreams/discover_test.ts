/** Upstreams that are there to be used: services by their keys, and servers on this machine that list models. */

import { discoverUpstreams } from "../../../src/requests/upstreams/mod.ts";
import type { Preset } from "../../../src/requests/upstreams/presets.ts";
import { assert, assertEquals } from "../../assert.ts";

Deno.test("a local server is there if it lists models; a service if the environment has its key, and it is not asked", async () => {
  await using server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen() {} },
    ({ url }) => {
      const [, name] = new URL(url).pathname.split("/");
      const list = name === "empty" ? [] : [{ id: "m" }];
      return Response.json({ data: list }, { status: name === "refuses" ? 401 : 200 });
    },
  );
  const at = (name: string, port = server.addr.port): Preset => ({
    name,
    title: name,
    url: `http://127.0.0.1:${port}/${name}`,
    dialect: "chat",
    source: "",
  });
  const localServers = [at("lists"), at("empty"), at("refuses"), at("away", 1)];
  const discover = (env: Record<string, string>) =>
    discoverUpstreams({ env, now: () => 0, localServers });
  const local = { preset: localServers[0], models: [{ id: "m" }] };
  assertEquals(
    (await discover({})).map(({ preset, models }) => ({
      preset,
      models: models.map(({ id }) => ({ id })),
    })),
    [local],
  );
  const [service, ...others] = await discover({ OPENAI_API_KEY: "k" });
  assertEquals([service!.preset.keyVariable, service!.models, others.length], [
    "OPENAI_API_KEY",
    [],
    1,
  ]);
  assert(service!.preset.url.startsWith("https://"));
});
