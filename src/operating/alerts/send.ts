import type { ProxySettings, ReceiverSettings } from "../../settings/config/mod.ts";
import { checkConnection, exchange } from "../../ground/ways_out/mod.ts";
import { ImageFault, type Resolve, wayTo } from "../../requests/images/mod.ts";
import { following, networkErrorWords, until, VERSION } from "../../ground/platform/mod.ts";
import type { SentAlert } from "./alert.ts";
import type { DeliveryOutcome } from "./outbox.ts";
import { slackBody, webhookBody } from "./payload.ts";
import { signatureOf } from "./signature.ts";

/** How receivers are reached. */
interface ReachOptions {
  readonly allowPrivateHosts: readonly string[];
  readonly proxies?: ProxySettings | undefined;
  readonly timeoutMs: number;
  readonly resolve: Resolve;
}

/** What a delivery needs besides its receiver. */
export interface SendOptions extends ReachOptions {
  readonly nowMs: number;
  /** Tells attempts of one delivery from others. */
  readonly deliveryId: string;
  /** Aborted when the gateway stops. */
  readonly signal: AbortSignal;
}

/**
 * Posts alerts to a receiver once. Never rejects.
 *
 * Each delivery has a connection of its own, to an address that was checked, and follows no redirect. Through a proxy, which
 * resolves the name itself, the name is checked as far as it resolves here.
 *
 * @returns The receiver's status, and why the delivery failed if it did. No error names an address.
 */
export async function sendAlerts(
  receiver: ReceiverSettings,
  alerts: readonly SentAlert[],
  options: SendOptions,
): Promise<DeliveryOutcome> {
  const { timeoutMs } = options;
  const late = AbortSignal.timeout(timeoutMs);
  using either = following(late, options.signal);
  const { signal } = either;
  try {
    const status = await until(deliver(receiver, alerts, { ...options, signal }), signal);
    // no reply has less than 200
    if (status <= 299) return { status, error: null };
    const isRedirect = status <= 399;
    const error = isRedirect ? `status ${status}: redirects are not followed` : `status ${status}`;
    return { status, error };
  } catch (error) {
    return { status: null, error: late.aborted ? `no reply within ${timeoutMs} ms` : why(error) };
  }
}

/**
 * Checks whether a receiver can be reached: its address is allowed, its name resolves, and it takes connections. Sends
 * nothing.
 *
 * @returns Why it cannot; `undefined` if it can.
 */
export async function checkReceiver(
  { url }: Pick<ReceiverSettings, "url">,
  options: ReachOptions,
): Promise<string | undefined> {
  const { timeoutMs } = options;
  const signal = AbortSignal.timeout(timeoutMs);
  try {
    const way = await wayTo(url, { ...options, signal });
    await until(checkConnection({ ...way, timeoutMs }), signal);
    return undefined;
  } catch (error) {
    return signal.aborted ? `no connection within ${timeoutMs} ms` : why(error);
  }
}

async function deliver(
  { url, kind, secret }: ReceiverSettings,
  alerts: readonly SentAlert[],
  options: SendOptions,
): Promise<number> {
  const { timeoutMs, nowMs, deliveryId, signal } = options;
  const way = await wayTo(url, options);
  const body = kind === "slack" ? slackBody(alerts) : webhookBody(alerts);
  const { status } = await exchange({
    ...way,
    method: "POST",
    headers: {
      "content-type": "application/json",
      "user-agent": `Sluice/${VERSION}`,
      "sluice-delivery": deliveryId,
      ...(secret === undefined
        ? {}
        : { "sluice-signature": signatureOf(body, { secret: secret.reveal(), atMs: nowMs }) }),
    },
    body,
    timeoutMs,
    maxBytes: 0, // nobody reads what it says
    signal,
  });
  return status;
}

/** A sentence without the address, which may be a secret. */
function why(error: unknown): string {
  if (error instanceof ImageFault && error.kind === "address") return error.message;
  const cause = error instanceof ImageFault && error.cause !== undefined ? error.cause : error;
  if (typeof cause === "string") return cause;
  return networkErrorWords(cause) ?? "no usable response";
}
