import { assert, assertEquals } from "../assert.ts";
import { generateServer } from "../fake/generate.ts";
import { startGateway, type TestGateway, usageRecords } from "../fake/gateway.ts";
import { until } from "../fake/temp.ts";
import { type SimulateServer, simulateServer } from "../fake/simulate.ts";
import { testSeed } from "../fake/random.ts";
import { isProof } from "../tier.ts";

/** What a client does, and what it must see; the upstream is there where a socket leads to it. */
export type Scenarios = Readonly<
  Record<string, (gateway: TestGateway, upstream: SimulateServer | undefined) => Promise<void>>
>;

const WAYS = {
  "in-process simulator": undefined,
  "sluice simulate, chat": "chat",
  "sluice simulate, messages": "messages",
  "sluice simulate, responses": "responses",
  "sluice simulate, behind generate": "generate",
} as const;

/** What an upstream of a dialect cannot do, whatever the client. */
const IMPOSSIBLE: Readonly<Record<string, RegExp>> = {
  responses: /stop sequence/,
  generate: /^anthropic SDK stops at a stop sequence/, // it does not say which was met
};

/**
 * Runs the same scenarios for each way in which a gateway can reach the simulated upstream: in the proofs all of them, in the
 * gate half of them for each way and two ways for each scenario, others each time.
 */
export function onEveryPairing(client: string, scenarios: Scenarios): void {
  const seed = testSeed();
  for (const [number, [way, dialect]] of Object.entries(WAYS).entries()) {
    const isDrawn = (at: number) => isProof || (seed + at + number) % 2 === 0;
    Deno.test(`${client} against the ${way}`, async (t) => {
      await using stack = new AsyncDisposableStack();
      const upstream = dialect === undefined
        ? undefined
        : stack.use(dialect === "generate" ? generateServer() : simulateServer());
      const settings = upstream === undefined ? {} : { upstream: { url: upstream.url, dialect } };
      const gateway = stack.use(await startGateway({ settings }));
      for (const [at, [name, scenario]] of Object.entries(scenarios).entries()) {
        const ignore = IMPOSSIBLE[dialect ?? ""]?.test(`${client} ${name}`) ?? false;
        if (!isDrawn(at)) continue;
        const seeded = isProof ? name : `${name} (SLUICE_TEST_SEED=${seed})`;
        await t.step({ name: seeded, ignore, fn: () => scenario(gateway, upstream) });
      }
    });
  }
}

const call = (name: string) => `[[call ${name} {"city":"Paris"}]]`;

/** A question that the simulator replies to with one tool call, and with two. */
export const ONE = `What is the weather in Paris? ${call("get_weather")}`;
export const BOTH = `The weather and population of Paris? ${call("get_weather")} ${
  call("get_population")
}`;

const png = await Deno.readFile(new URL("../requests/images/files/rgb.png", import.meta.url));

/** A PNG of 48 × 32 pixels. */
export const PNG_BASE64 = btoa(String.fromCharCode(...png));

/** A client that leaves after some events of a stream: the upstream is cancelled, what was heard is recorded. */
export async function leaves(
  gateway: TestGateway,
  start: (signal: AbortSignal) => Promise<AsyncIterable<unknown>>,
): Promise<void> {
  const before = (await usageRecords(gateway)).length;
  const leave = new AbortController();
  const stream = await start(leave.signal);
  let events = 0;
  try {
    for await (const _ of stream) if (++events === 12) leave.abort();
  } catch (error) {
    assert(leave.signal.aborted, `${error}`);
  }
  assert(events >= 12 && events < 100, `${events} events`);
  await until(async () => (await usageRecords(gateway)).length > before);
  const record = (await usageRecords(gateway)).at(-1)!;
  // it is read on for its usage
  assertEquals([record.ending, record.usage_source], ["client_left", "upstream"]);
  assert(Number(record.output_tokens) > events, `${record.output_tokens} tokens`);
}

/** Assistant turns of a request of any dialect that have their reasoning with them. */
// deno-lint-ignore no-explicit-any -- a body as it was sent
export function reasonedTurns({ messages, input, contents }: any): number {
  // Gemini wants the signatures of its thoughts back, and no text
  if (contents !== undefined) return contents.filter(isSigned).length;
  // deno-lint-ignore no-explicit-any -- a message or an item of any dialect
  return (messages ?? input).filter(({ reasoning_content: own, content, type }: any) =>
    type === "reasoning" || typeof own === "string" && own !== "" ||
    // deno-lint-ignore no-explicit-any -- a block of the messages dialect
    Array.isArray(content) && content.some(({ type }: any) => type === "thinking")
  ).length;
}

// deno-lint-ignore no-explicit-any -- a content of the generate dialect
function isSigned({ role, parts }: any): boolean {
  const none = "skip_thought_signature_validator";
  // deno-lint-ignore no-explicit-any -- a part of it
  const has = ({ thoughtSignature: own }: any) => own !== undefined && own !== none;
  return role === "model" && parts.some(has);
}
