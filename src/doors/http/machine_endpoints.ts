import type { Context, Hono } from "@hono/hono";
import type { RelayParts } from "../../requests/relay/mod.ts";
import type { Settings } from "../../settings/config/mod.ts";
import { probeWrite } from "../../ground/database/mod.ts";
import { Refusal } from "../../ground/refusal.ts";
import { STATUS_CODE } from "../../ground/std/mod.ts";
import { presentedKeys, sameSecret } from "./guard.ts";
import type { RequestState } from "./request_state.ts";

/** What the router hands to an endpoint. */
export interface Env {
  Bindings: RequestState;
}

/** Dependencies of {@linkcode addMachineEndpoints}. */
export interface MachineParts extends Pick<RelayParts, "database" | "upstreams" | "metrics"> {
  /** Computes the answer to the challenge of a command that looks for the gateway of its data directory. */
  readonly prove: (challenge: string) => Promise<string>;
}

/** For the machines inside: not served below the path of the public URL, so that a proxy which passes that on hides them. */
export const INTERNAL: readonly string[] = ["/metrics", "/readyz"];

const MAX_CHALLENGE_CHARS = 100;
const PROMETHEUS_TEXT = "text/plain; version=0.0.4; charset=utf-8";

/** Adds what balancers, probes and Prometheus ask for. */
export function addMachineEndpoints(
  app: Hono<Env>,
  parts: MachineParts,
  { metricsToken, isStopping, refuse }: Pick<Settings, "metricsToken"> & {
    readonly isStopping: () => boolean;
    readonly refuse: (state: RequestState, refusal: Refusal) => Response;
  },
): void {
  app.get("/healthz", async (c) => {
    const challenge = c.req.header("x-sluice-challenge");
    if (challenge !== undefined && challenge.length <= MAX_CHALLENGE_CHARS) {
      c.header("x-sluice-proof", await parts.prove(challenge));
    }
    return c.json({ status: "ok" });
  });
  app.get("/readyz", (c) => ready(c, parts, isStopping()));
  app.get("/metrics", async (c) => {
    const token = metricsToken?.reveal();
    // required if one is configured
    const isAllowed = token === undefined ||
      presentedKeys(c.req.raw.headers).some((one) => sameSecret(one, token));
    if (!isAllowed) {
      const message =
        "Missing or wrong metrics token. Send it as 'Authorization: Bearer …' or as 'X-API-Key: …'.";
      return refuse(c.env, new Refusal("key_invalid", message));
    }
    const text = await parts.metrics.text();
    return c.text(text, STATUS_CODE.OK, { "content-type": PROMETHEUS_TEXT });
  });
}

async function ready(
  c: Context<Env>,
  { database, upstreams }: MachineParts,
  isStopping: boolean,
): Promise<Response> {
  const faults: string[] = [];
  if (isStopping) faults.push("the gateway is shutting down");
  if (!upstreams.usable) faults.push("no upstream is usable");
  try {
    await probeWrite(database); // one that only reads is not ready
  } catch {
    faults.push(
      database.outbox?.isDetached
        ? "the database does not answer: only requests that lent credits cover are served"
        : "the database is not writable",
    );
  }
  return faults.length === 0
    ? c.json({ status: "ready" })
    : c.json({ status: "not ready", faults }, STATUS_CODE.ServiceUnavailable, {
      "retry-after": "2",
    });
}
