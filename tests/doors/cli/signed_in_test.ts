/** `sluice run` and `sluice env` use the gateway that this user is signed in to. */

import { AuthStore } from "../../../src/doors/cli/auth_store.ts";
import { CODING_TOOLS } from "../../../src/doors/cli/coding_tools.ts";
import { ToolGrants } from "../../../src/people/accounts/mod.ts";
import { assert, assertEquals, assertStringIncludes } from "../../assert.ts";
import { homeIn, NO_GATEWAY } from "../../fake/command.ts";
import { startGateway } from "../../fake/gateway.ts";
import { sluice } from "../../fake/shell.ts";
import { tempDir } from "../../fake/temp.ts";

Deno.test("programs use the gateway that this user is signed in to, with a token; a place or an account that is named wins", async () => {
  await using gateway = await startGateway({ settings: { signIn: {} } });
  await using home = await tempDir();
  const directory = home.path;
  const env = { ...homeIn(directory), ...NO_GATEWAY, PATH: Deno.env.get("PATH") ?? "" };
  const run = (...args: string[]) => sluice(args, { env, directory });
  const { accounts, database, sealKey } = { ...gateway.gateway, sealKey: new Uint8Array(32) };
  const owner = (await accounts.owner())!;
  const grants = new ToolGrants({ database, now: Date.now, key: () => Promise.resolve(sealKey) });
  const tokens = await grants.issue(owner, "sluice auth");
  await new AuthStore({ env, directory }).write(gateway.url, {
    accessToken: tokens.accessToken,
    refreshToken: tokens.refreshToken,
    expiresAtMs: Date.now() + 3_600_000,
    email: owner.email,
  });

  const printed = await run("env", "--json");
  assertEquals(printed.code, 0, printed.err);
  assertStringIncludes(printed.err, `using ${gateway.url}, signed in as ${owner.email}`);
  const all = JSON.parse(printed.out);
  assertEquals([all.OPENAI_BASE_URL, all.OPENAI_API_KEY], [
    `${gateway.url}/v1`,
    tokens.accessToken,
  ]);
  const ran = await run("run", "--", "sh", "-c", "echo $ANTHROPIC_BASE_URL; exit 3");
  assertEquals([ran.code, ran.out], [3, `${gateway.url}\n`], ran.err);
  const none = await run("run", "--", "no-such-program");
  assertStringIncludes(none.err, "program not found");
  const state = await Array.fromAsync(
    Deno.readDir(`${directory}/state/sluice`),
    ({ name }) => name,
  );
  assertEquals(state, ["auth.json"], "no database is made");

  const local = await run("env", "--json", "--data", `${directory}/own`, "--create");
  assertEquals(local.code, 0, local.err);
  assert(!local.out.includes(tokens.accessToken) && !local.out.includes(gateway.url));

  await grants.revoke(tokens.refreshToken);
  await new AuthStore({ env, directory }).write("http://127.0.0.1:1", {
    accessToken: tokens.accessToken,
    refreshToken: tokens.refreshToken,
    expiresAtMs: Date.now() + 3_600_000,
  });
  const away = await run("env");
  assertEquals(away.code, 1);
  assertStringIncludes(away.err, "cannot be reached: sign out with sluice auth logout");
});

Deno.test("tools that can ask for another token are told how, by words that a shell takes as they are", () => {
  const gateway = {
    url: "http://127.0.0.1:9999",
    key: "sk-of-an-hour",
    models: { all: [] },
    renewal: ["/opt/a b/sluice", "auth", "token", "--gateway", "http://127.0.0.1:9999"],
  };
  const [claude, codex] = ["Claude Code", "Codex"].map((title) =>
    CODING_TOOLS.find((one) => one.title === title)!
  );
  const settings = JSON.parse(claude!.file!.content(gateway));
  assertEquals(
    settings.apiKeyHelper,
    "'/opt/a b/sluice' 'auth' 'token' '--gateway' 'http://127.0.0.1:9999'",
  );
  assertEquals(settings.env.ANTHROPIC_AUTH_TOKEN, "");
  assert(!JSON.stringify(settings.env.ANTHROPIC_API_KEY).includes("sk-"));
  const args = codex!.setUp(gateway, "").args!.flatMap((one) => one.args).join("\n");
  assertStringIncludes(args, 'model_providers.sluice.auth.command="/opt/a b/sluice"');
  assertStringIncludes(args, 'auth.args=["auth","token","--gateway","http://127.0.0.1:9999"]');
  assert(!args.includes("env_key"));
});
