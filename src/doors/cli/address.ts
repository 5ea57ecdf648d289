import {
  type Config,
  databaseFile,
  listenUrl,
  proxyOf,
  type ProxySettings,
} from "../../settings/config/mod.ts";
import { exchange, type ExchangeReply } from "../../ground/ways_out/mod.ts";
import { type AnnouncedGateway, announcedGateway, proofOf } from "../../ground/database/mod.ts";
import { randomText } from "../../ground/platform/mod.ts";

/** How long it is waited for what may be at an address. */
const PATIENCE_MS = 2_000;
/** The same of a gateway that is known to run, on a busy machine: within the 10 s that health checks of containers have. */
const BUSY_PATIENCE_MS = 8_000;
/** Max bytes of a list of models. */
const MAX_REPLY_BYTES = 4_194_304;

/** Where clients reach a gateway. */
export interface GatewayAddress {
  /** Base address for users, without a slash at its end. */
  readonly url: string;
  /** Where it is reached from this machine. */
  readonly local: string;
  /** Whether a gateway answers there now. */
  readonly answers: boolean;
  /** Whether another gateway, with another database, answers at the address for users. */
  readonly isOther: boolean;
}

/**
 * Where the gateway of these settings is reached: as its operator says (`publicUrl`), as it says itself while
 * it runs, or where it would listen.
 *
 * One that answers at the right port may be another's, with keys of its own. So of a database in a file only
 * the gateway counts that has left its address in the data directory and proves it; of a server's, which may run on
 * any machine, the one at the address.
 */
export async function gatewayAddress({ settings }: Config): Promise<GatewayAddress> {
  const { host, port, data } = settings;
  const running = await runningGateway(data);
  const local = running?.url ?? listenUrl(host, port);
  const url = settings.publicUrl ?? local;
  if (running !== undefined) {
    const isOther = url !== local && databaseFile(settings) !== undefined &&
      await answerOf(url, running.secret, { proxies: settings.proxies }) === "another";
    return { url, local, answers: true, isOther };
  }
  const answers = await answersAt(url, settings.proxies);
  if (databaseFile(settings) === undefined) return { url, local: url, answers, isOther: false };
  return { url, local: url, answers: false, isOther: answers };
}

/**
 * Finds the gateway that runs on a data directory.
 *
 * @returns What it announced there, or `undefined` if none runs.
 */
export async function runningGateway(directory: string): Promise<AnnouncedGateway | undefined> {
  const announced = await announcedGateway(directory);
  if (announced === undefined) return undefined;
  const { url, secret } = announced;
  const answer = await answerOf(url, secret, { patienceMs: BUSY_PATIENCE_MS });
  return answer === "proven" ? announced : undefined;
}

/** How a gateway's settings differ from those of a command. */
export interface Drift {
  readonly text: string;
  /** What to do about it. */
  readonly advice: string;
}

const RELOAD = "apply the settings file with: sluice reload";

/**
 * Compares the settings that the running gateway uses with those that it would read now.
 *
 * @param config The settings as this command has read them.
 * @returns How they differ and what to do, for people; `undefined` if they do not, or if no gateway runs.
 */
export async function settingsDrift(
  { settings, file, digest, places }: Config,
): Promise<Drift | undefined> {
  const gateway = await runningGateway(settings.data);
  if (gateway === undefined) return undefined;
  const { settings: used, reload } = gateway;
  if (reload !== null && reload.fault !== null) {
    return {
      text:
        `the running gateway could not read its settings again and keeps those it had: ${reload.fault}`,
      advice: RELOAD,
    };
  }
  if (used?.file !== file) {
    return {
      text: `the running gateway uses ${used?.file ?? "no settings file"}, this command uses ${
        file ?? "none"
      }`,
      advice: used !== null
        ? `name the gateway's file with --config, or restart the gateway with another`
        : places.settings.isLocal
        ? "restart the gateway in this directory, or with --config FILE; a reload does not change which file it uses"
        : "apply your own settings with: sluice reload; to use another file, restart with --config FILE",
    };
  }
  if (used?.digest !== digest) {
    return { text: `${file} has changed since the running gateway read it`, advice: RELOAD };
  }
  if (reload !== null && reload.needRestart.length > 0) {
    return {
      text: `the running gateway needs a restart to apply: ${reload.needRestart.join(", ")}`,
      advice: "restart the gateway",
    };
  }
  return undefined;
}

/** Whether a gateway answers at an address. */
export async function answersAt(url: string, proxies: ProxySettings): Promise<boolean> {
  return await answerOf(url, undefined, { proxies }) === "proven";
}

/** How a gateway is asked. */
interface Asking {
  readonly proxies?: ProxySettings | undefined;
  readonly patienceMs?: number;
}

/**
 * Sends a gateway a request. Not by the platform's `fetch`, which takes a proxy of the environment even for this machine.
 *
 * @throws If nothing answers in time.
 */
export async function askGateway(
  url: string,
  { headers = {}, proxies, patienceMs = PATIENCE_MS }: Asking & {
    readonly headers?: Readonly<Record<string, string>>;
  } = {},
): Promise<ExchangeReply> {
  const patience = new AbortController(); // `AbortSignal.timeout` keeps its timer on Deno 2.4
  const timer = setTimeout(() => patience.abort(), patienceMs);
  const target = new URL(url);
  try {
    return await exchange({
      url: target,
      method: "GET",
      headers,
      proxy: proxyOf(target, { proxies }),
      timeoutMs: patienceMs,
      maxBytes: MAX_REPLY_BYTES,
      signal: patience.signal,
    });
  } finally {
    clearTimeout(timer);
  }
}

/**
 * Asks what is at an address.
 *
 * @param secret What the gateway in question proves itself with; without one, any gateway will do.
 */
async function answerOf(
  url: string,
  secret: string | undefined,
  asking: Asking,
): Promise<"proven" | "unproven" | "another" | "nothing"> {
  const challenge = randomText(32);
  try {
    const { status, headers, text } = await askGateway(`${url}/healthz`, {
      headers: { "x-sluice-challenge": challenge },
      ...asking,
    });
    if (status !== 200 || JSON.parse(text)?.status !== "ok") return "nothing";
    if (secret === undefined) return "proven";
    const proof = headers["x-sluice-proof"];
    if (proof === undefined) return "unproven"; // a reverse proxy may drop headers that it does not know
    return proof === await proofOf(secret, challenge) ? "proven" : "another";
  } catch {
    return "nothing";
  }
}

/**
 * Refuses to name an address beside keys or links of a database that its gateway does not use.
 *
 * @throws {Error} If another gateway answers there.
 */
export function refuseOther({ url, isOther }: GatewayAddress, { settings }: Config): void {
  if (!isOther) return;
  const database = databaseFile(settings) ?? "the database server of these settings";
  throw new Error(
    `Another gateway answers at ${url}, with another database than ${database}. Name its data ` +
      "directory with --data (SLUICE_DATA), or start one for this directory on a port of its own: " +
      "sluice --port 0",
  );
}

/**
 * Makes sure that the gateway at the address of a shared database uses that database, by the key that was issued there.
 *
 * @throws {Error} If it rejects the key.
 */
export async function checkKey(
  { url, answers }: GatewayAddress,
  config: Config,
  key: string,
): Promise<void> {
  if (!answers || databaseFile(config.settings) !== undefined) return;
  const reply = await askGateway(`${url}/user/credits`, {
    headers: { authorization: `Bearer ${key}` },
    proxies: config.settings.proxies,
  }).catch(() => undefined);
  if (reply?.status === 401) refuseOther({ url, local: url, answers, isOther: true }, config);
}
