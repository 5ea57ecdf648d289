/** The files of Compose: services that fit together, and settings that the program takes. */

import { parse } from "yaml";
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
