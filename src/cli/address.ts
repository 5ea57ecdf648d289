import { type Config, databaseFile } from "../config/mod.ts";
import { announcedAddress } from "../database/mod.ts";

/** Max time to wait for a gateway on this machine. */
const PATIENCE_MS = 2_000;

/** Address of a gateway. */
export interface GatewayAddress {
  /** Base URL for users, without a trailing slash. */
  readonly url: string;
  /** Base URL from this machine. */
  readonly local: string;
  /** Whether a gateway is running there. */
  readonly answers: boolean;
}

/**
 * Finds the gateway of these settings: at `publicUrl`, at the address that a running gateway wrote into the data
 * directory, or where it would listen.
 *
 * A gateway on the right port may belong to someone else, with other keys. With an embedded database, only the gateway
 * that wrote its address into the data directory counts. With a libSQL server, the gateway can run on any machine, so
 * the one at the address counts.
 */
export async function gatewayAddress({ settings }: Config): Promise<GatewayAddress> {
  const { host, port, data } = settings;
  const reach = host === "0.0.0.0" || host === "::" ? "127.0.0.1" : host;
  const announced = await announcedAddress(data);
  const local = announced ?? `http://${reach.includes(":") ? `[${reach}]` : reach}:${port}`;
  const url = settings.publicUrl?.replace(/\/+$/, "") ?? local;
  if (announced !== undefined && await answersAt(announced)) {
    return { url, local: announced, answers: true };
  }
  const answers = databaseFile(settings) === undefined && await answersAt(url);
  return { url, local: url, answers };
}

/** Returns whether a gateway responds at a base URL. */
export async function answersAt(url: string): Promise<boolean> {
  try {
    const reply = await fetch(`${url}/healthz`, { signal: AbortSignal.timeout(PATIENCE_MS) });
    const body = await reply.json();
    return reply.ok && body?.status === "ok";
  } catch {
    return false;
  }
}
