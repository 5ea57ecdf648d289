import { createHash } from "node:crypto";
import { assert, assertEquals } from "../../assert.ts";
import type { TestGateway } from "../../fake/gateway.ts";
import type { PlainBrowser } from "../../fake/visitor.ts";

/** What only the tool knows, and its digest. */
export const VERIFIER = "v".repeat(43);
export const CHALLENGE = createHash("sha256").update(VERIFIER).digest("base64url");
export const REDIRECT = "http://127.0.0.1:40123/callback";

/** A tool's question for a code. */
export function question(over: Record<string, string> = {}): Record<string, string> {
  return {
    client_id: "sluice",
    redirect_uri: REDIRECT,
    response_type: "code",
    state: "a state",
    code_challenge: CHALLENGE,
    code_challenge_method: "S256",
    ...over,
  };
}

/** A reply of the token endpoint. */
export interface Reply {
  readonly status: number;
  readonly body: Readonly<Record<string, unknown>>;
}

export async function ask(
  { url }: Pick<TestGateway, "url">,
  path: string,
  fields: Record<string, string>,
  headers: Record<string, string> = {},
): Promise<Reply> {
  const body = new URLSearchParams(fields);
  const reply = await fetch(`${url}${path}`, { method: "POST", body, headers });
  assertEquals(reply.headers.get("cache-control"), "no-store");
  return { status: reply.status, body: await reply.json() };
}

/** Asks for tokens for a code. */
export function redeem(
  gateway: Pick<TestGateway, "url">,
  code: string,
  over: Record<string, string> = {},
): Promise<Reply> {
  return ask(gateway, "/oauth/token", {
    grant_type: "authorization_code",
    client_id: "sluice",
    redirect_uri: REDIRECT,
    code,
    code_verifier: VERIFIER,
    ...over,
  });
}

/** Decides on the page where a tool asks. @returns Where the browser is led. */
export async function decide(
  browser: PlainBrowser,
  decision: "approve" | "deny",
  over: Record<string, string> = {},
): Promise<URL> {
  const fields = question(over);
  const page = `/console/authorize?${new URLSearchParams(fields)}`;
  const reply = await browser.post("/console/authorize", { ...fields, decision }, { from: page });
  await reply.body?.cancel();
  // the address with the code goes nowhere else
  assertEquals(
    ["referrer-policy", "cache-control"].map((name) => reply.headers.get(name)),
    ["same-origin", "no-store"],
  );
  const [, to] = /^0; url=(.*)$/.exec(reply.headers.get("refresh") ?? "") ?? [];
  assert(to !== undefined, `status ${reply.status}`);
  return new URL(to);
}
