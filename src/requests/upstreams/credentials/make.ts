import {
  type CredentialSettings,
  proxyOf,
  type UpstreamSettings,
} from "../../../settings/config/mod.ts";
import { type Authorize, bearer, BearerCredentials } from "./bearer.ts";
import type { Token } from "./cached_token.ts";
import type { Credentials } from "./credentials.ts";
import { fromCommand } from "./from_command.ts";
import { fromFile } from "./from_file.ts";

/** A file is looked at again after each of its lives, and read once more after a refusal. */
const FILE_TIMES = { earlyMs: 0, pauseMs: 0 };

/** What credentials need from outside. */
export interface CredentialsOptions {
  readonly now: () => number;
  /** Puts what stands for a key into headers. */
  readonly authorize: Authorize;
  /** The service of AWS that requests are signed for. */
  readonly service: string;
}

/**
 * Makes an upstream's credentials from its settings. The libraries that a cloud needs are loaded only here.
 *
 * @returns `undefined` where requests have a key, or none.
 */
export async function makeCredentials(
  { credentials, region, proxy, proxies }: Pick<
    UpstreamSettings,
    "credentials" | "region" | "proxy" | "proxies"
  >,
  { now, authorize, service }: CredentialsOptions,
): Promise<Credentials | undefined> {
  const proxyFor = (url: URL) => proxyOf(url, { proxy, proxies });
  const ofCloud = (get: () => Promise<Token>) =>
    new BearerCredentials(get, { now, authorize: bearer });
  switch (credentials?.kind) {
    case "command":
      return new BearerCredentials(() => fromCommand(credentials, now), { now, authorize });
    case "file": {
      const { path } = credentials;
      return new BearerCredentials(() => fromFile(path, now), { now, authorize, ...FILE_TIMES });
    }
    case "google": {
      const { googleToken } = await import("./google.ts");
      return ofCloud(() => googleToken({ ...credentials, proxyFor }, now));
    }
    case "azure": {
      const { azureToken } = await import("./azure.ts");
      return ofCloud(() => azureToken({ ...credentials, proxyFor }, now));
    }
    case "aws": {
      const { AwsCredentials } = await import("./aws.ts");
      return new AwsCredentials({ ...credentials, proxyFor }, {
        region: regionOf(credentials, region),
        service: credentials.service ?? service,
        now,
      });
    }
  }
  return undefined;
}

function regionOf(
  { region, environment }: CredentialSettings & { kind: "aws" },
  ofUpstream: string | undefined,
): string {
  return region ?? ofUpstream ?? environment?.AWS_REGION?.reveal() ??
    environment?.AWS_DEFAULT_REGION?.reveal() ?? "us-east-1";
}
