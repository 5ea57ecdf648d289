/** What an upstream is asked before somebody's own key is set for it. */

import type { OperationContext } from "../../../src/operating/operations/operation.ts";
import type { Nouns } from "../../../src/operating/operations/parts.ts";
import { UPSTREAM_KEY_SET } from "../../../src/operating/operations/upstream_key_operations.ts";
import type { Account, Role } from "../../../src/people/accounts/mod.ts";
import { OperationError, sessionActor } from "../../../src/people/operation_log/mod.ts";
import { settings } from "../../../src/settings/config/mod.ts";
import { assertEquals } from "../../assert.ts";
import { fakeUpstream } from "../../fake/upstream.ts";

const REJECTED = "sk-rejected-0123456789";
const ONLY_OPERATORS = "only an operator can set one for it";

/** An own key that is set: who sets it, for which upstream, what the upstream is asked, and why it is refused. */
const CASES: readonly (readonly [
  role: Role,
  input: { readonly upstream: string; readonly key?: string; readonly test?: boolean },
  asked: readonly string[],
  refused?: string,
])[] = [
  // by others than operators: for its list, then whether it checks keys, with a model of its own that replies with text
  ["none", { upstream: "one" }, ["its models", "own"]],
  ["none", { upstream: "one", test: false }, ["its models", "own"]],
  ["none", { upstream: "other" }, ["its models", "other's"], ONLY_OPERATORS],
  ["none", { upstream: "vectors" }, ["its models"], ONLY_OPERATORS],
  ["none", { upstream: "unused" }, ["its models"], ONLY_OPERATORS],
  ["none", { upstream: "one", key: REJECTED }, ["its models"], "does not accept the key"],
  ["operator", { upstream: "other" }, ["its models"]],
  ["operator", { upstream: "one", key: REJECTED }, ["its models"], "does not accept the key"],
  ["operator", { upstream: "one", key: REJECTED, test: false }, []],
  ["operator", { upstream: "toString" }, [], "Unknown upstream"],
  ["operator", { upstream: "keyless" }, [], "carry no key"],
];

Deno.test("an upstream is asked whether it takes the key, and of others than operators whether it checks keys at all (table)", async () => {
  // its model is the only one of which it rejects keys
  await using upstream = fakeUpstream(({ path, headers, body }) => {
    if (!path.endsWith("/models")) {
      return Response.json({ error: { message: "no" } }, {
        status: body.model === "own" ? 401 : 400,
      });
    }
    const isRejected = headers.get("authorization") === `Bearer ${REJECTED}`;
    return Response.json({ data: [] }, { status: isRejected ? 401 : 200 });
  });
  const { url } = upstream;
  const keyed = { url, key: "x" };
  const config = {
    settings: settings.parse({
      upstreams: { one: keyed, other: keyed, vectors: keyed, unused: keyed, keyless: { url } },
    }),
  };
  const target = (upstream: string, model: string) => ({ upstream, model });
  const routes = [
    { kind: "generation", targets: [target("other", "other's")] },
    { kind: "embeddings", targets: [target("one", "vector"), target("vectors", "vector")] },
    { kind: "generation", targets: [target("other", "other's"), target("one", "own")] },
  ];
  for (
    const [role, { upstream: name, key = "sk-own-0123456789", test = true }, asked, refused]
      of CASES
  ) {
    const account = { id: "acc_1", email: "ada@example.com", role, disabledAtMs: null } as Account;
    const set: string[] = [];
    const c = {
      parts: {
        config,
        now: Date.now,
        accounts: { find: () => Promise.resolve(account) },
        catalog: () => ({ routes }),
        sealKey: () => Promise.resolve(new Uint8Array(32)),
      },
      actor: sessionActor({ account, teams: new Map() }),
    } as unknown as OperationContext;
    const nouns = {
      upstreamKeys: {
        set: (_owner: unknown, { upstream }: { upstream: string }) => void set.push(upstream),
      },
    } as unknown as Nouns;
    const input = { account: account.email, upstream: name, key, test };
    const before = upstream.received.length;
    const { run } = await UPSTREAM_KEY_SET.prepare(c, input);
    const why = await run(nouns, { guards: [], logIf: () => ({ sql: "" }) }).then(
      () => "",
      (error) => error instanceof OperationError ? error.message : String(error),
    );
    const text = `${JSON.stringify([role, input])}: ${why}`;
    assertEquals(
      upstream.received.slice(before).map(({ body }) => body?.model ?? "its models"),
      [...asked],
      text,
    );
    assertEquals([why.includes(refused ?? "nothing"), set.length], [
      refused !== undefined,
      refused === undefined ? 1 : 0,
    ], text);
  }
});
