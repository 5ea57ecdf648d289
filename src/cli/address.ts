import { type Config, databaseFile } from "../config/mod.ts";
import { announcedGateway } from "../database/mod.ts";

/** A gateway on this machine answers at once, or is not there. */
const PATIENCE_MS = 2_000;

/** Where clients reach a gateway. */
export interface GatewayAddress {
  /** Base address for users, without a slash at its end. */
  readonly url: string;
  /** Where it is reached from this machine. */
  readonly local: string;
  /** Whether a gateway answers there now. */
  readonly answers: boolean;
}

/**
 * Where the gateway of these settings is reached: as its operator says (`publicUrl`), as it says itself while
 * it runs, or where it would listen.
 *
 * One that answers at the right port may be another's, with keys of its own. So of a database in a file only
 * the gateway counts that has left its address in the data directory; of a server's, which may run on any
 * machine, the one at the address.
 */
export async function gatewayAddress({ settings }: Config): Promise<GatewayAddress> {
  const { host, port, data } = settings;
  const reach = host === "0.0.0.0" || host === "::" ? "127.0.0.1" : host;
  const announced = (await announcedGateway(data))?.url;
  const local = announced ?? `http://${reach.includes(":") ? `[${reach}]` : reach}:${port}`;
  const url = settings.publicUrl?.replace(/\/+$/, "") ?? local;
  if (announced !== undefined && await answersAt(announced)) {
    return { url, local: announced, answers: true };
  }
  const answers = databaseFile(settings) === undefined && await answersAt(url);
  return { url, local: url, answers };
}

/**
 * Compares the settings that the running gateway uses with those that it would read now.
 *
 * @param config The settings as this command has read them.
 * @returns How they differ, for people; `undefined` if they do not, or if no gateway runs.
 */
export async function settingsDrift({ settings, file, digest }: Config): Promise<
  string | undefined
> {
  const gateway = await announcedGateway(settings.data);
  if (gateway === undefined || !await answersAt(gateway.url)) return undefined;
  const { settings: used, reload } = gateway;
  if (reload !== null && reload.fault !== null) {
    return `the running gateway could not read its settings again and keeps those it had: ${reload.fault}`;
  }
  if (used?.file !== file) {
    return `the running gateway uses ${used?.file ?? "no settings file"}, this command uses ${
      file ?? "none"
    }`;
  }
  if (used?.digest !== digest) {
    return `${file} has changed since the running gateway read it`;
  }
  if (reload !== null && reload.needRestart.length > 0) {
    return `the running gateway needs a restart to apply: ${reload.needRestart.join(", ")}`;
  }
  return undefined;
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
