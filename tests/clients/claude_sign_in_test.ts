import type { SettingsInput } from "../../src/settings/config/mod.ts";
import { setBudget } from "../../src/money/ledger/mod.ts";
import { assert, assertEquals } from "../assert.ts";
import { environment } from "../fake/command.ts";
import { startGateway, statusOf, type TestGateway } from "../fake/gateway.ts";
import { until } from "../fake/temp.ts";
import { ENTER, ESCAPE, startTerminal, tempHome, type Terminal, UP } from "../fake/terminal.ts";
import { type PlainBrowser, signedIn } from "../fake/visitor.ts";

/** The program, as for `claude_code_test.ts`. */
const claude = Deno.env.get("CLAUDE_CODE");

/** Each request costs ten credits, which are ten cents; only the settings that the gateway gives name a model that it serves by itself. */
const settings = (collector: string): SettingsInput => ({
  signIn: {
    managedSettings: { all: { model: "claude-svc-k2" } },
    telemetry: { url: collector },
  },
  credits: { perUsd: 100 },
  aliases: { "claude-*": "svc-k3" },
  routes: {
    "svc-k2": { minimum: 10, prices: { input: 0, cached: 0, output: 0 } },
    "svc-k3": { minimum: 10, prices: { input: 0, cached: 0, output: 0 } },
  },
});

/** Starts it in a home of its own, whose settings name the gateway to sign in to, as an operator sets up machines. */
async function start({ url }: TestGateway, home: string): Promise<Terminal> {
  const work = `${home}/work`;
  const write = (name: string, value: unknown) =>
    Deno.writeTextFile(`${home}/${name}`, JSON.stringify(value));
  await Deno.mkdir(work, { recursive: true });
  await Deno.mkdir(`${home}/.claude`, { recursive: true });
  await write(".claude/settings.json", {
    forceLoginMethod: "gateway",
    forceLoginGatewayUrl: url,
  });
  await write(".claude.json", {
    hasCompletedOnboarding: true,
    theme: "dark",
    projects: { [work]: { hasTrustDialogAccepted: true, hasCompletedProjectOnboarding: true } },
  });
  const env = environment({
    HOME: home,
    IS_SANDBOX: "1",
    BROWSER: "true",
    DISABLE_AUTOUPDATER: "1",
  });
  const terminal = startTerminal(claude!, {
    cwd: work,
    env: {
      ...Object.fromEntries(
        Object.entries(env).filter(([name]) => !/^(?:ANTHROPIC|CLAUDE)/.test(name)),
      ),
      CLAUDE_CODE_ENABLE_TELEMETRY: "1",
      OTEL_LOGS_EXPORTER: "otlp",
      OTEL_METRICS_EXPORTER: "otlp",
      OTEL_EXPORTER_OTLP_PROTOCOL: "http/protobuf",
      OTEL_LOGS_EXPORT_INTERVAL: "500",
      OTEL_METRIC_EXPORT_INTERVAL: "500",
    },
  });
  await terminal.shows(/Not logged in/);
  return terminal;
}

/** Notes which telemetry came, and from which account's resource. */
function telemetryCollector() {
  const received: string[] = [];
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, async (request) => {
    const text = await request.text();
    const [id] = /acc_\w+/.exec(text) ?? [];
    received.push(`${new URL(request.url).pathname} of ${id}`);
    return new Response();
  });
  return {
    url: `http://127.0.0.1:${server.addr.port}`,
    received: () => received,
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
}

async function enter(terminal: Terminal, text: string): Promise<void> {
  await terminal.type(text);
  await terminal.shows(new RegExp(`❯ ${text}`));
  await terminal.type(ENTER);
}

/** Signs in by a code, which somebody approves in the console. The tool asks whether gateway and account are the right ones. */
async function signIn(
  terminal: Terminal,
  browser: PlainBrowser,
  { isTrusted = false } = {},
): Promise<void> {
  await enter(terminal, "/login");
  await terminal.shows(/Enter to connect/);
  await terminal.type(ENTER);
  if (!isTrusted) await confirm(terminal, /Trust gateway .* No, cancel login/);
  const [, code] = await terminal.shows(/([B-Z]{4}-[B-Z]{4})/);
  const page = `/console/device?code=${code}`;
  const done = await browser.post("/console/device", { code: code!, decision: "approve" }, {
    from: page,
  });
  assertEquals(done.status, 200);
  await done.body?.cancel();
  await confirm(terminal, /as owner@localhost .* No, cancel login/);
  await terminal.shows(/Press Enter/);
  await terminal.type(ENTER);
  await terminal.shows(/Login successful|· Cloud gateway .*auto mode on/);
}

async function confirm(terminal: Terminal, shown: RegExp): Promise<void> {
  await terminal.shows(shown);
  await terminal.type(UP);
  await terminal.type(ENTER);
}

Deno.test(
  "Claude Code signs in, works by the settings it is given, shows its budget and meets it, is signed out in the console, and signs out",
  {
    ignore: claude === undefined,
  },
  async () => {
    await using collector = telemetryCollector();
    await using gateway = await startGateway({ settings: settings(collector.url) });
    const { accounts, database, clock } = gateway.gateway;
    const owner = (await accounts.owner())!;
    const budget = (credits: number) =>
      setBudget(database, { owner: "account", ownerId: owner.id, period: "month", credits }, {
        nowMs: clock.now(),
      });
    await budget(200);
    const browser = await signedIn(gateway, owner.email);
    await using home = await tempHome();
    await using terminal = await start(gateway, home.path);
    await signIn(terminal, browser);

    // besides what somebody types, it sends requests of its own
    const { spent } = await budget(200);
    for (let all = spent; all < 150; all += 10) {
      assertEquals(await statusOf(gateway.chat("Hi", { model: "svc-k2" })), 200);
    }
    await enter(terminal, "say hello");
    await terminal.shows(/say hello .*This reply is simulated/);
    await terminal.shows(/used [789]\d% of your /);
    await enter(terminal, "/usage");
    await terminal.shows(/\/ ?\$2\.00 ?spent ?this ?month · Resets/);
    await terminal.type(ESCAPE);
    const left = await budget(200);
    for (let all = left.spent; all < 200; all += 10) {
      await statusOf(gateway.chat("Hi", { model: "svc-k2" }));
    }
    await enter(terminal, "say more");
    await terminal.shows(
      /say more .*The monthly budget of this account does not cover this request, .*It renews at .*Raise the budget\./,
    );
    const models = await database.all("select distinct route from usage_records");
    assert(models.some(({ route }) => route === "svc-k2"), "the model of the managed settings");
    for (const signal of ["/v1/logs", "/v1/metrics"]) {
      await until(() => collector.received().includes(`${signal} of ${owner.id}`), {
        what: signal,
      });
    }

    await budget(10_000);
    await enter(terminal, "say again");
    await terminal.shows(/say again .*This reply is simulated/);
    const keyOf = async () =>
      (await database.one(
        "select keys.id, revoked_at_ms from keys join tool_grants on key_id = keys.id order by created_at_ms desc",
      ))!;
    const { id } = await keyOf();
    const ended = await browser.post(`/console/keys/${id}/revoke`, {}, { from: "/console/keys" });
    await ended.body?.cancel();
    assert((await keyOf()).revoked_at_ms !== null, "ended in the console");
    await enter(terminal, "say nothing");
    await terminal.shows(/Please run \/login · API Error: 401 This API key has been revoked/);

    await signIn(terminal, browser, { isTrusted: true });
    await enter(terminal, "say it at last");
    await terminal.shows(/say it at last .*This reply is simulated/);
    await enter(terminal, "/logout");
    await terminal.shows(/logged out/);
    await until(async () => (await keyOf()).revoked_at_ms !== null, { what: "the sign-out" });
    assert((await keyOf()).id !== id);
  },
);
