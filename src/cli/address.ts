import type { Config } from "../config/mod.ts";
import { announcedAddress } from "../gateway_identity.ts";

/** A gateway on this machine answers at once, or is not there. */
const PATIENCE_MS = 2_000;

/** Where clients reach a gateway. */
export interface GatewayAddress {
  /** Base address, without a slash at its end. */
  readonly url: string;
  /** Whether a gateway answers there now. */
  readonly answers: boolean;
}

/**
 * Where the gateway of these settings is reached: as its operator says (`publicUrl`), as it says
 * itself while it runs, or where it would listen.
 */
export async function gatewayAddress({ settings }: Config): Promise<GatewayAddress> {
  const { host, port } = settings;
  const local = host === "0.0.0.0" || host === "::" ? "127.0.0.1" : host;
  const url = settings.publicUrl?.replace(/\/+$/, "") ??
    await announcedAddress(settings.data) ??
    `http://${local.includes(":") ? `[${local}]` : local}:${port}`;
  return { url, answers: await answersAt(url) };
}

/** Whether a gateway answers at an address. */
export async function answersAt(url: string): Promise<boolean> {
  try {
    const reply = await fetch(`${url}/healthz`, { signal: AbortSignal.timeout(PATIENCE_MS) });
    const body = await reply.json();
    return reply.ok && body?.status === "ok";
  } catch {
    return false;
  }
}
