import { STATUS_CODE } from "../../ground/std/mod.ts";
import type { SignInSettings } from "../../settings/config/mod.ts";
import { digestOf } from "../../ground/platform/mod.ts";

/** What the settings say, for everybody and for teams. */
export type Policies = NonNullable<SignInSettings["managedSettings"]>;

/** What a tool is sent: settings, and what names them. */
interface Policy {
  readonly body: string;
  readonly tag: string;
}

/** The settings of Claude Code that an operator sets for everybody, or for the members of teams. */
export class ManagedSettings {
  readonly #all: Policy | undefined;
  readonly #teams: readonly (readonly [team: string, policy: Policy])[];

  constructor({ all, teams }: Policies) {
    this.#all = all === undefined ? undefined : policyOf(all);
    this.#teams = Object.entries(teams).map(([team, settings]) => [team, policyOf(settings)]);
  }

  /**
   * Responds with the settings for a member of some teams, or without them if the tool has them: `If-None-Match` names them.
   *
   * @param teams Teams by ID and name. The first one of the settings counts that is among them.
   * @returns undefined where there are none for the tool.
   */
  respond(
    request: Request,
    teams: readonly { readonly id: string; readonly name: string }[],
    headers: Readonly<Record<string, string>>,
  ): Response | undefined {
    const [, ofTeam] =
      this.#teams.find(([named]) => teams.some(({ id, name }) => id === named || name === named)) ??
        [];
    const policy = ofTeam ?? this.#all;
    if (policy === undefined) return undefined;
    const own = { ...headers, etag: policy.tag, "cache-control": "private, no-cache" };
    // with "*", a tool asks whether there are any: that is answered as if it had none
    const isKnown = request.headers.get("if-none-match")?.replace(/^W\//, "") === policy.tag;
    return isKnown
      ? new Response(null, { status: STATUS_CODE.NotModified, headers: own })
      : new Response(policy.body, { headers: { ...own, "content-type": "application/json" } });
  }
}

function policyOf(settings: unknown): Policy {
  const digest = digestOf(canonicalJson(settings));
  const checksum = `sha256:${digest}`;
  const body = JSON.stringify({ uuid: uuidOf(digest), checksum, settings });
  return { body, tag: `"${checksum}"` };
}

/** JSON with the keys of each object sorted, and no space: equal values have equal texts. */
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(",")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const fields = Object.entries(value).toSorted(([a], [b]) => a < b ? -1 : 1)
    .map(([name, one]) => `${JSON.stringify(name)}:${canonicalJson(one)}`);
  return `{${fields.join(",")}}`;
}

/** A UUID of version 8 (RFC 9562): settings that are the same have the same one. */
function uuidOf(digest: string): string {
  const [a, b, c, d, e] = [
    digest.slice(0, 8),
    digest.slice(8, 12),
    digest.slice(13, 16),
    digest.slice(17, 20),
    digest.slice(20, 32),
  ];
  return `${a}-${b}-8${c}-8${d}-${e}`;
}
