import * as z from "zod";
import { exchange } from "../../ground/ways_out/mod.ts";
import { displayed, jsonIn } from "../../ground/platform/mod.ts";
import { proxiesIn, proxyOf } from "../../settings/config/mod.ts";
import { type CommandContext, Refused, UsageError } from "./context.ts";

const TIMEOUT_MS = 30_000;
const MAX_BYTES = 64 * 1_024;

const faultReply = z.object({ error: z.string(), error_description: z.string().default("") });

/**
 * Asks a gateway's authorization server.
 *
 * @param fields Of the form that is sent; without them, a document is read.
 * @throws {Refused} If it says no.
 */
export async function askGateway(
  { env }: CommandContext,
  gateway: string,
  path: string,
  fields?: Readonly<Record<string, string>>,
): Promise<unknown> {
  const url = new URL(`${gateway}${path}`);
  const reply = await exchange({
    url,
    method: fields === undefined ? "GET" : "POST",
    headers: {
      accept: "application/json",
      ...(fields && { "content-type": "application/x-www-form-urlencoded" }),
    },
    body: fields && new URLSearchParams(fields).toString(),
    proxy: proxyOf(url, { proxies: proxiesIn(env) }),
    timeoutMs: TIMEOUT_MS,
    maxBytes: MAX_BYTES,
    signal: AbortSignal.timeout(TIMEOUT_MS),
  }).catch((error) => {
    throw new Error(`The gateway ${gateway} cannot be reached`, { cause: error });
  });
  const body = jsonIn(reply.text);
  if (reply.status === 200) return body;
  const fault = faultReply.safeParse(body);
  if (fault.success) {
    throw new Refused(
      fault.data.error,
      displayed(fault.data.error_description || fault.data.error),
    );
  }
  throw new Error(
    `The gateway ${gateway} signs no tools in (status ${reply.status}): its operator sets signIn`,
  );
}

/** The address of a gateway, without a slash at its end. */
export function addressIn(text: string | undefined): string | undefined {
  if (text === undefined) return undefined;
  if (!URL.canParse(text) || !/^https?:$/.test(new URL(text).protocol)) {
    throw new UsageError(`--gateway ${text}: send an address such as https://llm.example.com`);
  }
  return text.replace(/\/+$/, "");
}
