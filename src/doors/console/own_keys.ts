import { upstreamKeyId, type UpstreamKeyOwner } from "../../people/accounts/mod.ts";
import { UPSTREAM_KEY_REMOVE, UPSTREAM_KEY_SET } from "../../operating/operations/mod.ts";
import { configuredUpstreams, takesKeys } from "../../requests/upstreams/mod.ts";
import type { OwnKeysView } from "./pages/own_keys.tsx";
import type { PostForm } from "./forms.ts";
import type { ConsoleParts } from "./request.tsx";

/** Reads what is shown of an owner's keys of upstreams. */
export async function ownKeysOf(
  { config, upstreamKeys }: Pick<ConsoleParts, "config" | "upstreamKeys">,
  owner: UpstreamKeyOwner,
): Promise<OwnKeysView> {
  const upstreams = Object.entries(configuredUpstreams(config.settings))
    .filter(([, settings]) => takesKeys(settings)).map(([name]) => name);
  return { keys: await upstreamKeys.list(owner), upstreams };
}

/** Adds the forms that set and remove the own keys of an account or team. */
export function addUpstreamKeyForms<Page extends object, More>(
  post: PostForm<Page, More>,
  owner: (page: Page) => UpstreamKeyOwner,
): void {
  post<Page>("/upstream-keys", UPSTREAM_KEY_SET, {
    input: (form) => ({ upstream: form.text("upstream"), key: form.text("key") }),
    done: "upstream-key",
  });
  post<Page>("/upstream-keys/:upstream/remove", UPSTREAM_KEY_REMOVE, {
    input: (_form, page, c) => ({
      upstream_key: upstreamKeyId(owner(page), c.req.param("upstream") ?? ""),
    }),
    done: "upstream-key-removed",
  });
}
