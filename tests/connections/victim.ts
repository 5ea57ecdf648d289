/// <reference lib="deno.worker" />
/**
 * A thread that asks for small chats, one after the other: what another tenant sees of an attack. It has a thread of its own, since
 * the one that attacks is busy.
 */

import { sleep } from "../fake/temp.ts";

/** What the thread is told at its start. */
export interface VictimOptions {
  readonly url: string;
  readonly key: string;
}

/** What it reports of each chat. */
export interface ChatReport {
  readonly tookMs: number;
  /** How long this thread itself stood still meanwhile, which is not the gateway's fault. */
  readonly ownMs: number;
  /** Undefined if the chat was answered. */
  readonly fault?: string;
  readonly isNewConnection: boolean;
}

const PAUSE_MS = 5;
/** A chat that takes longer counts as not answered. */
const PATIENCE_MS = 20_000;
/** Every one of this many chats opens a connection of its own. */
const NEW_CONNECTION_EVERY = 10;
const FEEL_MS = 5;
const BODY = JSON.stringify({
  model: "small",
  max_tokens: 20,
  messages: [{ role: "user", content: "Hi [[say hello]]" }],
});

let ownMs = 0;
let lastTick = performance.now();
setInterval(() => {
  const tick = performance.now();
  ownMs += Math.max(0, tick - lastTick - 2 * FEEL_MS);
  lastTick = tick;
}, FEEL_MS);

async function chat(
  { url, key }: VictimOptions,
  client?: Deno.HttpClient,
): Promise<string | undefined> {
  try {
    const response = await fetch(`${url}/v1/chat/completions`, {
      method: "POST",
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
      body: BODY,
      signal: AbortSignal.timeout(PATIENCE_MS),
      ...(client && { client }),
    });
    const text = await response.text();
    return response.status === 200 ? undefined : `${response.status} ${text.slice(0, 200)}`;
  } catch (error) {
    return String(error);
  }
}

self.onmessage = async ({ data }: MessageEvent<VictimOptions>) => {
  for (let at = 1;; at++) {
    const isNewConnection = at % NEW_CONNECTION_EVERY === 0;
    const client = isNewConnection ? Deno.createHttpClient({}) : undefined;
    ownMs = 0;
    const startTick = performance.now();
    const fault = await chat(data, client);
    const report: ChatReport = {
      tookMs: performance.now() - startTick,
      ownMs,
      isNewConnection,
      ...(fault !== undefined && { fault }),
    };
    client?.close();
    self.postMessage(report);
    await sleep(PAUSE_MS);
  }
};
