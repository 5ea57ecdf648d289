import { randomText } from "../platform/mod.ts";
import { encodeHex, joinPath } from "../std/mod.ts";

/** What a running gateway leaves in its data directory. */
export interface AnnouncedGateway {
  /** Where it listens. */
  readonly url: string;
  /** What it proves itself with; undefined for a program that cannot. */
  readonly secret: string | undefined;
}

const ANNOUNCEMENT = "gateway.address";

/** A gateway's word in its data directory of where it listens. */
export class Announcement {
  readonly #path: string;
  readonly #secret = randomText(32);
  #written = false;

  constructor(directory: string) {
    this.#path = joinPath(directory, ANNOUNCEMENT);
  }

  /** Leaves word. */
  write(url: string): void {
    Deno.writeTextFileSync(this.#path, `${url}\n${this.#secret}\n`, { mode: 0o600 });
    this.#written = true;
  }

  /** Takes it back, if it was left. */
  remove(): void {
    if (!this.#written) return;
    try {
      Deno.removeSync(this.#path);
    } catch (error) {
      if (!(error instanceof Deno.errors.NotFound)) throw error;
    }
  }

  /** Proves that whoever is asked is the gateway that left word. */
  readonly prove = (challenge: string): Promise<string> => proofOf(this.#secret, challenge);
}

/**
 * Computes the answer to a challenge that only the gateway of a data directory, and those who may read that directory,
 * can know. A port is no proof: it may be another gateway's by now.
 *
 * @returns Hexadecimal digits.
 */
export async function proofOf(secret: string, challenge: string): Promise<string> {
  const encoder = new TextEncoder();
  const algorithm = { name: "HMAC", hash: "SHA-256" };
  const key = await crypto.subtle.importKey("raw", encoder.encode(secret), algorithm, false, [
    "sign",
  ]);
  return encodeHex(
    new Uint8Array(await crypto.subtle.sign("HMAC", key, encoder.encode(challenge))),
  );
}

/** Reads what the gateway of a data directory left there; it may have been killed since. */
export async function announcedGateway(directory: string): Promise<AnnouncedGateway | undefined> {
  try {
    const text = await Deno.readTextFile(joinPath(directory, ANNOUNCEMENT));
    const [url = "", secret = ""] = text.split("\n").map((line) => line.trim());
    return isOfThisMachine(url) ? { url, secret: secret || undefined } : undefined;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
}

/** Where the gateway of a data directory said that it listens; it may have been killed since. */
export async function announcedAddress(directory: string): Promise<string | undefined> {
  return (await announcedGateway(directory))?.url;
}

/**
 * Whether an address is this machine's. A data directory that came with somebody's repository may name a server of
 * theirs, which would be sent keys and prompts.
 */
function isOfThisMachine(url: string): boolean {
  const host = URL.parse(url)?.hostname.replace(/^\[|\]$/g, "");
  if (host === undefined || host === "") return false;
  const own = Deno.hostname().toLowerCase();
  return host === "localhost" || host === own || host.startsWith(`${own}.`) || host === "::1" ||
    /^127\.\d+\.\d+\.\d+$/.test(host) ||
    Deno.networkInterfaces().some(({ address }) => address === host);
}
