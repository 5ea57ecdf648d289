import { setBudget } from "../../src/money/ledger/mod.ts";
import { assertEquals } from "../assert.ts";
import { environment, PROGRAM } from "../fake/command.ts";
import { startGateway, type TestGateway } from "../fake/gateway.ts";
import { sluice } from "../fake/shell.ts";
import { until } from "../fake/temp.ts";
import { ENTER, startTerminal, tempHome } from "../fake/terminal.ts";
import { type PlainBrowser, signedIn } from "../fake/visitor.ts";
import { CODEX } from "./codex.ts";

async function approve(browser: PlainBrowser, code: string): Promise<void> {
  const page = `/console/device?code=${code}`;
  const done = await browser.post("/console/device", { code, decision: "approve" }, { from: page });
  assertEquals(done.status, 200);
  await done.body?.cancel();
}

/** How Codex gets its token: lines of its provider's settings, and how somebody signs in. */
const WAYS = [
  {
    way: "the tokens of sluice auth",
    before: async (
      { url }: TestGateway,
      { browser, ...shell }: {
        browser: PlainBrowser;
        directory: string;
        env: Record<string, string>;
      },
    ) => {
      let seen = "";
      const login = sluice(["auth", "login", "--gateway", url], {
        ...shell,
        seen: (text) => seen += text,
      });
      await until(() => seen.includes("Waiting"), { what: "the terminal's code" });
      await approve(browser, /the code ([B-Z]{4}-[B-Z]{4})/.exec(seen)![1]!);
      assertEquals((await login).code, 0);
    },
    provider: () => {
      const args = JSON.stringify([...PROGRAM, "auth", "token"]);
      const command = JSON.stringify(Deno.execPath());
      return [`auth = { command = ${command}, args = ${args}, timeout_ms = 60000 }`];
    },
    shownCode: undefined,
  },
  {
    way: "a sign-in of its own",
    before: async () => {},
    provider: (url: string) => [
      "[model_providers.sluice.gateway_oauth]",
      `authorization_url = "${url}/oauth/authorize"`,
      `device_authorization_url = "${url}/oauth/device_authorization"`,
      `token_url = "${url}/oauth/token"`,
      'client_id = "codex"',
      'scopes = ["inference"]',
      "redirect_port = 14551",
      'credentials_store = "file"',
      'delivery = { kind = "header", name = "Authorization", scheme = "Bearer" }',
    ],
    shownCode: /Sign in to your gateway .* ([B-Z]{4}-[B-Z]{4}) /,
  },
] as const;

for (const { way, before, provider, shownCode } of WAYS) {
  Deno.test(`Codex works with ${way}, is told what is left, and is signed out in the console`, {
    ignore: CODEX === undefined,
  }, async () => {
    await using gateway = await startGateway({
      settings: {
        signIn: {},
        routes: { "svc-k2": { minimum: 10, prices: { input: 0, cached: 0, output: 0 } } },
      },
    });
    const { accounts, database, clock } = gateway.gateway;
    const owner = (await accounts.owner())!;
    await setBudget(database, {
      owner: "account",
      ownerId: owner.id,
      period: "month",
      credits: 100,
    }, { nowMs: clock.now() });
    await using home = await tempHome();
    const work = `${home.path}/work`;
    await Deno.mkdir(`${home.path}/.codex`);
    await new Deno.Command("git", { args: ["init", "--quiet", work] }).output();
    const env = { XDG_STATE_HOME: home.path, SLUICE_DATA: "" };
    const browser = await signedIn(gateway, owner.email);
    await before(gateway, { browser, directory: home.path, env });
    await Deno.writeTextFile(
      `${home.path}/.codex/config.toml`,
      [
        'model = "svc-k2"',
        'model_provider = "sluice"',
        "[features]",
        "plugins = false",
        `[projects.${JSON.stringify(work)}]`,
        'trust_level = "trusted"',
        "[model_providers.sluice]",
        'name = "Sluice"',
        `base_url = "${gateway.url}/v1"`,
        'wire_api = "responses"',
        ...provider(gateway.url),
        "",
      ].join("\n"),
    );
    await using terminal = startTerminal(`${CODEX} --no-daemon`, {
      cwd: work,
      env: environment({ ...env, HOME: home.path, BROWSER: "true" }),
    });
    const enter = async (text: string) => {
      await terminal.type(text);
      await terminal.shows(new RegExp(`› ${text}`));
      await terminal.type(ENTER);
    };
    if (shownCode !== undefined) await approve(browser, (await terminal.shows(shownCode))[1]!);
    await terminal.shows(/Ask Codex to do anything/);
    await enter("say hello");
    await terminal.shows(/say hello .*This reply is simulated.*Worked for/);
    // its screen shows limits only to those who sign in at OpenAI; its session has them
    const limits = await sessionLimits(`${home.path}/.codex/sessions`);
    assertEquals([limits.primary.window_minutes, limits.secondary.window_minutes], [43_200, 1_440]);
    assertEquals(limits.credits.has_credits, true);

    const [token] = await database.all("select key_id from tool_grants");
    const ended = await browser.post(`/console/keys/${token!.key_id}/revoke`, {}, {
      from: "/console/keys",
    });
    await ended.body?.cancel();
    await enter("say more");
    await terminal.shows(/say more .*(?:This API key has been revoked|Sign in to your gateway)/);
  });
}

/** What Codex notes of limits in its sessions, the last of it. */
async function sessionLimits(directory: string) {
  let found = "";
  for await (const { name, isDirectory } of Deno.readDir(directory)) {
    const path = `${directory}/${name}`;
    if (isDirectory) return await sessionLimits(path);
    found += await Deno.readTextFile(path);
  }
  const lines = found.split("\n").filter((line) => line.includes('"rate_limits"'));
  return JSON.parse(lines.at(-1)!).payload.rate_limits;
}
