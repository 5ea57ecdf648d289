import type { SettingsInput } from "../../src/settings/config/mod.ts";
import { base64, type Pictures } from "./image_host.ts";
import type { SoakedGateway } from "./gateway.ts";

/** What callers know: whom they may be, and what they can point at. */
export interface World {
  readonly keys: Keys;
  /** `http://host:port` of the host of pictures. */
  readonly imageBase: string;
  readonly smallImage: string;
  readonly largeImage: string;
  /** Whether good upstreams are killed now and then. */
  readonly kills: boolean;
}

/** Keys of accounts with enough, with little and with nothing. */
export interface Keys {
  readonly rich: readonly string[];
  /** Of an account that has ten credits and a narrow window. */
  readonly poor: string;
  /** With a budget of its own, which runs out. */
  readonly budgeted: string;
}

/** Routes whose targets all answer. */
export const GOOD_ROUTES = ["soak-chat", "soak-messages", "soak-both"];
/** Routes whose first target misbehaves. */
export const SHAKY_ROUTES = ["soak-shaky-chat", "soak-shaky-messages"];
/** A route that has no other target than the one that misbehaves. */
export const LONELY_ROUTE = "soak-alone";

/** Settings under which what takes minutes elsewhere takes seconds, and what is scarce is scarcer. */
export function soakSettings(places: {
  readonly chat: string;
  readonly messages: string;
  readonly bad: string;
  readonly imageHost: string;
}): SettingsInput {
  const timeouts = { connectMs: 2_000, readMs: 3_000, streamMs: 3_000 };
  const route = (...upstreams: string[]) => ({
    targets: upstreams.map((upstream) => ({ upstream, model: "m" })),
    context: 1_000_000,
    maxOutput: 128_000,
    minimum: 1,
    prices: { input: 10, cached: 5, output: 40 },
    images: "remote" as const,
  });
  const wide = { minute: 1e9, hour: 1e9, day: 1e9 };
  return {
    upstreams: {
      "chat": { url: places.chat, timeouts },
      "messages": { url: places.messages, dialect: "messages", timeouts },
      "bad-chat": { url: places.bad, timeouts },
      "bad-messages": { url: places.bad, dialect: "messages", timeouts },
    },
    routes: {
      "soak-chat": route("chat"),
      "soak-messages": route("messages"),
      "soak-both": route("chat", "messages"),
      "soak-shaky-chat": route("bad-chat", "messages"),
      "soak-shaky-messages": route("bad-messages", "chat"),
      [LONELY_ROUTE]: route("bad-chat"),
    },
    tiers: [{ above: 0, ...wide, minute: 10 }, { above: 100, ...wide }],
    images: {
      allowPrivateHosts: [places.imageHost],
      connectMs: 1_000,
      totalMs: 4_000,
      fetches: 4,
    },
    limits: {
      bodyIdleMs: 5_000,
      pingMs: 1_000,
      drainMs: 10_000,
      countsPerMinute: 1_000_000,
    },
  };
}

/** Makes the accounts and their keys by commands, beside the running gateway. */
export async function makeKeys(gateway: SoakedGateway): Promise<Keys> {
  const key = async (email: string, ...more: string[]) => {
    const { json } = await gateway.command("key", "create", "--account", email, ...more);
    return String(json.key);
  };
  const account = async (email: string, credits: number) => {
    await gateway.command("account", "create", "--email", email);
    if (credits > 0) {
      await gateway.command("credits", "grant", "--account", email, "--credits", `${credits}`);
    }
    return email;
  };
  const ada = await account("ada@example.com", 1_000_000);
  const poor = await account("poor@example.com", 0);
  return {
    rich: [gateway.ownerKey, await key(ada), await key(ada)],
    poor: await key(poor),
    budgeted: await key(ada, "--budget", "200"),
  };
}

export function imagesOf({ small, large }: Pictures) {
  return { smallImage: base64(small), largeImage: base64(large) };
}
