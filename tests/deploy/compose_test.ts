/** The files of Compose: services that fit together, and settings that the program takes. */

import { parse } from "yaml";
import { Catalog } from "../../src/settings/catalog/mod.ts";
import { loadConfig } from "../../src/settings/config/mod.ts";
import { assert, assertEquals } from "../assert.ts";
import { tempDir } from "../fake/temp.ts";

const DEPLOY = new URL("../../deploy/", import.meta.url);
const files = [["compose.yaml", 1], ["compose.postgres.yaml", 3]] as const;

interface Service {
  readonly image?: string;
  readonly build?: { readonly context: string; readonly dockerfile: string };
  readonly environment?: Readonly<Record<string, string>>;
  readonly volumes: readonly string[];
  readonly expose?: readonly string[];
  readonly depends_on?: readonly string[] | Readonly<Record<string, unknown>>;
}

/** What Compose makes of `${NAME}` and `${NAME:?why}`. */
function filledIn(text: string): string {
  return text.replace(/\$\{(\w+)(?::\?[^}]*)?\}/g, (_, name) => `${name.toLowerCase()}.example`);
}

for (const [file, count] of files) {
  Deno.test(`${file}: gateways have directories of their own, Caddy reaches each, and their settings are taken`, async () => {
    const text = filledIn(await Deno.readTextFile(new URL(file, DEPLOY)));
    const { services, volumes } = parse(text, { merge: true }) as {
      services: Record<string, Service>;
      volumes: Record<string, null>;
    };
    const gateways = Object.entries(services).filter(([, { build }]) => build !== undefined);
    assertEquals(gateways.length, count);
    const data = gateways.map(([, service]) =>
      service.volumes.find((one) => one.endsWith(":/data"))
    );
    assertEquals(new Set(data).size, count, "a data directory is one gateway's");
    for (const [name, service] of Object.entries(services)) {
      for (const volume of service.volumes) {
        const [from = ""] = volume.split(":");
        if (!from.startsWith(".")) assert(from in volumes, `${name}: ${from}`);
        else if (from !== "./sluice.jsonc") await Deno.stat(new URL(from, DEPLOY));
      }
      const needed = service.depends_on ?? [];
      for (const other of Array.isArray(needed) ? needed : Object.keys(needed)) {
        assert(other in services, `${name} needs ${other}`);
      }
    }
    for (const [name, { environment = {}, build }] of gateways) {
      await Deno.stat(new URL(build!.dockerfile, new URL(`${build!.context}/`, DEPLOY)));
      await using dir = await tempDir();
      const { SLUICE_CONFIG: _, ...env } = environment;
      const { settings, warnings } = await loadConfig({ env, directory: dir.path });
      assertEquals([name, warnings], [name, []]);
      const { url, token } = settings.database;
      if (url === undefined) continue;
      const { hostname, username } = new URL(url);
      assert(hostname in services, `${name} looks for its database at ${hostname}`);
      assertEquals(services[hostname]!.environment, {
        POSTGRES_INITDB_ARGS: "--locale=C --encoding=UTF8",
        POSTGRES_USER: username,
        POSTGRES_PASSWORD: token!.reveal(),
      });
    }
    const [caddyfile = ""] = services.caddy!.volumes[0]!.split(":");
    const proxied = /^\s*reverse_proxy (.*) \{$/m
      .exec(await Deno.readTextFile(new URL(caddyfile, DEPLOY)))![1]!.split(" ");
    assertEquals(proxied, gateways.map(([name, { expose }]) => `${name}:${expose![0]}`));
  });
}

Deno.test("every command of Compose on the pages finds the variables that its file needs", async () => {
  const DOCS = new URL("../docs/", DEPLOY);
  for (const [page, file] of [["operator.md", files[0][0]], ["scaling.md", files[1][0]]] as const) {
    const text = await Deno.readTextFile(new URL(file, DEPLOY));
    const needed = [...text.matchAll(/\$\{(\w+):\?/g)].map(([, name]) => name!);
    assert(needed.length > 0);
    const blocks = (await Deno.readTextFile(new URL(page, DOCS))).split("```")
      .filter((block) => block.includes(`docker compose -f deploy/${file}`));
    assertEquals(blocks.length, 1, page);
    const commands = blocks[0]!.split("\n").filter((line) => line.startsWith("$ "));
    for (const name of needed) {
      const written = commands.findIndex((line) =>
        line.includes(`${name}=`) && line.endsWith(">deploy/.env")
      );
      const used = commands.findIndex((line) => line.includes("docker compose"));
      assert(written >= 0 && written < used, `${page}: ${name} is not in deploy/.env`);
    }
    const ignored = await Deno.readTextFile(new URL("Dockerfile.dockerignore", DEPLOY));
    for (const secret of ["deploy/.env", "deploy/environment"]) assert(ignored.includes(secret));
  }
});

Deno.test("sluice.jsonc asks its upstream for no model that only the simulator has", async () => {
  const { settings } = await loadConfig({
    env: { MOONSHOT_API_KEY: "sk-test" },
    directory: Deno.cwd(),
    file: new URL("sluice.jsonc", DEPLOY).pathname,
  });
  const asked = Object.entries(settings.upstreams).filter(([, { discover }]) => discover);
  const { routes } = new Catalog(
    settings,
    new Map(asked.map(([name]) => [name, [{ id: "kimi-k3" }]])),
  );
  assertEquals(routes.flatMap(({ targets }) => targets.map(({ model }) => model)), [
    "kimi-k3",
    "kimi-k3",
  ]);
});
