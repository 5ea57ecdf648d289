import {
  type Account,
  type Session,
  type Team,
  upstreamKeyId,
  type UpstreamKeyOwner,
} from "../../people/accounts/mod.ts";
import { UPSTREAM_KEY_REMOVE, UPSTREAM_KEY_SET } from "../../operating/operations/mod.ts";
import { configuredUpstreams, takesKeys } from "../../requests/upstreams/mod.ts";
import type { OwnKeysView } from "./pages/own_keys.tsx";
import { type ConsoleParts, operate, type PageRequest } from "./request.tsx";

/** Reads what is shown of an owner's keys of upstreams. */
export async function ownKeysOf(
  { config, upstreamKeys }: Pick<ConsoleParts, "config" | "upstreamKeys">,
  owner: UpstreamKeyOwner,
): Promise<OwnKeysView> {
  const upstreams = Object.entries(configuredUpstreams(config.settings))
    .filter(([, settings]) => takesKeys(settings)).map(([name]) => name);
  return { keys: await upstreamKeys.list(owner), upstreams };
}

/** Sets the key of a form for an account or team. */
export async function setOwnKey(
  c: PageRequest,
  parts: ConsoleParts,
  session: Session,
  owner: { readonly account: Account["id"] } | { readonly team: Team["id"] },
): Promise<void> {
  const { form } = c.var;
  const input = { ...owner, upstream: form.text("upstream"), key: form.text("key") };
  await operate(c, parts, session, [UPSTREAM_KEY_SET, input]);
}

/** Removes the key at the upstream in the path. */
export async function removeOwnKey(
  c: PageRequest,
  parts: ConsoleParts,
  session: Session,
  owner: UpstreamKeyOwner,
): Promise<void> {
  const id = upstreamKeyId(owner, c.req.param("upstream") ?? "");
  await operate(c, parts, session, [UPSTREAM_KEY_REMOVE, { upstream_key: id }]);
}
