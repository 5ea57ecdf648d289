/** Requests that are well formed, and cost more than their bytes: long replies that nobody reads, large prompts, forms. */

import type { Random } from "../fake/random.ts";
import { anyHead, jsonBody } from "./requests.ts";
import {
  anySize,
  chain,
  type Kind,
  type Plan,
  repeated,
  send,
  type Step,
  type Target,
} from "./steps.ts";

export const CHAT_KINDS: readonly Kind[] = [
  { name: "stream", plan: stream },
  { name: "large prompt", plan: largePrompt },
  { name: "deep json", plan: deepJson },
  { name: "forms", plan: forms },
];

const MODEL_PATHS = ["/v1/chat/completions", "/v1/messages", "/v1/responses"];

function post(path: string, lines: string, body: string): string {
  return `POST ${path} HTTP/1.1\r\n${lines}content-length: ${body.length}\r\n\r\n${body}`;
}

/** A body for a path, with a user's text. */
function asking(path: string, text: string, more: Readonly<Record<string, unknown>>): string {
  const prompt = path === "/v1/responses" || path === "/v1/embeddings"
    ? { input: text }
    : { messages: [{ role: "user", content: text }] };
  return jsonBody(path, { model: "long", ...prompt, ...more });
}

/** Long replies, several on one connection. */
function stream(random: Random, target: Target): Plan {
  const { path, who, lines } = anyHead(random, target, MODEL_PATHS);
  const tokens = anySize(random, 5, 15);
  const pace = random.pick([0, 0, 1, 50]);
  const isStream = random.next() < 0.8;
  const limit = path === "/v1/responses" ? "max_output_tokens" : "max_tokens";
  const text = `[[tokens ${tokens}]] [[pace ${pace}ms]]`;
  const limits = path === "/v1/responses" ? { max_tokens: undefined } : {};
  const body = asking(path, text, { ...limits, stream: isStream, [limit]: tokens });
  const times = random.pick([1, 1, 4, 40]);
  const waitMs = random.integer(100, 4_000);
  return {
    told: `${path}, ${who}, ${times} × ${tokens} tokens, pace ${pace} ms, ${
      isStream ? "streamed" : "whole"
    }, stays ${waitMs} ms`,
    steps: chain(
      send(post(path, lines, body).repeat(times)),
      { does: "wait", ms: waitMs } satisfies Step,
    ),
  };
}

/** Prompts of megabytes, which are counted. */
function largePrompt(random: Random, target: Target): Plan {
  const paths = [...MODEL_PATHS, "/v1/messages/count_tokens", "/v1/embeddings"];
  const { path, who, lines } = anyHead(random, target, paths);
  const bytes = anySize(random, 12, 23);
  const unit = random.pick(["word ", "x", "\\u0041", "\\n", "0", "[[say ", "中".repeat(4)]);
  const body = asking(path, "MARK", {});
  const [before = "", after = ""] = body.split("MARK");
  const units = Math.ceil(bytes / new TextEncoder().encode(unit).length);
  const whole = new TextEncoder().encode(`${before}${unit.repeat(units)}${after}`);
  return {
    told: `${path}, ${who}, ${whole.length} bytes of ${JSON.stringify(unit)}`,
    steps: [
      send(`POST ${path} HTTP/1.1\r\n${lines}content-length: ${whole.length}\r\n\r\n`),
      send(whole),
      { does: "wait", ms: random.integer(0, 2_000) },
    ],
  };
}

/** JSON with more depth, keys or values than a request may have, whole or not. */
function deepJson(random: Random, target: Target): Plan {
  const { path, who, lines } = anyHead(random, target);
  const [what, unit] = random.pick(
    [
      ["arrays", "["],
      ["objects", '{"a":'],
      ["values", "0,"],
      ["strings", '"",'],
      ["numbers", "1".repeat(1_000)],
      ["escapes", '"\\u0000",'],
      ["lone quotes", '"'],
    ] as const,
  );
  const bytes = anySize(random, 8, 23);
  const units = Math.floor(bytes / unit.length) + 1;
  const start = random.pick(["", "[", '{"messages":[', '{"model":"small","x":[']);
  const length = start.length + units * unit.length;
  return {
    told: `${path}, ${who}, ${what}, ${length} bytes behind ${JSON.stringify(start)}`,
    steps: chain(
      send(`POST ${path} HTTP/1.1\r\n${lines}content-length: ${length}\r\n\r\n${start}`),
      exactly(unit, units),
    ),
  };
}

/** The whole number of times, not a byte more, so that the body is whole. */
function* exactly(unit: string, units: number): Generator<Step> {
  const perPiece = Math.max(1, Math.floor(65_536 / unit.length));
  for (let left = units; left > 0; left -= perPiece) {
    yield send(unit.repeat(Math.min(left, perPiece)));
  }
}

/** Forms of the console, whole: a password that is sent is hashed. */
function forms(random: Random, target: Target): Plan {
  const { path, lines, body } = anyHead(random, target, ["/console/sign-in", "/console/register"]);
  const times = random.pick([1, 3, 20]);
  const isLong = random.next() < 0.3;
  const whole = isLong ? `${body}${"x".repeat(anySize(random, 8, 20))}` : body;
  return {
    told: `${path}, ${times} forms of ${whole.length} bytes`,
    steps: repeated(post(path, lines, whole), times * post(path, lines, whole).length),
  };
}
