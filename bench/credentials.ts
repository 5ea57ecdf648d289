/**
 * What does an upstream add to the start and the idle memory of a gateway, by its kind of credentials?
 * `deno run -A bench/credentials.ts [ROUNDS [KIND…]]`
 *
 * Starts main.ts by turns without an upstream and with one of each kind, whose models are asked for with a token or a signature of
 * that kind, and measures the time to the first response and the memory after three idle seconds (Linux).
 */

import { generateKeyPairSync } from "node:crypto";
import { median, say, startOnce } from "./harness.ts";

const rounds = Number(Deno.args[0] ?? 5);
const root = new URL("..", import.meta.url).pathname;
const directory = await Deno.makeTempDir({ prefix: "sluice-bench-" });
const asked = new Set<string>();
const server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen() {} }, (request) => {
  const { pathname } = new URL(request.url);
  asked.add(pathname);
  return Response.json(
    pathname.endsWith("/models")
      ? { object: "list", data: [{ id: "m", object: "model" }] }
      : { access_token: "token", token_type: "Bearer", expires_in: 3_600 },
  );
});
const local = `http://127.0.0.1:${server.addr.port}`;
const { privateKey } = generateKeyPairSync("rsa", {
  modulusLength: 2048,
  privateKeyEncoding: { type: "pkcs8", format: "pem" },
  publicKeyEncoding: { type: "spki", format: "pem" },
});
await Deno.writeTextFile(`${directory}/token`, "token");
await Deno.writeTextFile(
  `${directory}/account.json`,
  JSON.stringify({
    type: "service_account",
    project_id: "p",
    client_email: "a@p.iam.gserviceaccount.com",
    private_key: privateKey,
    token_uri: `${local}/token`,
  }),
);
const tokenUrl = `${local}/token`;
const KINDS: Readonly<Record<string, Record<string, unknown> | undefined>> = {
  none: undefined,
  key: { key: "k" },
  command: { credentials: { kind: "command", command: ["/bin/echo", "token"] } },
  file: { credentials: { kind: "file", path: "token" } },
  aws: {
    region: "eu-central-1",
    credentials: { kind: "aws", accessKeyId: "a", secretAccessKey: "s" },
  },
  google: { credentials: { kind: "google", file: "account.json", tokenUrl } },
  azure: { credentials: { kind: "azure", tenant: "t", client: "c", secret: "s", tokenUrl } },
};

const [, ...named] = Deno.args;
const kinds = Object.entries(KINDS).filter(([kind]) =>
  named.length === 0 || ["none", ...named].includes(kind)
);
const measured = new Map(
  kinds.map(([kind]) => [kind, { starts: [] as number[], resident: [] as number[] }]),
);
for (let round = 0; round <= rounds; round++) {
  for (const [kind, upstream] of kinds) {
    asked.clear();
    const upstreams = upstream &&
      { u: { url: `${local}/${kind}/v1`, dialect: "chat", discover: true, ...upstream } };
    const config = `${directory}/${kind}.jsonc`;
    await Deno.writeTextFile(config, JSON.stringify({ upstreams }));
    const { firstMs, ownMb, said } = await startOnce(Deno.execPath(), {
      args: ["run", "--v8-flags=--expose-gc", "--allow-all", "main.ts", "--port", "0"].concat(
        ["--config", config, "--data", `${directory}/${kind}`],
      ),
      cwd: root,
      env: { SLUICE_LOG: "json" },
    });
    if (upstream !== undefined && !asked.has(`/${kind}/v1/models`)) {
      throw new Error(`${kind}: its models were not asked for (${[...asked].join(", ")})\n${said}`);
    }
    if (round === 0) continue; // it makes the database
    measured.get(kind)!.starts.push(firstMs);
    measured.get(kind)!.resident.push(ownMb);
  }
}
await server.shutdown();
await Deno.remove(directory, { recursive: true });
const none = measured.get("none")!;
for (const [kind, { starts, resident }] of measured) {
  const [start, memory] = [median(starts), median(resident)];
  say(
    `  ${kind.padEnd(8)} first response ${start.toFixed(0)} ms (${
      (start - median(none.starts)).toFixed(0)
    }), idle ${memory.toFixed(1)} MB of its own (${(memory - median(none.resident)).toFixed(1)})`,
  );
}
