/** A provider is asked whether somebody may still sign in: only its word on that person counts. */

import { assert, assertEquals } from "../../assert.ts";
import { OidcProvider, SignInError } from "../../../src/people/sign_in/mod.ts";
import { signInSettings } from "../../../src/settings/config/mod.ts";

Deno.test("a provider says no to a person by invalid_grant alone; each other fault is its own or this gateway's", async () => {
  let reply = { status: 200, body: "" };
  await using server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen() {} }, (request) => {
    const { pathname, origin } = new URL(request.url);
    return pathname === "/token"
      ? new Response(reply.body, {
        status: reply.status,
        headers: { "content-type": "application/json" },
      })
      : Response.json({ issuer: origin, token_endpoint: `${origin}/token` });
  });
  const issuer = `http://127.0.0.1:${server.addr.port}`;
  const { oidc: [settings] } = signInSettings.parse({
    oidc: [{ name: "company", issuer, client: "sluice" }],
  });
  const provider = new OidcProvider(settings!, { now: Date.now });
  const refresh = async (status: number, body: unknown) => {
    reply = { status, body: typeof body === "string" ? body : JSON.stringify(body) };
    try {
      return await provider.refresh("old");
    } catch (error) {
      assert(error instanceof SignInError, String(error));
      return error;
    }
  };
  const tokens = { access_token: "a", token_type: "bearer" };
  assertEquals(await refresh(200, { ...tokens, refresh_token: "new" }), "new");
  assertEquals(await refresh(200, tokens), "old", "it stays valid");
  assertEquals(await refresh(400, { error: "invalid_grant" }), undefined);
  for (
    const error of [
      "invalid_client",
      "unauthorized_client",
      "temporarily_unavailable",
      "server_error",
    ]
  ) assert(await refresh(400, { error }) instanceof SignInError, error);
  for (const [status, body] of [[503, "<html>"], [500, {}], [200, "{}"], [404, ""]] as const) {
    assert(await refresh(status, body) instanceof SignInError, `${status}`);
  }
});
