import { DEADLINE_MS } from "../fake/temp.ts";

/** A gateway or service to hold against the wire formats. */
export interface Target {
  /** Base address, without `/v1`. */
  readonly base: string;
  readonly key: string;
  /** Sent with every request, for gateways that are told so where to go. */
  readonly headers?: Readonly<Record<string, string>>;
  /** The model to call in each dialect. */
  readonly models: {
    readonly chat: string;
    readonly messages: string;
    readonly responses: string;
    /** A model for embeddings; without one they are not checked. */
    readonly embeddings?: string | undefined;
  };
}

// deno-lint-ignore no-explicit-any -- whatever a server answers
export type Json = any;

/** What came back. */
export interface Answered {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** The text as JSON; undefined when it is none. */
  readonly json: Json;
}

/** Sends a request and reads all of the answer. */
export async function send(
  { base, key, headers: always = {} }: Target,
  path: string,
  { body, headers = {}, method = body === undefined ? "GET" : "POST" }: {
    body?: unknown;
    headers?: Record<string, string>;
    method?: string;
  } = {},
): Promise<Answered> {
  const reply = await fetch(`${base}${path}`, {
    method,
    headers: {
      "content-type": "application/json",
      authorization: `Bearer ${key}`,
      ...(path.startsWith("/v1/messages") ? { "anthropic-version": "2023-06-01" } : {}),
      ...always,
      ...headers,
    },
    ...(body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) }),
    signal: AbortSignal.timeout(DEADLINE_MS),
  });
  const text = await reply.text();
  let json: Json;
  try {
    json = JSON.parse(text);
  } catch {
    json = undefined;
  }
  return { status: reply.status, headers: reply.headers, text, json };
}

/** POSTs a chat completion. */
export function chat(target: Target, body: Record<string, unknown>): Promise<Answered> {
  return send(target, "/v1/chat/completions", {
    body: { model: target.models.chat, max_tokens: 300, messages: says("Say hello."), ...body },
  });
}

/** POSTs a message. */
export function messages(
  target: Target,
  body: Record<string, unknown>,
  headers: Record<string, string> = {},
): Promise<Answered> {
  return send(target, "/v1/messages", {
    body: { model: target.models.messages, max_tokens: 300, messages: says("Say hello."), ...body },
    headers,
  });
}

/** POSTs a response. */
export function responses(target: Target, body: Record<string, unknown>): Promise<Answered> {
  return send(target, "/v1/responses", {
    body: {
      model: target.models.responses,
      max_output_tokens: 300,
      input: says("Say hello."),
      ...body,
    },
  });
}

/** POSTs a request for embeddings. */
export function embeddings(target: Target, body: Record<string, unknown>): Promise<Answered> {
  return send(target, "/v1/embeddings", {
    body: { model: target.models.embeddings, input: "Hello", ...body },
  });
}

/** A conversation of one line. */
export function says(content: string) {
  return [{ role: "user", content }];
}
