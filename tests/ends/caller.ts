import { DIALECTS, type JsonObject } from "../../src/wire/dialects/mod.ts";
import type { TestGateway } from "../fake/gateway.ts";
import { Random } from "../fake/random.ts";
import { HALF_CLOSED_MS, isSlow, type Plan, STEADY_MS, turnsOf } from "./plan.ts";
import { Reading, type Taken } from "./reading.ts";
import { Session } from "./session.ts";
import { numbersIn, randomWords } from "./words.ts";

/** Output limit of a messages request that is to have none: the dialect demands one. */
const AMPLE_TOKENS = 2_000;

/** The model that a plan asks for. */
export function modelOf({ back, end, limit, mayReason }: Plan): string {
  const timing = limit === "totalMs" ? "total" : end === "stalls" ? "stall" : "plain";
  return `${back}-${timing}-${mayReason ? "reasons" : "plain"}`;
}

/** The request of a plan. The upstream knows the plan by the number in its prompt. */
export function bodyOf(plan: Plan): JsonObject {
  const { front, stream, maxTokens, choices, logprobs, promptWords, wantsSummary } = plan;
  const random = new Random(plan.number);
  const content = `#${plan.number}#${randomWords(random, promptWords)}`;
  const model = modelOf(plan);
  switch (front) {
    case "chat":
      return {
        model,
        stream,
        messages: [{ role: "user", content }],
        ...(maxTokens === undefined ? {} : { max_tokens: maxTokens }),
        ...(choices === 1 ? {} : { n: choices }),
        ...(logprobs ? { logprobs, top_logprobs: 2 } : {}),
      };
    case "messages":
      return {
        model,
        stream,
        max_tokens: maxTokens ?? AMPLE_TOKENS,
        messages: [{ role: "user", content }],
      };
    default:
      return {
        model,
        ...(front === "socket" ? { type: "response.create" } : { stream }),
        input: content,
        ...(maxTokens === undefined ? {} : { max_output_tokens: maxTokens }),
        ...(logprobs ? { top_logprobs: 2, include: ["message.output_text.logprobs"] } : {}),
        ...(wantsSummary ? { reasoning: { summary: "auto" } } : {}),
      };
  }
}

/** The number of the run that a request belongs to. */
export function numberIn(raw: string): number {
  return numbersIn(raw).at(-1) ?? NaN;
}

/** What came of one plan, or of a further turn of its WebSocket. */
export interface Called {
  readonly plan: Plan;
  readonly taken: Taken;
}

/** Sends a plan's requests, reads the responses and leaves as the plan says. Never rejects. */
export async function call(plan: Plan, gateway: TestGateway, key: string): Promise<Called[]> {
  const reading = new Reading(plan);
  const turns = turnsOf(plan).map((one) => ({
    plan: one,
    reading: one.number === plan.number ? reading : new Reading(one),
    body: bodyOf(one),
  }));
  const main = turns[plan.turnsBefore]!;
  const session = plan.front === "socket" ? new Session(main, turns) : undefined;
  const headers = {
    "content-type": "application/json",
    authorization: `Bearer ${key}`,
    // a caller that leaves may never learn the request's id
    ...(plan.manner === "reads" ? {} : { "x-sluice-tags": `run=${plan.number}` }),
  };
  try {
    if (session !== undefined) await session.run(gateway, headers);
    else if (isSlow(plan)) await inProcess(plan, gateway, headers, reading);
    else if (/closes/.test(plan.manner)) await overConnection(plan, gateway, headers, reading);
    else await overFetch(plan, gateway, headers, reading);
  } catch (error) {
    reading.fault = String(error);
  }
  const sent = session?.sent ?? turns;
  return sent.map((turn) => ({ plan: turn.plan, taken: turn.reading.taken() }));
}

function pathOf({ front }: Plan): string {
  return DIALECTS[front === "socket" ? "responses" : front].front.path;
}

async function overFetch(
  plan: Plan,
  { url }: TestGateway,
  headers: Record<string, string>,
  reading: Reading,
): Promise<void> {
  const leaving = new AbortController();
  const leave = () => {
    reading.left();
    leaving.abort();
  };
  const timer = plan.manner === "aborts after time" ? setTimeout(leave, plan.leaveMs) : undefined;
  try {
    const response = await fetch(url + pathOf(plan), {
      method: "POST",
      headers,
      body: JSON.stringify(bodyOf(plan)),
      signal: leaving.signal,
    });
    reading.began(response.status, response.headers.get("request-id"));
    for await (const bytes of response.body!) {
      reading.add(bytes);
      if (plan.manner !== "aborts after words" || !plan.stream) continue;
      if (reading.words >= plan.leaveWords) return leave();
    }
    reading.ended();
  } finally {
    clearTimeout(timer);
  }
}

/**
 * Reads a response that nothing lies in between: what is not read here keeps the upstream waiting at once, without sockets
 * that have to be filled first.
 */
async function inProcess(
  plan: Plan,
  { gateway, url }: TestGateway,
  headers: Record<string, string>,
  reading: Reading,
): Promise<void> {
  const body = JSON.stringify(bodyOf(plan));
  const response = await gateway.app.fetch(
    new Request(url + pathOf(plan), { method: "POST", headers: { host: "x", ...headers }, body }),
  );
  reading.began(response.status, response.headers.get("request-id"));
  const reader = response.body!.getReader();
  let hasStopped = false;
  while (true) {
    const { value, done } = await reader.read();
    if (done) return reading.ended();
    reading.add(value);
    if (plan.manner === "reads steadily slowly") await reading.pause(STEADY_MS);
    else if (!hasStopped && reading.words >= plan.leaveWords) {
      hasStopped = true;
      await reading.pause(plan.leaveMs);
    }
  }
}

/** Over a connection of its own, which is closed in the middle, or one half of it. */
async function overConnection(
  plan: Plan,
  { url }: TestGateway,
  headers: Record<string, string>,
  reading: Reading,
): Promise<void> {
  const { hostname, port } = new URL(url);
  using connection = await Deno.connect({ hostname, port: Number(port) });
  const sent = new TextEncoder().encode(JSON.stringify(bodyOf(plan)));
  const lines = Object.entries({ host: "x", connection: "close", ...headers })
    .map(([name, value]) => `${name}: ${value}\r\n`).join("");
  const head = `POST ${pathOf(plan)} HTTP/1.1\r\n${lines}content-length: ${sent.length}\r\n\r\n`;
  await connection.write(new TextEncoder().encode(head));
  for (let at = 0; at < sent.length;) at += await connection.write(sent.subarray(at));
  const buffer = new Uint8Array(65_536);
  let isHalf = false;
  let timer: ReturnType<typeof setTimeout> | undefined;
  try {
    while (true) {
      const size = await connection.read(buffer);
      if (size === null) return reading.ended();
      reading.addRaw(buffer.subarray(0, size));
      if (reading.words < plan.leaveWords || isHalf) continue;
      reading.left();
      if (plan.manner === "closes after words") return;
      isHalf = true;
      await connection.closeWrite();
      timer = setTimeout(() => connection.close(), HALF_CLOSED_MS);
    }
  } finally {
    clearTimeout(timer);
  }
}
