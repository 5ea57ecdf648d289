import type { Account, Key, Team } from "../../src/people/accounts/mod.ts";
import { assert, assertEquals } from "../assert.ts";
import { chunk, completion, eventStream, sse } from "./upstream.ts";
import type { TestGateway } from "./gateway.ts";

/** A credit for each output token, nothing for input. */
export const TOKEN_ROUTES = {
  token: {
    context: 200_000,
    maxOutput: 100_000,
    minimum: 1,
    prices: { input: 0, cached: 0, output: 1_000_000 },
  },
};

/** Output tokens of a small request, and so its credits. */
export const TOKENS = 5;

/** Usage as an upstream reports it of a small request. */
export const usageOf = (outputTokens: number) => ({
  prompt_tokens: 3,
  completion_tokens: outputTokens,
  total_tokens: 3 + outputTokens,
});
export const TOKEN_USAGE = usageOf(TOKENS);

/** What a small request has of its upstream. */
interface Asked {
  readonly body: {
    readonly stream?: unknown;
    readonly max_tokens?: number;
    readonly max_completion_tokens?: number;
  };
}

/**
 * Replies with as many tokens as a small request uses, whole or streamed, or with as few as it may have: a budget or a balance that has
 * less left sets a lower limit, and what an upstream adds to that is charged beyond it.
 */
export function smallReply({ body }: Asked): Response {
  const tokens = Math.min(TOKENS, body.max_completion_tokens ?? body.max_tokens ?? TOKENS);
  const usage = usageOf(tokens);
  const words = Array.from({ length: tokens }, () => "word ");
  return body.stream
    ? eventStream(sse(
      ...words.map((content) => chunk({ content })),
      chunk({}, tokens < TOKENS ? "length" : "stop"),
      JSON.stringify({ choices: [], usage }),
      "[DONE]",
    ))
    : completion(words.join(""), { usage });
}

/** A member of a team, with a key of it. */
export interface TeamMember {
  readonly account: Account;
  readonly key: Key & { readonly secret: string };
}

/** A team with credits and members that have a key each. */
export interface TestTeam {
  readonly team: Team;
  readonly members: readonly TeamMember[];
  /** Another key of a member, or of the whole team. */
  key(account: Account | null): Promise<Key & { readonly secret: string }>;
}

let made = 0;

/** Makes a team that has credits in its pool. */
export async function teamOf(
  { gateway: { accounts, members, sales, teamKeys, teams } }: Pick<TestGateway, "gateway">,
  { credits = 1_000_000, size = 2 }: { credits?: number; size?: number } = {},
): Promise<TestTeam> {
  const number = ++made;
  const team = await teams.create({ name: `Team ${number}`, pool: true });
  await sales.grant((await accounts.byId(team.poolId!))!, { credits });
  const found: TeamMember[] = [];
  for (let at = 0; at < size; at++) {
    const account = await accounts.create({ email: `member${at}.${number}@example.com` });
    await members.add(team, account);
    found.push({ account, key: await teamKeys.issue(team, account) });
  }
  return { team, members: found, key: (account) => teamKeys.issue(team, account) };
}

const messages = [{ role: "user", content: "Hi" }];
const DIALECTS = [
  ["/v1/chat/completions", { messages, max_tokens: TOKENS }],
  ["/v1/messages", { messages, max_tokens: TOKENS }],
  ["/v1/responses", { input: "Hi", max_output_tokens: TOKENS }],
] as const;

/**
 * Sends a small request in one of the dialects, whole or streamed, and reads it to its end.
 *
 * @param at Says which dialect, and whether it is streamed.
 * @param says What the message of a refusal must have in it: one of these, where either limit may be met first.
 * @returns The status: 200 or 403.
 */
export async function sendSmall(
  url: string,
  { key, at, says }: {
    readonly key: string;
    readonly at: number;
    readonly says?: readonly string[];
  },
): Promise<number> {
  const [path, body] = DIALECTS[at % 3]!;
  const reply = await fetch(`${url}${path}`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    body: JSON.stringify({ model: "token", stream: at % 2 === 0, ...body }),
  });
  const text = await reply.text();
  if (reply.status !== 200) {
    assertEquals(reply.status, 403, text);
    assertEquals(reply.headers.get("retry-after"), null);
    assert(says?.some((one) => text.includes(one)) ?? true, text);
  }
  return reply.status;
}
