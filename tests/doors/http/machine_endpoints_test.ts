import { Hono } from "@hono/hono";
import {
  addMachineEndpoints,
  type Env,
  type MachineParts,
} from "../../../src/doors/http/machine_endpoints.ts";
import { Secret } from "../../../src/settings/config/mod.ts";
import { assertEquals } from "../../assert.ts";

function appOf(metricsToken?: string): Hono<Env> {
  const app = new Hono<Env>();
  const parts = {
    prove: (challenge: string) => Promise.resolve(`proof of ${challenge.length}`),
    metrics: { text: () => Promise.resolve("figures") },
  } as unknown as MachineParts;
  addMachineEndpoints(app, parts, {
    metricsToken: metricsToken === undefined ? undefined : new Secret(metricsToken),
    isStopping: () => false,
    refuse: (_state, { status }) => new Response(null, { status }),
  });
  return app;
}

Deno.test("a challenge of up to 100 characters gets its proof, and none gets none", async () => {
  for (
    const [length, proof] of [[undefined, null], [1, "proof of 1"], [100, "proof of 100"], [
      101,
      null,
    ]] as const
  ) {
    const headers = length === undefined ? {} : { "x-sluice-challenge": "x".repeat(length) };
    const reply = await appOf().request("/healthz", { headers });
    assertEquals([reply.status, reply.headers.get("x-sluice-proof")], [200, proof]);
  }
});

Deno.test("figures are shown to all, or to those that send the token", async () => {
  const secret = "t".repeat(32);
  const status = async (token: string | undefined, headers: Record<string, string>) =>
    (await appOf(token).request("/metrics", { headers })).status;
  assertEquals(await status(undefined, {}), 200);
  const sent = [{}, { "x-api-key": "other" }, { authorization: `Bearer ${secret}x` }];
  for (const headers of sent) {
    assertEquals(await status(secret, headers as Record<string, string>), 401);
  }
  for (const headers of [{ "x-api-key": secret }, { authorization: `Bearer ${secret}` }]) {
    assertEquals(await status(secret, headers as Record<string, string>), 200);
  }
});
