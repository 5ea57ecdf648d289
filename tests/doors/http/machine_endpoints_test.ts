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

Deno.test("a gateway is ready unless it stops, has no upstream, or cannot write; all that is wrong is said (table)", async () => {
  for (
    const [isStopping, usable, database, faults] of [
      [false, true, "writes", []],
      [true, true, "writes", ["shutting down"]],
      [false, false, "writes", ["no upstream"]],
      [false, true, "fails", ["not writable"]],
      [false, true, "is away", ["does not answer"]],
      [true, false, "fails", ["shutting down", "no upstream", "not writable"]],
    ] as const
  ) {
    const app = new Hono<Env>();
    const parts = {
      upstreams: { usable },
      database: {
        outbox: database === "is away" ? { isDetached: true } : undefined,
        batch: () => database === "writes" ? Promise.resolve([]) : Promise.reject(new Error("no")),
      },
    } as unknown as MachineParts;
    addMachineEndpoints(app, parts, {
      metricsToken: undefined,
      isStopping: () => isStopping,
      refuse: () => new Response(),
    });
    const reply = await app.request("/readyz");
    const { status, faults: said = [] } = await reply.json();
    const isReady = faults.length === 0;
    assertEquals([reply.status, status, reply.headers.get("retry-after")], [
      isReady ? 200 : 503,
      isReady ? "ready" : "not ready",
      isReady ? null : "2",
    ]);
    assertEquals(said.length, faults.length, said.join());
    faults.forEach((fault, at) => assertEquals(said[at].includes(fault), true, said[at]));
  }
});
