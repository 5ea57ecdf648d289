/** Responses by the state of a request: what a caller is told of its account, by what its client reads, and how errors look. */

import type { RequestState } from "../../../src/doors/http/request_state.ts";
import {
  accountStatusHeaders,
  errorResponse,
  statusHeaders,
  upgradeRequired,
} from "../../../src/doors/http/responses.ts";
import { Refusal } from "../../../src/ground/refusal.ts";
import type { AccountStatus, Budget } from "../../../src/money/ledger/mod.ts";
import { type Caller, CLAUDE_CODE } from "../../../src/people/accounts/mod.ts";
import { DIALECTS } from "../../../src/wire/dialects/mod.ts";
import { assertEquals } from "../../assert.ts";

const NOW = Date.UTC(2030, 0, 1, 10, 30);
const BUDGET: Budget = {
  id: "key:k:week",
  owner: "key",
  ownerId: "k",
  period: "week",
  zone: "UTC",
  credits: 100,
  raise: null,
  marks: [],
  startsAtMs: 0,
  renewsAtMs: NOW + 5_000,
  spent: 80,
  held: 0,
  left: 20,
};
const WINDOWS = [{ of: "key", span: "minute", limit: 20, used: 5 }] as const;

function stateOf(more: Partial<RequestState> = {}): RequestState {
  return {
    requestId: "req_1",
    clientRequestId: undefined,
    path: "/v1/chat/completions",
    headers: { "x-request-id": "req_1" },
    peer: undefined,
    header: () => null,
    isCodex: false,
    ...more,
  };
}

const toolOf = (tool: string | null) => ({ tool }) as unknown as Caller;

/** Those of some headers that a client reads as its own. */
function namesOf(headers: Iterable<readonly [string, string]>): string[] {
  return [
    ...new Set(
      [...headers].map(([name]) => /^x-codex|^anthropic/.exec(name)?.[0] ?? "")
        .filter((name) => name !== ""),
    ),
  ];
}

Deno.test("a caller is told its credits, its nearest window, and what is left of its budget, raised or spent (table)", () => {
  const of = (more: Partial<AccountStatus>) =>
    accountStatusHeaders({ balance: 7, windows: [], ...more }, NOW);
  assertEquals(of({}), { "x-credits-remaining": "7" });
  assertEquals(of({ windows: WINDOWS }), {
    "x-credits-remaining": "7",
    "x-ratelimit-limit": "20",
    "x-ratelimit-remaining": "15",
    "x-ratelimit-reset": String(NOW / 1_000 + 60),
  });
  const raise = { credits: 50, untilMs: NOW + 1 };
  for (
    const [budget, remaining, reset] of [
      [BUDGET, "20", String(NOW / 1_000 + 5)],
      [{ ...BUDGET, raise }, "70", String(NOW / 1_000 + 5)],
      [{ ...BUDGET, spent: 120 }, "0", String(NOW / 1_000 + 5)],
      [{ ...BUDGET, renewsAtMs: null }, "20", undefined],
    ] as const
  ) {
    const { "x-sluice-budget-remaining": left, "x-sluice-budget-reset": renews } = of({ budget });
    assertEquals([left, renews], [remaining, reset]);
  }
});

Deno.test("each client gets the headers that it shows: Codex, Claude Code at messages, no other (table)", () => {
  const messages = DIALECTS.messages.front.path;
  for (
    const [state, names] of [
      [{}, []],
      [{ isCodex: true }, ["x-codex"]],
      [{ path: messages, caller: toolOf(CLAUDE_CODE) }, ["anthropic"]],
      [{ path: messages, caller: toolOf(null) }, []],
      [{ path: messages }, []],
      [{ caller: toolOf(CLAUDE_CODE) }, []],
    ] as const
  ) {
    const status = { balance: 7, windows: WINDOWS, budget: BUDGET };
    const headers = statusHeaders(stateOf(state), status, NOW);
    assertEquals(headers["x-credits-remaining"], "7");
    assertEquals(namesOf(Object.entries(headers)), [...names], JSON.stringify(state));
  }
  // a budget is for a Codex that is signed in
  for (const [caller, minutes] of [[toolOf("Codex"), "10080"], [toolOf(null), "1"]] as const) {
    const status = { balance: 7, windows: WINDOWS, budget: BUDGET };
    const headers = statusHeaders(stateOf({ isCodex: true, caller }), status, NOW);
    assertEquals(headers["x-codex-primary-window-minutes"], minutes);
  }
});

Deno.test("an error says whether and when to try again, and what the caller has if that is known (table)", async () => {
  for (
    const [reason, more, status, wait, retry] of [
      ["rate_exceeded", { retryAfterMs: 1_001 }, 429, "2", null],
      ["rate_exceeded", { retryAfterMs: 0 }, 429, "1", null],
      ["rate_exceeded", {}, 429, "5", null],
      ["gateway_unavailable", { retryAfterMs: 7_000 }, 503, "7", null],
      ["internal", { retryAfterMs: 7_000 }, 500, null, null],
      ["request_invalid", {}, 400, null, "false"],
      ["credits_short", {}, 403, null, "false"],
    ] as const
  ) {
    for (const isSimulated of [false, true]) {
      const refusal = Object.assign(new Refusal(reason, "no", more), { simulated: isSimulated });
      const reply = errorResponse(stateOf(), refusal, NOW);
      assertEquals([reply.status, (await reply.json()).error.message], [status, "no"]);
      const { headers } = reply;
      assertEquals(
        ["retry-after", "x-should-retry", "x-sluice-simulated"].map((name) => headers.get(name)),
        [wait, retry, isSimulated ? "true" : null],
        reason,
      );
      assertEquals([headers.get("x-request-id"), headers.get("x-credits-remaining")], [
        "req_1",
        null,
      ]);
    }
  }
  const state = stateOf({ accountStatus: { balance: 7, windows: [] } });
  const known = errorResponse(state, new Refusal("credits_short", "no"), NOW);
  assertEquals(known.headers.get("x-credits-remaining"), "7");
});

Deno.test("an error is in the dialect of its path, and as a signed-in tool reads it (table)", async () => {
  const messages = DIALECTS.messages.front;
  const accountStatus = { balance: 7, windows: [], budget: BUDGET };
  const short = new Refusal("credits_short", "no");
  const large = Object.assign(new Refusal("request_invalid", "no"), { isTooLarge: true });
  const busy = new Refusal("rate_exceeded", "no");
  const claude = toolOf(CLAUDE_CODE);
  for (
    const [state, refusal, status, type, names, wait] of [
      [{ path: messages.path }, short, 403, "", [], null],
      [{ path: messages.path, caller: claude, accountStatus }, short, 429, "billing_error", [
        "anthropic",
      ], "5"],
      [{ path: messages.path, caller: claude }, short, 429, "billing_error", ["anthropic"], "3600"],
      [
        { path: messages.path, caller: claude, accountStatus },
        large,
        413,
        "request_too_large",
        [],
        null,
      ],
      [
        { path: messages.path, caller: claude, accountStatus },
        busy,
        429,
        "rate_limit_error",
        [],
        "5",
      ],
      [
        { front: messages, caller: claude, accountStatus },
        large,
        413,
        "request_too_large",
        [],
        null,
      ],
      [{ caller: claude, accountStatus }, large, 400, "invalid_request_error", [], null],
      [
        { path: messages.path, caller: toolOf(null), accountStatus },
        large,
        400,
        "invalid_request_error",
        [],
        null,
      ],
      [{ isCodex: true, accountStatus }, busy, 429, "rate_limit_error", ["x-codex"], "5"],
    ] as const
  ) {
    const reply = errorResponse(stateOf(state), refusal, NOW);
    const { error } = await reply.json();
    const what = JSON.stringify([state, refusal.reason]);
    assertEquals(reply.status, status, what);
    if (type !== "") assertEquals(error.type, type, what);
    assertEquals(namesOf(reply.headers), [...names], what);
    assertEquals(reply.headers.get("retry-after"), wait, what);
  }
});

Deno.test("what Codex would repeat is a stream that failed; another request is an error by its status", async () => {
  const sent: Readonly<Record<string, string>> = {
    originator: "codex_exec",
    accept: "text/event-stream",
  };
  const header = (name: string) => sent[name] ?? null;
  const state = stateOf({ path: "/v1/responses", header, isCodex: true, model: "svc-k2" });
  const refusal = new Refusal("credits_short", "no");
  const streamed = errorResponse(state, refusal, NOW);
  assertEquals([streamed.status, streamed.headers.get("content-type")], [
    200,
    "text/event-stream; charset=utf-8",
  ]);
  assertEquals((await streamed.text()).includes("response.failed"), true);
  const plain = errorResponse({ ...state, header: () => null }, refusal, NOW);
  assertEquals([plain.status, plain.headers.get("content-type")], [403, "application/json"]);

  const upgrade = upgradeRequired(state, new Refusal("path_unknown", "Send a handshake."));
  assertEquals([upgrade.status, upgrade.headers.get("upgrade")], [426, "websocket"]);
  assertEquals((await upgrade.json()).error.message, "Send a handshake.");
});
