import { grantStatements, newLotId, settle } from "../../src/ledger/mod.ts";
import { newRequestId } from "../../src/platform/ids.ts";
import type { SettingsInput } from "../../src/config/mod.ts";
import type { TestGateway } from "../fake/gateway.ts";

const DAY_MS = 86_400_000;

/** A name of 120 characters. */
export const LONG_NAME = `organisation.${"very-long-model-name.".repeat(5)}0-latest`.padEnd(
  120,
  "9",
);

/** Settings with many models, one of them with a long name. */
export const RICH_SETTINGS: SettingsInput = {
  consoleComponents: true,
  tiers: [{ above: 0, minute: 500, hour: 15_000, day: 100_000 }],
  routes: Object.fromEntries(
    [LONG_NAME, ...Array.from({ length: 12 }, (_, at) => `model-${at + 1}`)]
      .map((id) => [id, {
        targets: [{ upstream: "simulator", model: id }],
        prices: { input: 1_200, cached: 300, output: 12_345 },
      }]),
  ),
};

/** What a gateway with much in it was filled with. */
export interface RichData {
  readonly email: string;
  readonly accountId: string;
  readonly requestId: string;
}

/** Fills a gateway with keys of long names and two months of requests for many models. */
export async function fillRichly(
  { gateway: parts }: TestGateway,
  { requests = 240, keys = 12 } = {},
): Promise<RichData> {
  const email = "ada.with-a-rather-long-address@department.of.example.com";
  const account = await parts.registration.register({ email, name: "Ada Lovelace of Example" });
  await parts.database.batch(grantStatements({
    lotId: newLotId(),
    accountId: account.id,
    source: "grant",
    note: `For the department of ${LONG_NAME}`,
    credits: 20_000,
    expiresAtMs: null,
    atMs: Date.now() - 60 * DAY_MS,
  }));
  await parts.sales.sell(account, parts.sales.package("standard"), { paid: true });
  const made = [];
  for (let index = 0; index < keys; index++) {
    const name = index === 0 ? LONG_NAME.replaceAll("model", "key") : `laptop ${index}`;
    made.push(
      await parts.keys.issue(account, {
        name,
        ...(index % 3 === 0 ? { budgetCredits: 5_000, models: [LONG_NAME, "model-1"] } : {}),
      }),
    );
  }
  const models = Object.keys(RICH_SETTINGS.routes!);
  const now = Date.now();
  let requestId = "";
  for (let index = 0; index < requests; index++) {
    const wave = 1 + Math.sin(index / 9);
    const startedAtMs = now - 60_000 - Math.floor(58 * DAY_MS * (1 - (index + 1) / requests));
    requestId = newRequestId(startedAtMs);
    const failed = index % 17 === 0;
    await settle(parts.database, {
      requestId,
      accountId: account.id,
      keyId: made[index % 4 === 0 ? 0 : index % keys]!.id,
      dialect: index % 2 === 0 ? "messages" : "chat",
      route: models[index % 3 === 0 ? 0 : index % models.length]!,
      upstream: "moonshot",
      upstreamModel: "kimi-k3",
      attempts: failed ? 2 : 1,
      status: failed ? 503 : 200,
      ending: failed ? "upstream_failed" : "complete",
      streamed: index % 2 === 0,
      usageSource: failed ? null : "upstream",
      inputTokens: failed ? 0 : tokensOf(wave).input,
      cachedTokens: failed ? 0 : tokensOf(wave).cached,
      outputTokens: failed ? 0 : tokensOf(wave).output,
      reasoningTokens: 0,
      startedAtMs,
      firstTokenMs: failed ? null : 320 + index % 90,
      durationMs: failed ? 60 : 900 + Math.round(17_000 * wave),
      priceCredits: failed ? 0 : priceOf(wave),
      ignored: index % 2 === 0 ? "top_k, thinking" : "",
      prices: failed ? null : PRICES,
      ...(failed
        ? {
          failure: {
            reason: "upstream_unavailable",
            message: "No upstream is available for this model. Try again later.",
          },
          attemptList: ATTEMPTS,
        }
        : {}),
      admittedAtMs: startedAtMs,
      settledAtMs: startedAtMs + 2_000,
    });
  }
  return { email, accountId: account.id, requestId };
}

const PRICES = { input: 10, cached: 2, output: 40, minimum: 1 };
const ATTEMPTS = [
  { upstream: "moonshot", model: "kimi-k3", key: "key 1", outcome: "status 503", durationMs: 22 },
  { upstream: "moonshot", model: "kimi-k3", key: "key 2", outcome: "timed out", durationMs: 31 },
];

function tokensOf(wave: number) {
  return {
    input: Math.round(40_000 + 300_000 * wave),
    cached: Math.round(10_000 + 100_000 * wave),
    output: Math.round(800 + 5_000 * wave),
  };
}

function priceOf(wave: number): number {
  const { input, cached, output } = tokensOf(wave);
  const millionths = (input - cached) * PRICES.input + cached * PRICES.cached +
    output * PRICES.output;
  return Math.max(PRICES.minimum, Math.ceil(millionths / 1e6));
}
